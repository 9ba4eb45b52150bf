// usage: worker.mjs ioredis|node-redis-2|node-redis-3
//
// The worker library over each library of Redis: handlers, ends of jobs, lost locks, broken
// connections, restarts of the server, and stops.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import {
  Client, Disconnected, JobLost, ServerError, Worker,
} from '../../../clients/javascript/qlessd-worker.cjs';
import {
  assertRejects, Mailbox, parseInfo, PORT, restart, runChecks, untilOneWaits,
} from './checks.mjs';

const LIBRARY = process.argv[2];
const TLS_PORT = Number(process.env.QLESSD_TLS_PORT);
const PROGRAM = fileURLToPath(new URL('worker_program.mjs', import.meta.url));

let admin;
let toEnd = []; // functions

// A client as users make it; the library never connects it.
// Not every machine knows the name localhost.
const HOST = '127.0.0.1';

function template({ port = PORT, username, password, tls, ...more } = {}) {
  if (LIBRARY === 'ioredis') {
    return new Redis({ host: HOST, port, username, password, tls, lazyConnect: true, ...more });
  }
  return createClient({
    socket: { host: HOST, port, ...(tls && { tls: true, ...tls }) },
    username,
    password,
    RESP: Number(LIBRARY.slice(-1)),
    ...more,
  });
}

function call(...words) {
  return admin.call(...words);
}

async function get(jid) {
  return JSON.parse(await call('GET', jid));
}

async function stateOf(jid) {
  return (await get(jid))?.state;
}

// A worker whose events are in a mailbox, and which is stopped after the check.
function makeWorker({ redis = template(), queues = ['q'], run = true, ...options } = {}) {
  const worker = new Worker({ redis, queues, ...options });
  const heard = new Mailbox();
  for (const event of ['ready', 'disconnected', 'started', 'completed', 'retried', 'failed',
    'lost']) {
    worker.events.on(event, (...values) => heard.add(event, ...values));
  }
  worker.events.on('error', () => {}); // the server may be away
  toEnd.push(() => worker.stop({ timeout: 0 }));
  if (run) {
    worker.run({ signals: false }).catch(() => {});
  }
  // The next event of a kind.
  const next = async (kind) => {
    for (;;) {
      const [event, ...values] = await heard.next();
      if (event === kind) {
        return values;
      }
    }
  };
  return { worker, next };
}

// A promise that is kept from outside.
function gate() {
  let open;
  const opened = new Promise((done) => { open = done; });
  return { open, opened };
}

