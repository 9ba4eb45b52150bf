// ioredis: puts jobs through its Sentinel support, for failover.py.

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, ReplyError } from 'ioredis';

const EXPECTED = /^(READONLY|MASTERDOWN|LOADING) /;

const sentinels = process.env.QLESSD_NODES.split(',').map((node) => {
  const [host, port] = node.split(':');
  return { host, port: Number(port) };
});

const redis = new Redis({
  sentinels,
  name: 'qlessd',
  sentinelRetryStrategy: () => 10,
  retryStrategy: () => 10,
  maxRetriesPerRequest: null,
});
redis.on('error', (error) => console.log(`error ${error.message}`));

for (let number = 0; ; number += 1) {
  for (;;) {
    try {
      await redis.call('PUT', 'w', 'q', `j${number}`, 'klass', '{}', '0');
      break;
    } catch (error) {
      if (error instanceof ReplyError && !EXPECTED.test(error.message)) throw error;
      console.log(`error ${error.message}`);
      await sleep(10);
    }
  }
  console.log(`ok j${number}`);
  await sleep(2);
}
