// What the checks of both libraries for Node.js share: the client of qless, and the runner.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export const PORT = Number(process.env.QLESSD_PORT);
export const SCRIPT = readFileSync(new URL('../qless.lua', import.meta.url), 'utf8');
export const SHA1 = createHash('sha1').update(SCRIPT).digest('hex');
export const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';

// For each wait, and for each check.
const PATIENCE_MS = 60_000;

// What a script said went wrong, without what Redis says around it.
export class QlessError extends Error {}

// The client of qless, but for its job and queue objects. `run` has the script run with an array of
// words, in the way of the library.
export class Qless {
  constructor(run) {
    this.run = run;
  }

  async call(command, ...words) {
    try {
      return await this.run([command, Date.now() / 1000, ...words].map(String));
    } catch (error) {
      const match = /user_script:\d+:\s*(\w+.+$)/.exec(error.message);
      throw match ? new QlessError(match[1]) : error;
    }
  }

  put(jid, ...options) {
    return this.call('put', 'w', 'q', jid, 'klass', JSON.stringify({ jid }), 0, ...options);
  }

  async pop(worker = 'w', count = 1) {
    return Array.from(JSON.parse(await this.call('pop', 'q', worker, count)));
  }

  async state(jid) {
    return JSON.parse(await this.call('get', jid)).state;
  }
}

// What a client of qless does all day, for every library.
export const workerChecks = {
  'a job is popped, kept and completed': async ({ qless }) => {
    assert.equal(await qless.put('j', 'priority', 5, 'tags', '["a"]'), 'j');
    const [job, ...more] = await qless.pop();
    assert.deepEqual(more, []);
    assert.deepEqual([job.jid, job.state, job.worker], ['j', 'running', 'w']);
    assert.deepEqual(JSON.parse(job.data), { jid: 'j' });
    assert(await qless.call('heartbeat', 'j', 'w', job.data) > Date.now() / 1000);
    assert.equal(await qless.call('complete', 'j', 'w', 'q', job.data), 'complete');
    assert.equal(await qless.state('j'), 'complete');
    assert.deepEqual(await qless.pop(), []);
  },

  'a job is failed and tried again': async ({ qless }) => {
    await qless.put('failing');
    await qless.put('retrying');
    await qless.pop('w', 2);
    const failed = await qless.call('fail', 'failing', 'w', 'group', 'message', '{}');
    assert.equal(failed, 'failing');
    assert.equal(await qless.state('failing'), 'failed');
    assert.deepEqual(JSON.parse(await qless.call('failed')), { group: 1 });
    assert.equal(await qless.call('retry', 'retrying', 'q', 'w', 0), 4);
    assert.deepEqual((await qless.pop()).map((job) => job.jid), ['retrying']);
  },

  'the text of an error is cut out of its envelope': async ({ qless }) => {
    await assertRejects(QlessError, /^Heartbeat\(\): Job none does not exist/,
      qless.call('heartbeat', 'none', 'w', '{}'));
    await assertRejects(QlessError, /^Unknown command nope/, qless.call('nope'));
  },

  'any bytes of a job come back as they were': async ({ qless }) => {
    const data = JSON.stringify({ text: 'Grüße, \0 日本語 🎉', more: 'x'.repeat(200_000) });
    await qless.call('put', 'w', 'q', 'schlüssel', 'klass', data, 0);
    const [job] = await qless.pop();
    assert.deepEqual([job.jid, job.data], ['schlüssel', data]);
  },
};

export async function assertRejects(kind, pattern, promise) {
  await assert.rejects(promise, (error) => {
    assert(error instanceof kind, error);
    assert.match(error.message, pattern);
    return true;
  });
}

// Messages in the order they come, with an end to the waiting for them.
export class Mailbox {
  #messages = [];
  #arrival = new EventTarget();

  add(...message) {
    this.#messages.push(message);
    this.#arrival.dispatchEvent(new Event('message'));
  }

  async next() {
    while (this.#messages.length === 0) {
      await once(this.#arrival, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) });
    }
    return this.#messages.shift();
  }
}

// A section of INFO as an object.
export function parseInfo(text) {
  return Object.fromEntries(text.split('\r\n').filter((line) => line.includes(':'))
    .map((line) => line.split(/:(.*)/).slice(0, 2)));
}

export function assertVersion(info) {
  const [major, minor, patch] = parseInfo(info).redis_version.split('.').map(Number);
  assert(major * 10_000 + minor * 100 + patch >= 2_05_05, info);
}

// Wait until a client waits for a job. `info` asks for what INFO says about clients.
export async function untilOneWaits(info) {
  while (parseInfo(await info()).blocked_clients !== '1') {
    await sleep(10);
  }
}

// End the server, which is then started again, and wait for the new one. `info` asks for what INFO
// says about the server, and may fail while there is none.
export async function restart(info, signal = 'SIGTERM') {
  const before = parseInfo(await info());
  let after = before;
  process.kill(Number(before.process_id), signal);
  while (after.run_id === before.run_id) {
    await sleep(10);
    after = await info().then(parseInfo, () => before);
  }
}

// What a promise holds, unless that takes too long. A check that waits for ever fails alone.
async function inTime(promise) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), 2 * PATIENCE_MS);
  const tooLate = once(late.signal, 'abort').then(() => {
    throw new Error('the check takes too long');
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

// Run all checks, or those whose name contains the variable ONLY of the environment, each with what
// `begin` makes and `end` ends.
export async function runChecks(checks, begin, end) {
  const names = Object.keys(checks).filter((name) => name.includes(process.env.ONLY ?? ''));
  console.log(`1..${names.length}`);
  let outcome;
  const fail = (error) => { // whatever it is, the next case may do better
    outcome = 'not ok';
    process.exitCode = 1;
    console.error(error);
  };
  process.on('uncaughtException', fail); // and promises that nobody waits for
  for (const [index, name] of names.entries()) {
    outcome = 'ok';
    try {
      const context = await begin();
      try {
        await inTime(checks[name](context));
      } finally {
        await end(context);
      }
    } catch (error) {
      fail(error);
    }
    console.log(`${outcome} ${index + 1} - ${name}`);
  }
}
