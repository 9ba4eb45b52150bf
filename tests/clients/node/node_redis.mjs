// usage: node_redis.mjs 2|3
//
// node-redis, with RESP2 or RESP3: its own fallback from EVALSHA to EVAL, and what else a client of
// qless needs.

import assert from 'node:assert/strict';
import { createClient, defineScript, ErrorReply, WatchError } from 'redis';
import {
  assertRejects, assertVersion, Mailbox, NO_SCRIPT, PORT, Qless, QlessError, restart, runChecks,
  SCRIPT, SHA1, untilOneWaits, workerChecks,
} from './checks.mjs';

const SCRIPTS = {
  qless: defineScript({
    SCRIPT,
    NUMBER_OF_KEYS: 0,
    parseCommand: (parser, words) => parser.push(...words),
    transformReply: (reply) => reply,
  }),
};

const RESP = Number(process.argv[2]);

let clients = [];

async function connect(options = {}) {
  const client = createClient({
    RESP,
    url: `redis://127.0.0.1:${PORT}`,
    scripts: SCRIPTS,
    socket: { reconnectStrategy: () => 10 },
    ...options,
  });
  client.on('error', () => {}); // what a call does not survive, the call says
  clients.push(client);
  return client.connect();
}

function qlessOf(redis) {
  return new Qless((words) => redis.qless(words));
}

