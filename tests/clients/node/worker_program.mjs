// A worker for the checks of signals: it says what happens, and its jobs wait for a line of input.

import { once } from 'node:events';
import { Worker } from '../../../clients/javascript/qlessd-worker.cjs';

const worker = new Worker({
  redis: `redis://127.0.0.1:${process.env.QLESSD_PORT}`, queues: ['q'], concurrency: 2, grace: 0.2,
});

worker.on('Wait', async () => {
  const timer = setInterval(() => {}, 1000); // keeps the process alive
  await once(process.stdin, 'data');
  clearInterval(timer);
});

worker.events.on('ready', () => console.log('ready'));
for (const event of ['started', 'completed', 'lost']) {
  worker.events.on(event, (job) => console.log(event, job.jid));
}

await worker.run();
process.stdin.unref();
