// usage: worker_failover.mjs
//
// A worker of qlessd-worker.cjs, for workers.py.

import { Worker } from '../../../clients/javascript/qlessd-worker.cjs';

const worker = new Worker({ queues: ['q'] });

worker.on('Work', async () => {});

await worker.run();