const checks = {
  ...workerChecks,

  'the version in INFO is recent enough for qless': async ({ redis }) => {
    assertVersion(await redis.info());
  },

  'a connection says who it is, and what its library is': async ({ redis }) => {
    const named = await connect({ name: 'worker-1' });
    assert.equal(await named.clientGetName(), 'worker-1');
    const list = await redis.clientList();
    assert(list.some(({ name }) => name === 'worker-1'));
    assert.match(await redis.sendCommand(['CLIENT', 'INFO']),
      new RegExp(` resp=${RESP} lib-name=node-redis `));
  },

  'a URL selects a database': async () => {
    for (const database of [6, 11]) {
      const other = await connect({ url: `redis://127.0.0.1:${PORT}/${database}` });
      assert.equal(await qlessOf(other).put('j'), 'j');
      assert.equal(await other.flushDb(), 'OK');
      assert.deepEqual(await other.keys('*'), []);
    }
  },

  'a user needs the right password': async ({ redis }) => {
    await redis.aclSetUser('worker', ['on', '>secret', '+@all']);
    const other = await connect({ username: 'worker', password: 'secret' });
    assert.equal(await other.aclWhoAmI(), 'worker');
    await assertRejects(ErrorReply, /^WRONGPASS/,
      other.auth({ username: 'worker', password: 'x' }));
    await redis.aclDelUser('worker');
  },

  'a script is called by its SHA-1 and sent when it is not known': async ({ redis, qless }) => {
    await assertRejects(ErrorReply, new RegExp(`^${NO_SCRIPT}$`), redis.evalSha(SHA1));
    assert.deepEqual(await redis.scriptExists(SHA1), [0]);
    assert.equal(await qless.call('length', 'q'), 0);
    assert.deepEqual(await redis.scriptExists(SHA1), [1]);
    assert.equal(await redis.scriptFlush(), 'OK');
    assert.equal(await qless.call('length', 'q'), 0);
  },

  'a worker hears that it has lost a lock': async ({ qless }) => {
    const listener = await connect();
    const heard = new Mailbox();
    await qless.put('j');
    await qless.pop('w1');
    await listener.subscribe('ql:w:w1', (text, channel) => heard.add(channel, text));
    await qless.call('timeout', 'j');
    const [channel, text] = await heard.next();
    assert.equal(channel, 'ql:w:w1');
    assert.deepEqual(JSON.parse(text), { jid: 'j', event: 'lock_lost', worker: 'w1' });
    assert.deepEqual((await qless.pop('w2')).map((job) => job.worker), ['w2']);
    await assertRejects(QlessError, /^Complete\(\): Job/,
      qless.call('complete', 'j', 'w1', 'q', '{}'));
  },

  'channels and patterns are heard until they are left': async ({ redis }) => {
    const listener = await connect();
    const heard = new Mailbox();
    const note = (text, channel) => heard.add(channel, text);
    await listener.subscribe(['ql:log', 'other'], note);
    await listener.pSubscribe('ql:*', note);
    assert.equal(await redis.publish('ql:log', 'text'), 2);
    assert.deepEqual(await heard.next(), ['ql:log', 'text']);
    assert.deepEqual(await heard.next(), ['ql:log', 'text']);
    await listener.pUnsubscribe('ql:*');
    await listener.unsubscribe();
    assert.equal(await redis.publish('ql:log', 'text'), 0);
    assert.equal(String(await listener.ping()), 'PONG');
  },

  'a transaction counts the jobs of a queue': async ({ redis, qless }) => {
    await Promise.all(['a', 'b', 'c'].map((jid) => qless.put(jid)));
    await qless.pop();
    const counts = await redis.multi().zCard('ql:q:q-locks').zCard('ql:q:q-work')
      .zCard('ql:q:q-scheduled').exec();
    assert.deepEqual(counts, [1, 2, 0]);
  },

  'a transaction has the error of one command and the replies of the others':
  async ({ redis }) => {
    await redis.scriptLoad(SCRIPT);
    const [put, nope, length] = await redis.multi()
      .evalSha(SHA1, { arguments: ['put', '1', 'w', 'q', 'j', 'klass', '{}', '0'] })
      .evalSha(SHA1, { arguments: ['nope', '1'] })
      .evalSha(SHA1, { arguments: ['length', '1', 'q'] })
      .exec().catch((error) => error.replies);
    assert.deepEqual([put, length], ['j', 1]);
    assert.match(nope.message, /user_script:\d+: Unknown command nope/);
  },

  'a transaction is void if what it watches has changed': async ({ redis }) => {
    await redis.watch('ql:q:q-work');
    await qlessOf(await connect()).put('j');
    await assertRejects(WatchError, /changed/, redis.multi().zCard('ql:q:q-work').exec());
  },

  'a thousand calls go out in one pipeline': async ({ redis, qless }) => {
    const jids = Array.from({ length: 1000 }, (_, i) => `j${i}`);
    assert.deepEqual(await Promise.all(jids.map((jid) => qless.put(jid))), jids);
    assert.equal(await redis.zCard('ql:q:q-work'), 1000);
  },

  'what is known of a job can be read as a hash': async ({ redis, qless }) => {
    await qless.put('j');
    assert((await redis.keys('ql:*')).includes('ql:j:j'));
    const found = [];
    for await (const keys of redis.scanIterator({ MATCH: 'ql:j:*' })) {
      found.push(...keys);
    }
    assert(found.includes('ql:j:j'));
    const { queue, state } = await redis.hGetAll('ql:j:j');
    assert.deepEqual([queue, state], ['q', 'waiting']);
    assert.equal(await redis.hGet('ql:j:j', 'klass'), 'klass');
    assert.equal(typeof await redis.zScore('ql:q:q-work', 'j'), 'number');
    const [first] = await redis.zRangeWithScores('ql:q:q-work', 0, -1);
    assert.equal(first.value, 'j');
  },

  'a worker waits for a job': async ({ redis, qless }) => {
    const worker = await connect();
    const id = String(await worker.clientId());
    const wait = async (timeout) => {
      const reply = worker.sendCommand(['BPOP', timeout, 'w', '1', 'q']);
      if (timeout === '0') {
        await untilOneWaits(() => redis.info('clients'));
      }
      return { reply };
    };
    assert.equal(await (await wait('0.01')).reply, null);
    const first = await wait('0');
    await qless.put('j1');
    assert.deepEqual(JSON.parse(await first.reply).map((job) => job.jid), ['j1']);
    const second = await wait('0');
    assert.equal(await redis.sendCommand(['CLIENT', 'UNBLOCK', id]), 1);
    assert.equal(await second.reply, null);
    const third = await wait('0');
    const refused = assertRejects(ErrorReply, /^UNBLOCKED /, third.reply);
    assert.equal(await redis.sendCommand(['CLIENT', 'UNBLOCK', id, 'ERROR']), 1);
    await refused;
    // The library does not know whether the command was run.
    const fourth = await wait('0');
    const lost = assert.rejects(fourth.reply);
    await restart(() => redis.info('server'));
    await lost;
    await qless.put('j2');
    assert.deepEqual(JSON.parse(await (await wait('1')).reply).map((job) => job.jid), ['j2']);
  },

  'a client goes on after a restart of the server': async ({ redis, qless }) => {
    const admin = await connect();
    assert.equal(await qless.put('j'), 'j');
    await restart(() => admin.info('server'));
    assert.deepEqual(await redis.scriptExists(SHA1), [1]);
    assert.deepEqual((await qless.pop()).map((job) => job.jid), ['j']);
  },

  'a subscriber goes on after a restart of the server': async ({ redis }) => {
    const admin = await connect();
    const listener = await connect();
    const heard = new Mailbox();
    await listener.subscribe('ql:log', (text, channel) => heard.add(channel, text));
    await restart(() => admin.info('server'));
    while (await redis.publish('ql:log', 'text') === 0);
    assert.deepEqual(await heard.next(), ['ql:log', 'text']);
  },
};

async function begin() {
  const redis = await connect();
  await redis.flushAll();
  await redis.scriptFlush();
  return { redis, qless: qlessOf(redis) };
}

function end() {
  clients.forEach((client) => client.destroy());
  clients = [];
}

await runChecks(checks, begin, end);