// A way to the server. It cuts all connections when a reply matches `reply`, or at the first reply
// after a command that matches `command`. That reply does not arrive. It does so once, and lets new
// connections through unless it `staysClosed`.
async function way({ command, reply, staysClosed = false }) {
  const sockets = new Set();
  let isArmed = true;
  let isSent = false;
  let isOpen = true;
  const cut = () => sockets.forEach((socket) => socket.destroy());
  const server = net.createServer((client) => {
    if (!isOpen) {
      client.destroy();
      return;
    }
    const upstream = net.connect(PORT, '127.0.0.1');
    const both = [client, upstream];
    both.forEach((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => both.forEach((other) => other.destroy()));
    });
    client.on('data', (bytes) => {
      isSent ||= isArmed && command?.test(bytes);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isArmed && (isSent || reply?.test(bytes))) {
        isArmed = false;
        isOpen = !staysClosed;
        cut();
      } else {
        client.write(bytes);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  toEnd.push(() => {
    cut();
    server.close();
  });
  return {
    port: server.address().port,
    hasCut: () => !isArmed,
    close: () => {
      isOpen = false;
      cut();
    },
    open: () => { isOpen = true; },
  };
}

// A process with a worker. It says what happens, a line each.
async function startProgram(...options) {
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said = new Mailbox();
  createInterface({ input: child.stdout }).on('line', (line) => said.add(line));
  const exited = once(child, 'exit');
  toEnd.push(() => child.kill('SIGKILL'));
  const hear = async () => (await said.next())[0];
  assert.equal(await hear(), 'ready');
  return { child, hear, exited };
}

function info(section = 'clients') {
  return call('INFO', section);
}

async function until(condition) {
  while (!await condition()) {
    await sleep(10);
  }
}

function untilNobodyWaits() {
  return until(async () => parseInfo(await info()).blocked_clients === '0');
}

const checks = {
  'a job runs its handler and completes': async () => {
    const { worker, next } = makeWorker();
    worker.on('Send', async (job) => {
      assert.deepEqual([job.jid, job.klass, job.queue, job.attempt], ['j', 'Send', 'q', 1]);
      assert.deepEqual(job.data, { to: 'ann' });
      assert.deepEqual([job.tags, job.priority], [['a', 'b'], 5]);
    });
    await worker.put('q', 'Send', { to: 'ann' }, { jid: 'j', tags: ['a', 'b'], priority: 5 });
    const [job] = await next('completed');
    assert.equal(job.jid, 'j');
    assert.equal(await stateOf('j'), 'complete');
  },

  'a job keeps its data byte for byte, or gets new data when it completes': async () => {
    const { worker, next } = makeWorker();
    worker.on('Look', (job) => assert.equal(job.data.n, 1));
    worker.on('Change', (job) => job.complete({ data: { n: 'ü' } }));
    await call('PUT', 'p', 'q', 'same', 'Look', '{ "n": 1.0 }', 0);
    await call('PUT', 'p', 'q', 'new', 'Change', '{}', 0);
    await next('completed');
    await next('completed');
    assert.equal((await get('same')).data, '{ "n": 1.0 }');
    assert.equal((await get('new')).data, '{"n":"ü"}');
  },

  'an exception fails the job in the group of its name': async () => {
    class BadData extends Error {}
    const { worker, next } = makeWorker();
    worker.on('Bad', () => {
      throw new BadData('there is no name', { cause: new RangeError('7') });
    });
    worker.on('Long', async () => { throw new TypeError('ü'.repeat(100_000)); });
    worker.on('Odd', () => { throw undefined; });
    await worker.put('q', 'Bad', {}, { jid: 'bad' });
    const [job, error] = await next('failed');
    assert.equal(job.jid, 'bad');
    assert(error instanceof BadData);
    const { failure } = await get('bad');
    assert.equal(failure.group, 'BadData');
    assert.match(failure.message,
      /there is no name\n +at .*worker\.mjs[^]*caused by: RangeError: 7/);
    await worker.put('q', 'Long', {}, { jid: 'long' });
    await next('failed');
    const { message } = (await get('long')).failure;
    assert(Buffer.byteLength(message) <= 8192);
    assert.match(message, /^TypeError: ü+$/);
    await worker.put('q', 'Odd', {}, { jid: 'odd' });
    await next('failed');
    assert.equal((await get('odd')).failure.group, 'Error');
  },

  'a job of an unknown class fails, unless there is a handler of all classes': async () => {
    const { worker, next } = makeWorker();
    await worker.put('q', 'Unknown', {}, { jid: 'j1' });
    await next('failed');
    assert.equal((await get('j1')).failure.group, 'no-handler');
    worker.on('*', (job) => job.fail('strange', `class ${job.klass}`));
    await worker.put('q', 'Unknown', {}, { jid: 'j2' });
    await next('failed');
    const { group, message } = (await get('j2')).failure;
    assert.deepEqual([group, message], ['strange', 'class Unknown']);
  },

  'a job is tried again after a delay, until no attempts are left': async () => {
    const { worker, next } = makeWorker();
    const attempts = [];
    worker.on('Later', (job) => job.retry(3600));
    worker.on('Again', (job) => {
      attempts.push(job.attempt);
      job.retry(); // the worker waits for the reply
    });
    await worker.put('q', 'Later', {}, { jid: 'later' });
    await next('retried');
    const { state, remaining } = await get('later');
    assert.deepEqual([state, remaining], ['scheduled', 4]);
    await worker.put('q', 'Again', {}, { jid: 'again', retries: 2 });
    await next('failed');
    assert.deepEqual(attempts, [1, 2, 3]);
    assert.equal((await get('again')).failure.group, 'failed-retries-q');
  },

  'some exceptions are tried again': async () => {
    class Busy extends Error {}
    const { worker, next } = makeWorker();
    worker.on('Job', () => { throw new Busy('come back later'); }, {
      retryOn: [Busy], delay: (attempt) => (attempt < 2 ? 0 : 3600),
    });
    worker.on('Hopeless', () => { throw new Busy('never'); }, { retryOn: [Error] });
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('retried');
    const [, error] = await next('retried');
    assert(error instanceof Busy);
    assert.deepEqual([(await get('j')).state, (await get('j')).remaining], ['scheduled', 3]);
    await worker.put('q', 'Hopeless', {}, { jid: 'hopeless', retries: 0 });
    await next('failed');
    const { group, message } = (await get('hopeless')).failure;
    assert.equal(group, 'Busy');
    assert.match(message, /never\n +at /);
  },

  'a job moves on to the next queue': async () => {
    const { worker, next } = makeWorker({ queues: ['in', 'out'] });
    const seen = [];
    worker.on('Step', (job) => {
      seen.push(job.queue);
      return job.queue === 'in' ? job.complete({ next: 'out' }) : undefined;
    });
    await worker.put('in', 'Step', {}, { jid: 'j' });
    await next('completed');
    await next('completed');
    assert.deepEqual(seen, ['in', 'out']);
    assert.equal(await stateOf('j'), 'complete');
  },

  'jobs count under the limits that they name': async () => {
    const { worker, next } = makeWorker({ queues: ['in', 'out'] });
    const seen = [];
    worker.on('Step', (job) => {
      seen.push(job.fields.limits);
      return job.queue === 'in' ? job.complete({ next: 'out', limits: ['mail'] }) : undefined;
    });
    await worker.put('in', 'Step', {}, { jid: 'j', limits: ['db', 'api'] });
    await next('completed');
    await next('completed');
    assert.deepEqual(seen, [['db', 'api'], ['mail']]);
  },

  'a refused end leaves the job to its handler, or fails it': async () => {
    const { worker, next } = makeWorker();
    worker.on('Mend', async (job) => {
      await assertRejects(ServerError, /^BADARG /, job.complete({ next: 'out', delay: 'soon' }));
      await job.complete();
    });
    worker.on('Leave', (job) => job.complete({ next: 'out', delay: 'soon' }));
    await worker.put('q', 'Mend', {}, { jid: 'mend' });
    await next('completed');
    await worker.put('q', 'Leave', {}, { jid: 'leave' });
    await next('failed');
    assert.equal(await stateOf('leave'), 'failed');
  },

  'a job shows its progress, and has log entries in its history': async () => {
    const { worker, next } = makeWorker();
    const seen = [];
    worker.on('Long', async (job) => {
      for (const [percent, note] of [[50, 'half'], [99.5]]) {
        await job.progress(percent, note);
        const { progress, note: shown } = await get('j');
        seen.push([progress, shown]);
      }
      await job.log('note', { page: 7 });
    });
    await worker.put('q', 'Long', {}, { jid: 'j' });
    await next('completed');
    assert.deepEqual(seen, [[50, 'half'], [99.5, undefined]]);
    const { history } = await get('j');
    assert.equal(history.find(({ what }) => what === 'note').page, 7);
  },

  'results and errors are kept with the job': async () => {
    const { worker, next } = makeWorker();
    worker.on('Text', (job) => job.complete({ result: 'queued as 4711' }));
    worker.on('Value', (job) => job.complete({ data: { step: 2 }, result: { n: [1, 2] } }));
    worker.on('Bad', (job) => job.fail('refused', '550', 'the whole\nconversation'));
    for (const klass of ['Text', 'Value', 'Bad']) {
      const event = klass === 'Bad' ? 'failed' : 'completed';
      await worker.put('q', klass, { to: 'ann' }, { jid: klass });
      await next(event);
    }
    const [text, value, bad] = [await get('Text'), await get('Value'), await get('Bad')];
    assert.equal(text.result, 'queued as 4711');
    assert.deepEqual(JSON.parse(text.data), { to: 'ann' });
    assert.deepEqual(JSON.parse(value.result), { n: [1, 2] });
    assert.deepEqual(JSON.parse(value.data), { step: 2 });
    assert.deepEqual([bad.error, bad.failure.message], ['the whole\nconversation', '550']);
  },

  'an application gives its jobs fields': async () => {
    const { worker, next } = makeWorker();
    const seen = [];
    worker.on('Work', async (job) => {
      await job.setMeta({ colour: 'red', pages: 3, draft: 'yes' });
      await job.deleteMeta('draft', 'none');
      seen.push(job.meta);
    });
    await worker.put('q', 'Work', {}, { jid: 'j' });
    await next('completed');
    assert.deepEqual(seen, [{ colour: 'red', pages: '3' }]);
    assert.deepEqual((await get('j')).meta, { colour: 'red', pages: '3' });
  },

  'jobs of a queue with a start timeout are started': async () => {
    const { worker, next } = makeWorker({ reportStart: true });
    const seen = [];
    worker.on('Work', async () => {
      const { pid, node } = await get('j');
      seen.push([pid, node]);
    });
    await call('CONFIG.SET', 'q-start-timeout', '1000');
    await worker.put('q', 'Work', {}, { jid: 'j' });
    await next('completed');
    await call('CONFIG.UNSET', 'q-start-timeout');
    assert.deepEqual(seen, [[process.pid, hostname()]]);
  },

  'a retry without a delay leaves it to the backoff': async () => {
    const { worker, next } = makeWorker();
    worker.on('Work', (job) => job.retry());
    worker.on('Expected', () => { throw new RangeError('full'); }, { retryOn: [RangeError] });
    for (const klass of ['Work', 'Expected']) {
      await call('PUT', 'test', 'q', klass, klass, '{}', '0', 'backoff', 'fixed', '1000', '1000');
      await next('retried');
      assert.equal((await get(klass)).state, 'scheduled');
    }
    assert.equal((await get('Expected')).failure.message.includes('full'), true);
  },

  'a raw job has bytes': async () => {
    const { worker, next } = makeWorker();
    const seen = [];
    worker.on('Work', (job) => {
      seen.push(job.data);
      return job.complete(job.jid === 'new' ? { data: Buffer.from([0xff, 0, 0x65]) } : {});
    });
    for (const jid of ['kept', 'new']) {
      await call('PUT', 'test', 'q', jid, 'Work', '{not JSON', '0', 'raw');
      await next('completed');
    }
    assert.deepEqual(seen.map((data) => data.toString()), ['{not JSON', '{not JSON']);
    assert.equal((await get('kept')).data, '{"base64":"e25vdCBKU09O"}');
    assert.equal((await get('new')).data, '{"base64":"/wBl"}');
  },

  'queues are served in order, or in turn': async () => {
    const served = async (order) => {
      const seen = [];
      const all = gate();
      for (const [queue, count] of [['C', 3], ['B', 2], ['A', 5]]) {
        for (let i = 0; i < count; i++) {
          await call('PUT', 'p', queue, '*', 'Job', '{}', 0);
        }
      }
      const { worker } = makeWorker({ queues: ['C', 'B', 'A'], order, concurrency: 1 });
      worker.on('Job', (job) => seen.push(job.queue) === 10 && all.open());
      await all.opened;
      await worker.stop();
      return seen.join(' ');
    };
    assert.equal(await served('ordered'), 'C C C B B A A A A A');
    assert.equal(await served('roundrobin'), 'C B A C B A C A A A');
  },

  'jobs of other classes are left to other workers': async () => {
    const seen = [];
    const both = gate();
    for (const [jid, klass] of [['r1', 'Report'], ['s1', 'Send'], ['r2', 'Report'], ['s2', 'Send']]) {
      await call('PUT', 'p', 'q', jid, klass, '{}', 0);
    }
    const { worker } = makeWorker({ klass: 'Send', concurrency: 1 });
    for (const klass of ['Report', 'Send']) {
      worker.on(klass, (job) => seen.push(job.jid) === 2 && both.open());
    }
    await both.opened;
    await worker.stop();
    assert.deepEqual(seen, ['s1', 's2']);
    for (const jid of ['r1', 'r2']) {
      assert.equal(JSON.parse(await call('GET', jid)).state, 'waiting');
    }
  },

  'a worker in test mode drains the jobs of its class': async () => {
    const worker = new Worker({ queues: ['q'], klass: 'Send', test: true });
    worker.on('Send', () => {});
    await worker.put('q', 'Report', {}, { jid: 'r1' });
    await worker.put('q', 'Send', {}, { jid: 's1' });
    assert.deepEqual((await worker.drain()).map((run) => run.jid), ['s1']);
  },

  'as many jobs run at once as were asked for': async () => {
    const { worker, next } = makeWorker({ concurrency: 3 });
    const door = gate();
    let running = 0;
    let most = 0;
    worker.on('Job', async () => {
      running += 1;
      most = Math.max(most, running);
      await door.opened;
      running -= 1;
    });
    for (let i = 0; i < 10; i++) {
      await worker.put('q', 'Job', {});
    }
    for (let i = 0; i < 3; i++) {
      await next('started');
    }
    assert.equal(await call('ZCARD', 'ql:q:q-work'), 7); // left to other workers
    door.open();
    for (let i = 0; i < 10; i++) {
      await next('completed');
    }
    assert.equal(most, 3);
  },

  'workers share a queue, and no job runs twice': async () => {
    const seen = [];
    const all = gate();
    for (let i = 0; i < 3; i++) {
      makeWorker({ concurrency: 4 }).worker
        .on('Job', (job) => seen.push(job.jid) === 300 && all.open());
    }
    const jids = Array.from({ length: 300 }, (_, i) => `j${i}`);
    await Promise.all(jids.map((jid) => call('PUT', 'p', 'q', jid, 'Job', '{}', 0)));
    await all.opened;
    assert.deepEqual(seen.sort(), jids.sort());
  },

  'a worker that waits sends nothing': async () => {
    const { worker, next } = makeWorker({ concurrency: 1 });
    worker.on('Job', () => {});
    const commands = async () => Number(parseInfo(await call('INFO')).total_commands_processed);
    await worker.put('q', 'Job');
    await next('completed');
    await untilOneWaits(info);
    const before = await commands();
    await sleep(300); // in which a worker that polls would
    assert.equal(await commands() - before, 1); // INFO
  },

  'a lost lock aborts the signal of its job': async () => {
    const { worker, next } = makeWorker({ concurrency: 2 });
    worker.on('Job', async (job) => {
      if (job.lock > 1) {
        return; // the second hand-out
      }
      await once(job.signal, 'abort');
      assert(job.signal.reason instanceof JobLost);
      await assertRejects(JobLost, /lock_lost/, job.complete());
      await assertRejects(JobLost, /lock_lost/, job.progress(1));
    });
    await worker.put('q', 'Job', {}, { jid: 'j' });
    const [first] = await next('started');
    assert.equal(first.lock, 1);
    await call('TIMEOUT', 'j');
    const [lost, reason] = await next('lost');
    assert.deepEqual([lost, reason.event], [first, 'lock_lost']);
  },

  'a canceled job aborts its signal': async () => {
    const { worker, next } = makeWorker();
    worker.on('Job', (job) => once(job.signal, 'abort'));
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    await call('CANCEL', 'j');
    const [, reason] = await next('lost');
    assert.deepEqual([reason.jid, reason.event], ['j', 'canceled']);
  },

  'a handler that ignores a lost lock cannot complete the next hand-out': async () => {
    const { worker, next } = makeWorker({ concurrency: 2 });
    const doors = [gate(), gate()];
    const hands = [];
    worker.on('Job', (job) => doors[hands.push(job.lock) - 1].opened);
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    await call('TIMEOUT', 'j');
    await next('started'); // by the same worker
    doors[0].open();
    const [lost] = await next('lost');
    assert.equal(lost.lock, hands[0]);
    assert.equal(await stateOf('j'), 'running');
    doors[1].open();
    const [completed] = await next('completed');
    assert.equal(completed.lock, hands[1]);
  },

  'a worker goes on after the server ended or was killed': async () => {
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      const { worker, next } = makeWorker({ concurrency: 2 });
      const door = gate();
      worker.on('Long', () => door.opened);
      worker.on('Short', () => {});
      await worker.put('q', 'Long', {}, { jid: `long-${signal}` });
      await next('started');
      await restart(() => call('INFO', 'server'), signal);
      await next('ready');
      await worker.put('q', 'Short', {}, { jid: `short-${signal}` });
      const [short] = await next('completed');
      assert.equal(short.jid, `short-${signal}`);
      door.open();
      const [long] = await next('completed');
      assert.equal(long.jid, `long-${signal}`);
      assert.equal(await stateOf(long.jid), 'complete');
      await worker.stop();
    }
  },

  'a job that ends while the server is away is reported later': async () => {
    const { worker, next } = makeWorker();
    const door = gate();
    worker.on('Job', () => door.opened);
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    const restarted = restart(() => call('INFO', 'server'), 'SIGKILL');
    await next('disconnected');
    door.open();
    await restarted;
    await next('completed');
    assert.equal(await stateOf('j'), 'complete');
  },

  'a job that reports its progress waits while the server is away': async () => {
    const { worker, next } = makeWorker();
    const away = once(worker.events, 'disconnected');
    worker.on('Job', async (job) => {
      await away;
      await job.progress(50, 'half');
    });
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    await restart(() => call('INFO', 'server'), 'SIGKILL');
    await next('completed');
    assert.equal((await get('j')).progress, 50);
  },

  'a worker waits for a place if the server is full': async () => {
    await call('CONFIG', 'SET', 'maxclients', '1');
    const { worker, next } = makeWorker();
    await once(worker.events, 'error');
    await call('CONFIG', 'SET', 'maxclients', '100');
    await next('ready');
  },

  'a producer waits while the server has no memory left': async () => {
    const client = new Client({ redis: template() });
    toEnd.push(() => client.close());
    await call('CONFIG', 'SET', 'maxmemory', '1');
    let isPut = false; // at once by a build with sanitizers, which does not know its memory
    const put = client.put('q', 'Job', {}, { jid: 'j' }).finally(() => { isPut = true; });
    await until(async () => isPut || /errorstat_OOM/.test(await info('errorstats')));
    await call('CONFIG', 'SET', 'maxmemory', '0');
    assert.equal(await put, 'j');
  },

  'a lock that was lost while the worker was away aborts the signal': async () => {
    const road = await way({});
    const { worker, next } = makeWorker({ redis: template({ port: road.port }) });
    worker.on('Job', (job) => (job.lock === 1 ? once(job.signal, 'abort') : undefined));
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    road.close();
    await next('disconnected');
    await call('TIMEOUT', 'j');
    assert.equal(JSON.parse(await call('POP', 'q', 'other', 1)).length, 1);
    road.open();
    const [lost] = await next('lost');
    assert.equal(lost.jid, 'j');
    assert.equal((await get('j')).worker, 'other');
  },

  'a job whose completion had no reply is completed once': async () => {
    const road = await way({ command: /COMPLETE/ });
    const { worker, next } = makeWorker({ redis: template({ port: road.port }) });
    let runs = 0;
    worker.on('Job', () => { runs += 1; });
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    const [job] = await next('completed');
    assert(road.hasCut());
    assert.deepEqual([job.jid, runs], ['j', 1]);
    assert.equal(await stateOf('j'), 'complete');
  },

  'a failure that had no reply fails once': async () => {
    const road = await way({ command: /FAIL/ });
    const { worker, next } = makeWorker({ redis: template({ port: road.port }) });
    worker.on('Job', (job) => job.fail('group', 'message'));
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    await next('failed');
    assert(road.hasCut());
    assert.equal((await get('j')).failure.group, 'group');
  },

  'a retry that had no reply is counted once': async () => {
    const road = await way({ command: /RETRY/ });
    const { worker, next } = makeWorker({ redis: template({ port: road.port }) });
    worker.on('Job', (job) => job.retry(3600));
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    await next('retried');
    assert(road.hasCut());
    assert.equal((await get('j')).remaining, 4);
  },

  'a job whose hand-out did not arrive runs after the reconnection': async () => {
    const road = await way({ reply: /"jid":"j"/ });
    const { worker, next } = makeWorker({ redis: template({ port: road.port }) });
    let runs = 0;
    worker.on('Job', () => { runs += 1; });
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    const [job] = await next('completed');
    assert(road.hasCut());
    assert.deepEqual([job.lock, runs], [1, 1]);
  },

  'a put that had no reply puts one job, even if it is done by then': async () => {
    const road = await way({ command: /PUT/, staysClosed: true });
    const client = new Client({ redis: template({ port: road.port }) });
    toEnd.push(() => client.close());
    const put = client.put('q', 'Job', { n: 1 });
    await until(road.hasCut);
    const [{ jid, klass, data }] = JSON.parse(await call('POP', 'q', 'w', 1));
    assert.deepEqual([klass, data], ['Job', '{"n":1}']);
    await call('COMPLETE', jid, 'w', 'q', '{}');
    road.open();
    assert.equal(await put, jid);
    assert.equal(await stateOf(jid), 'complete');
  },

  'a producer without a server gives up': async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    const client = new Client({ redis: template({ port }), timeout: 0.2 });
    await assertRejects(Disconnected, /^no connection in 0.2 seconds/, client.put('q', 'Job'));
    client.close();
  },

  'a quiet worker finishes its jobs and takes no more': async () => {
    const { worker, next } = makeWorker({ concurrency: 2 });
    const door = gate();
    worker.on('Job', () => door.opened);
    await worker.put('q', 'Job', {}, { jid: 'j1' });
    await next('started');
    await untilOneWaits(info);
    worker.quiet();
    await untilNobodyWaits();
    await worker.put('q', 'Job', {}, { jid: 'j2' });
    door.open();
    await next('completed');
    await worker.stop();
    assert.equal(await stateOf('j1'), 'complete');
    assert.equal(await stateOf('j2'), 'waiting');
  },

  'a stop waits for running jobs': async () => {
    const { worker, next } = makeWorker();
    const door = gate();
    worker.on('Job', () => door.opened);
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    const stopped = worker.stop();
    door.open();
    await stopped;
    assert.equal(await stateOf('j'), 'complete');
    await until(async () => parseInfo(await info()).connected_clients === '1'); // that of the check
  },

  'a stop returns jobs that take too long': async () => {
    const { worker, next } = makeWorker();
    worker.on('Job', (job) => once(job.signal, 'abort'));
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await next('started');
    await worker.stop({ timeout: 0 });
    const [, reason] = await next('lost');
    assert.equal(reason.event, 'released');
    const { state, remaining, worker: owner } = await get('j');
    assert.deepEqual([state, remaining, owner], ['waiting', 5, '']);
  },

  'a process that gets SIGTERM finishes its job and exits': async () => {
    const { child, hear, exited } = await startProgram();
    await call('PUT', 'p', 'q', 'j', 'Wait', '{}', 0);
    assert.equal(await hear(), 'started j');
    await untilOneWaits(info);
    child.kill('SIGTERM');
    await untilNobodyWaits();
    await call('PUT', 'p', 'q', 'later', 'Wait', '{}', 0);
    child.stdin.write('go on\n');
    assert.equal(await hear(), 'completed j');
    assert.deepEqual(await exited, [0, null]);
    assert.equal(await stateOf('j'), 'complete');
    assert.equal(await stateOf('later'), 'waiting');
  },

  'a process that gets SIGINT twice returns its job and exits': async () => {
    const { child, hear, exited } = await startProgram();
    await call('PUT', 'p', 'q', 'j', 'Wait', '{}', 0);
    assert.equal(await hear(), 'started j');
    await untilOneWaits(info);
    child.kill('SIGINT');
    await untilNobodyWaits();
    child.kill('SIGINT');
    assert.deepEqual(await exited, [1, null]);
    assert.deepEqual([(await get('j')).state, (await get('j')).remaining], ['waiting', 5]);
  },

  'a job of a dead worker with the same name uses up a retry': async () => {
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    await call('POP', 'q', 'again', 1);
    const { worker, next } = makeWorker({ name: 'again', run: false });
    worker.on('Job', () => {});
    worker.run({ signals: false }).catch(() => {});
    const [job] = await next('completed');
    assert.deepEqual([job.jid, job.remaining], ['j', 4]);
  },

  'the jobs of a process that was killed go to another worker': async () => {
    const { child, hear } = await startProgram();
    await call('PUT', 'p', 'q', 'j', 'Wait', '{}', 0);
    assert.equal(await hear(), 'started j');
    const { worker, next } = makeWorker();
    worker.on('Wait', () => {});
    child.kill('SIGKILL');
    const [job] = await next('completed');
    assert.deepEqual([job.jid, job.remaining], ['j', 5]);
  },

  'a process that gets SIGTSTP is quiet until SIGCONT': async () => {
    const { child, hear } = await startProgram();
    await untilOneWaits(info);
    child.kill('SIGTSTP');
    await untilNobodyWaits();
    await call('PUT', 'p', 'q', 'j', 'Wait', '{}', 0);
    assert.equal(await stateOf('j'), 'waiting');
    child.kill('SIGCONT');
    assert.equal(await hear(), 'started j');
  },

  'a name that was used before leaves no jobs behind': async () => {
    const first = makeWorker({ name: 'w', grace: 3600 });
    first.worker.on('Job', (job) => once(job.signal, 'abort'));
    await first.worker.put('q', 'Job', {}, { jid: 'j' });
    const [before] = await first.next('started');
    first.worker.quiet();
    const second = makeWorker({ name: 'w' });
    second.worker.on('Job', () => {});
    const [after] = await second.next('completed');
    assert.deepEqual([after.jid, after.lock > before.lock], ['j', true]);
    await first.next('lost');
  },

  'a worker waits until a queue of its own is free': async () => {
    const first = makeWorker({ exclusive: 'q' });
    await first.next('ready');
    const second = makeWorker({ exclusive: 'q' });
    const [refusal] = await once(second.worker.events, 'error');
    assert.match(refusal.message, /^BUSY /);
    await first.worker.stop();
    await second.next('ready');
  },

  'a worker stops without permission for CLIENT UNBLOCK': async () => {
    await call('ACL', 'SETUSER', 'worker', 'on', '>secret', '~*', '&*', '+@all', '-client|unblock');
    const { worker, next } = makeWorker({
      redis: template({ username: 'worker', password: 'secret' }),
    });
    await next('ready');
    await untilOneWaits(info);
    await worker.stop({ timeout: 3600 });
    await untilNobodyWaits();
    await call('ACL', 'DELUSER', 'worker');
  },

  'a worker needs no permissions but its roles': async () => {
    await call('ACL', 'SETUSER', 'worker', 'on', '>secret', '+@worker', '+@producer');
    const { worker, next } = makeWorker({
      redis: template({ username: 'worker', password: 'secret' }),
    });
    worker.on('Job', async (job) => {
      await job.progress(50);
      await job.log('note');
    });
    await worker.put('q', 'Job');
    await next('completed');
    await restart(() => call('INFO', 'server'));
    await next('ready');
    await untilOneWaits(info);
    await worker.stop({ timeout: 3600 });
    await untilNobodyWaits();
    await call('ACL', 'DELUSER', 'worker');
  },

  'a worker needs the right password': async () => {
    await call('ACL', 'SETUSER', 'worker', 'on', '>secret', 'resetkeys', '~q', '&*', '+@all');
    const { worker, next } = makeWorker({
      redis: template({ username: 'worker', password: 'secret' }),
    });
    worker.on('Job', () => {});
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    await next('completed');
    const wrong = makeWorker({
      redis: template({ username: 'worker', password: 'x' }), run: false,
    });
    await assertRejects(ServerError, /^WRONGPASS /, wrong.worker.run());
    const forbidden = makeWorker({
      redis: template({ username: 'worker', password: 'secret' }), queues: ['secret'], run: false,
    });
    await assertRejects(ServerError, /^NOPERM /, forbidden.worker.run());
    await call('ACL', 'DELUSER', 'worker');
  },

  'a worker uses TLS': async () => {
    const ca = readFileSync(`${process.env.QLESSD_TLS_DIR}/ca.crt`);
    const tls = {
      ca,
      cert: readFileSync(`${process.env.QLESSD_TLS_DIR}/client.crt`),
      key: readFileSync(`${process.env.QLESSD_TLS_DIR}/client.key`),
    };
    const { worker, next } = makeWorker({ redis: template({ port: TLS_PORT, tls }) });
    worker.on('Job', () => {});
    await call('PUT', 'p', 'q', 'j', 'Job', '{}', 0);
    await next('completed');
    const client = new Client({
      redis: template({ port: TLS_PORT, tls: { ...tls, ca: undefined } }), timeout: 0.2,
    });
    let error;
    do {
      // On a busy machine, the time may be over before the server has shown its certificate.
      error = await client.put('q', 'Job').catch((e) => e);
    } while (error.cause === undefined);
    client.close();
    assert.match(error.cause.message, /certificate/);
  },

  'a URL is enough': async () => {
    const worker = new Worker({ redis: `redis://127.0.0.1:${PORT}/3`, queues: ['q'] });
    toEnd.push(() => worker.stop({ timeout: 0 }));
    worker.on('Job', () => {});
    worker.run({ signals: false });
    await worker.put('q', 'Job', {}, { jid: 'j' });
    await once(worker.events, 'completed');
    assert.equal(await call('GET', 'j'), null); // it is in another database
  },

  'jobs run without a server in test mode': async () => {
    const worker = new Worker({ queues: ['q', 'next'], test: true });
    worker.on('Send', async (job) => {
      await job.start();
      await job.progress(50, 'half');
      await job.setMeta({ colour: 'red', size: 2 });
      await job.deleteMeta('size');
      await worker.put('q', 'Count', { n: 1 }, { jid: 'count' });
      await job.complete({ result: 'sent' });
    });
    worker.on('Count', (job) => {
      if (job.attempt < 3) {
        return job.retry(60);
      }
      const next = job.queue === 'q' ? 'next' : undefined;
      return job.complete({ data: { n: job.data.n + 1 }, next });
    });
    worker.on('Bad', () => { throw new RangeError('7'); });
    await worker.put('q', 'Send', { to: 'ann' }, { jid: 'send' });
    await worker.put('q', 'Bad', {}, { jid: 'bad', priority: 1 });
    await worker.put('other', 'Send', {});
    const runs = await worker.drain();
    assert.deepEqual(runs.map(({ jid, outcome }) => `${jid} ${outcome}`), [
      'bad failed', 'send completed', 'count retried', 'count retried', 'count completed',
      'count completed',
    ]);
    assert(runs[0].error instanceof RangeError);
    assert.equal(runs[0].failure.group, 'RangeError');
    const { progress, note, meta, result, pid } = runs[1];
    assert.deepEqual([progress, note, meta, result, pid],
      [50, 'half', { colour: 'red' }, 'sent', process.pid]);
    const { state, data, queue } = runs[5];
    assert.deepEqual([state, data, queue], ['complete', { n: 3 }, 'next']);
    await worker.put('q', 'Bad');
    const run = await worker.perform('Count', { n: 7 });
    assert.deepEqual([run.outcome, run.data], ['completed', { n: 9 }]);
    await assertRejects(Error, /no server/, worker.run());
  },

  'names of events are no classes': () => {
    const worker = new Worker({ queues: ['q'], test: true });
    assert.throws(() => worker.on('failed', () => {}), /worker\.events\.on\("failed"/);
    assert.throws(() => worker.on('Send'), /the handler of "Send" is a function/);
    assert.throws(() => new Worker({ queues: [] }), /`queues` is an array/);
    assert.throws(() => new Worker({ queues: ['q'], concurrency: 0 }), /`concurrency`/);
    assert.throws(() => new Worker({ queues: ['q'], klass: '' }), /`klass`/);
    assert.throws(() => new Worker({ queues: ['q'], redis: {} }), /`redis` is a URL/);
  },
};

async function begin() {
  admin = new Redis(PORT, HOST, { retryStrategy: () => 10 });
  admin.on('error', () => {}); // what a call does not survive, the call says
  await admin.flushall();
}

async function end() {
  await Promise.all(toEnd.map((step) => step()));
  toEnd = [];
  admin.disconnect();
}

await runChecks(checks, begin, end);
