// A worker for qlessd with ioredis. It first puts two jobs to work on.

const { Redis } = require('ioredis');

const NAME = `worker-${process.pid}`;
const LOST = /^(NOTRUNNING|NOTOWNER|WRONGQUEUE|NOJOB) /;

const qlessd = new Redis({ port: Number(process.env.QLESSD_PORT ?? 7537) });
const call = (...words) => qlessd.call(...words);

class BadData extends Error {}

async function work(job) {
  const data = JSON.parse(job.data);
  await call('HEARTBEAT', job.jid, NAME); // between the steps of a long job
  if (data.name === undefined)
    throw new BadData('there is no name');
  console.log('hello', data.name);
}

async function report(job) {
  try {
    await work(job);
  } catch (error) {
    if (!(error instanceof BadData))
      throw error;
    await call('FAIL', job.jid, NAME, 'bad-data', error.message);
    console.log('failed', job.jid);
    return;
  }
  console.log(await call('COMPLETE', job.jid, NAME, 'greetings', job.data));
}

async function main() {
  await call('PUT', NAME, 'greetings', 'j1', 'Greet', JSON.stringify({ name: 'ann' }), 0);
  await call('PUT', NAME, 'greetings', 'j2', 'Greet', '{}', 0);

  let jobs; // a real worker would wait if there is none
  while ((jobs = JSON.parse(await call('POP', 'greetings', NAME, 1))).length > 0) {
    for (const job of jobs) {
      await report(job).catch((error) => {
        if (!LOST.test(error.message))
          throw error;
        console.log('lost', job.jid); // another worker has it by now
      });
    }
  }
  await qlessd.quit();
}

main();
