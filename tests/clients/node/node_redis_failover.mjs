// usage: node_redis_failover.mjs 2|3
//
// node-redis, with RESP2 or RESP3: puts jobs through its Sentinel support, for failover.py.

import { setTimeout as sleep } from 'node:timers/promises';
import { createSentinel, ErrorReply } from 'redis';

const EXPECTED = /^(READONLY|MASTERDOWN|LOADING) /;

const sentinelRootNodes = process.env.QLESSD_NODES.split(',').map((node) => {
  const [host, port] = node.split(':');
  return { host, port: Number(port) };
});

const redis = createSentinel({
  name: 'qlessd',
  sentinelRootNodes,
  RESP: Number(process.argv[2]),
  scanInterval: 100,
});
redis.on('error', (error) => console.log(`error ${error?.message ?? error}`));
await redis.connect();

for (let number = 0; ; number += 1) {
  for (;;) {
    try {
      await redis.sendCommand(false, ['PUT', 'w', 'q', `j${number}`, 'klass', '{}', '0']);
      break;
    } catch (error) {
      if (error instanceof ErrorReply && !EXPECTED.test(error.message)) throw error;
      console.log(`error ${error.message}`);
      await sleep(10);
    }
  }
  console.log(`ok j${number}`);
  await sleep(2);
}
