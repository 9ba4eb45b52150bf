// ioredis: its own fallback from EVALSHA to EVAL, and what else a client of qless needs.

import assert from 'node:assert/strict';
import { Redis, ReplyError } from 'ioredis';
import {
  assertRejects, assertVersion, Mailbox, NO_SCRIPT, PORT, Qless, QlessError, restart, runChecks,
  SCRIPT, SHA1, untilOneWaits, workerChecks,
} from './checks.mjs';

let clients = [];

function connect(path = '', options = {}) {
  const client = new Redis(`redis://127.0.0.1:${PORT}${path}`, {
    retryStrategy: () => 10,
    scripts: { qless: { lua: SCRIPT, numberOfKeys: 0 } },
    ...options,
  });
  client.on('error', () => {}); // what a call does not survive, the call says
  clients.push(client);
  return client;
}

function qlessOf(redis) {
  return new Qless((words) => redis.qless(...words));
}

const checks = {
  ...workerChecks,

  'the version in INFO is recent enough for qless': async ({ redis }) => {
    assertVersion(await redis.info());
  },

  'a connection says who it is': async ({ redis }) => {
    const named = connect('', { connectionName: 'worker-1' });
    assert.equal(await named.client('GETNAME'), 'worker-1');
    assert.match(await redis.client('LIST'), / name=worker-1 /);
  },

  'a URL selects a database': async () => {
    for (const database of [6, 11]) {
      const other = connect(`/${database}`);
      assert.equal(await qlessOf(other).put('j'), 'j');
      assert.equal(await other.flushdb(), 'OK');
      assert.deepEqual(await other.keys('*'), []);
    }
  },

  'a user needs the right password': async ({ redis }) => {
    await redis.acl('SETUSER', 'worker', 'on', '>secret', '+@all');
    const other = connect('', { username: 'worker', password: 'secret' });
    assert.equal(await other.acl('WHOAMI'), 'worker');
    await assertRejects(ReplyError, /^WRONGPASS/, other.auth('worker', 'x'));
    await redis.acl('DELUSER', 'worker');
  },

  'a script is called by its SHA-1 and sent when it is not known': async ({ redis }) => {
    const qless = qlessOf(redis);
    await assertRejects(ReplyError, new RegExp(`^${NO_SCRIPT}$`), redis.evalsha(SHA1, 0));
    assert.deepEqual(await redis.script('EXISTS', SHA1), [0]);
    assert.equal(await qless.call('length', 'q'), 0);
    assert.deepEqual(await redis.script('EXISTS', SHA1), [1]);
    assert.equal(await redis.script('FLUSH'), 'OK');
    assert.equal(await qless.call('length', 'q'), 0);
  },

  'a worker hears that it has lost a lock': async ({ qless }) => {
    const listener = connect();
    const heard = new Mailbox();
    await qless.put('j');
    await qless.pop('w1');
    listener.on('message', (...message) => heard.add(...message));
    assert.equal(await listener.subscribe('ql:w:w1'), 1);
    await qless.call('timeout', 'j');
    const [channel, text] = await heard.next();
    assert.equal(channel, 'ql:w:w1');
    assert.deepEqual(JSON.parse(text), { jid: 'j', event: 'lock_lost', worker: 'w1' });
    assert.deepEqual((await qless.pop('w2')).map((job) => job.worker), ['w2']);
    await assertRejects(QlessError, /^Complete\(\): Job/,
      qless.call('complete', 'j', 'w1', 'q', '{}'));
  },

  'channels and patterns are heard until they are left': async ({ redis }) => {
    const listener = connect();
    const heard = new Mailbox();
    listener.on('message', (...message) => heard.add(...message));
    listener.on('pmessage', (...message) => heard.add(...message));
    assert.equal(await listener.subscribe('ql:log', 'other'), 2);
    assert.equal(await listener.psubscribe('ql:*'), 3);
    assert.equal(await redis.publish('ql:log', 'text'), 2);
    assert.deepEqual(await heard.next(), ['ql:log', 'text']);
    assert.deepEqual(await heard.next(), ['ql:*', 'ql:log', 'text']);
    assert.equal(await listener.punsubscribe('ql:*'), 2);
    assert.equal(await listener.unsubscribe(), 0);
    assert.equal(await redis.publish('ql:log', 'text'), 0);
    assert.equal(await listener.ping(), 'PONG');
  },

  'a transaction counts the jobs of a queue': async ({ redis, qless }) => {
    await Promise.all(['a', 'b', 'c'].map((jid) => qless.put(jid)));
    await qless.pop();
    const replies = await redis.multi().zcard('ql:q:q-locks').zcard('ql:q:q-work')
      .zcard('ql:q:q-scheduled').exec();
    assert.deepEqual(replies, [[null, 1], [null, 2], [null, 0]]);
  },

  'a transaction has the error of one command and the replies of the others':
  async ({ redis }) => {
    await redis.script('LOAD', SCRIPT);
    const [put, nope, length] = await redis.multi()
      .evalsha(SHA1, 0, 'put', 1, 'w', 'q', 'j', 'klass', '{}', 0)
      .evalsha(SHA1, 0, 'nope', 1)
      .evalsha(SHA1, 0, 'length', 1, 'q')
      .exec();
    assert.deepEqual([put, length], [[null, 'j'], [null, 1]]);
    assert.match(nope[0].message, /user_script:\d+: Unknown command nope/);
  },

  'a transaction is void if what it watches has changed': async ({ redis }) => {
    await redis.watch('ql:q:q-work');
    await qlessOf(connect()).put('j');
    assert.equal(await redis.multi().zcard('ql:q:q-work').exec(), null);
  },

  'a thousand calls go out in one pipeline': async ({ redis }) => {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 1000; i++) {
      pipeline.qless('put', i, 'w', 'q', `j${i}`, 'klass', '{}', 0);
    }
    const replies = await pipeline.exec();
    assert.deepEqual(replies, Array.from({ length: 1000 }, (_, i) => [null, `j${i}`]));
    assert.equal(await redis.zcard('ql:q:q-work'), 1000);
  },

  'what is known of a job can be read as a hash': async ({ redis, qless }) => {
    await qless.put('j');
    assert((await redis.keys('ql:*')).includes('ql:j:j'));
    const found = [];
    for await (const keys of redis.scanStream({ match: 'ql:j:*' })) {
      found.push(...keys);
    }
    assert(found.includes('ql:j:j'));
    const { queue, state } = await redis.hgetall('ql:j:j');
    assert.deepEqual([queue, state], ['q', 'waiting']);
    assert.equal(await redis.hget('ql:j:j', 'klass'), 'klass');
    assert.deepEqual(await redis.zrange('ql:q:q-work', 0, -1), ['j']);
  },

  'a worker waits for a job': async ({ redis, qless }) => {
    const worker = connect();
    const id = await worker.client('ID');
    const wait = async (timeout) => {
      const reply = worker.call('BPOP', timeout, 'w', 1, 'q');
      if (timeout === 0) {
        await untilOneWaits(() => redis.info('clients'));
      }
      return { reply };
    };
    assert.equal(await (await wait(0.01)).reply, null);
    const first = await wait(0);
    await qless.put('j1');
    assert.deepEqual(JSON.parse(await first.reply).map((job) => job.jid), ['j1']);
    const second = await wait(0);
    assert.equal(await redis.client('UNBLOCK', id), 1);
    assert.equal(await second.reply, null);
    const third = await wait(0);
    const refused = assertRejects(ReplyError, /^UNBLOCKED /, third.reply);
    assert.equal(await redis.client('UNBLOCK', id, 'ERROR'), 1);
    await refused;
    // The library sends the command again when the server is back.
    const fourth = await wait(0);
    await restart(() => redis.info('server'));
    await untilOneWaits(() => redis.info('clients'));
    await qless.put('j2');
    assert.deepEqual(JSON.parse(await fourth.reply).map((job) => job.jid), ['j2']);
  },

  'a client goes on after a restart of the server': async ({ redis, qless }) => {
    const admin = connect();
    assert.equal(await qless.put('j'), 'j');
    await restart(() => admin.info('server'));
    assert.deepEqual(await redis.script('EXISTS', SHA1), [1]);
    assert.deepEqual((await qless.pop()).map((job) => job.jid), ['j']);
  },

  'a subscriber goes on after a restart of the server': async ({ redis }) => {
    const admin = connect();
    const listener = connect();
    const heard = new Mailbox();
    listener.on('message', (...message) => heard.add(...message));
    await listener.subscribe('ql:log');
    await restart(() => admin.info('server'));
    while (await redis.publish('ql:log', 'text') === 0);
    assert.deepEqual(await heard.next(), ['ql:log', 'text']);
  },
};

async function begin() {
  const redis = connect();
  await redis.flushall();
  await redis.script('FLUSH');
  return { redis, qless: qlessOf(redis) };
}

function end() {
  clients.forEach((client) => client.disconnect());
  clients = [];
}

await runChecks(checks, begin, end);
