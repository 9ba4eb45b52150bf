// A worker for qlessd with ioredis and the library qlessd-worker.cjs, which is in the same
// directory. It waits for jobs, connects again when the server has restarted, and on SIGTERM ends
// after the current job. A greeting takes the `seconds` in its data.

const { setTimeout: sleep } = require('node:timers/promises');
const { Worker } = require('./qlessd-worker.cjs');

const worker = new Worker({
  redis: `redis://127.0.0.1:${process.env.QLESSD_PORT ?? 7537}`,
  queues: ['urgent', 'greetings'],
});

worker.on('Greet', async (job) => {
  const { name, seconds = 0 } = job.data;
  if (name === undefined) {
    await job.fail('bad-data', 'there is no name');
    return;
  }
  await sleep(seconds * 1000, undefined, { signal: job.signal }); // ends early if the job is lost
  console.log('hello', name);
});

worker.events.on('lost', (job, { cause }) => console.log(`${job.jid}: ${cause.message}`));

worker.run();
