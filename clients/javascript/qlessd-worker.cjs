// Workers and producers for qlessd, over ioredis 5 or node-redis 5. Copy this file into a program:
//
//     const { Worker } = require('./qlessd-worker.cjs'); // or: import { Worker } from ...
//
//     const worker = new Worker({ redis: 'redis://127.0.0.1:7537', queues: ['mail'] });
//
//     worker.on('Send', async (job) => {
//       await send(job.data.to, { signal: job.signal });
//     });
//
//     worker.run();
//
// A job completes when its handler returns, and fails when it throws. qlessd-clients(7) describes
// this library.
//
// A worker has a session of two or three connections: one for commands, one on which BPOP waits,
// and one for messages if the first cannot have them. If one of them breaks, the worker closes the
// others and opens a new session. The libraries never connect again or send again, because they do
// not know which commands may be sent twice.

'use strict';

const { randomUUID } = require('node:crypto');
const { EventEmitter } = require('node:events');
const { createRequire } = require('node:module');
const { hostname } = require('node:os');
const { resolve } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const DEFAULT_URL = process.env.QLESSD_URL ?? 'redis://127.0.0.1:7537';
const DEFAULT_PORT = '7537';
// Seconds that one BPOP waits. For this long, the server may hand jobs to a connection that broke
// without a sign to it.
const WAIT_S = 30;
// Milliseconds until a reply is late. CLIENT PAUSE may delay replies, so this is not short.
const REPLY_MS = 60_000;
// Milliseconds of silence after which the system begins to probe whether a peer is alive.
const KEEPALIVE_MS = 5_000;
// Milliseconds before the first and before later attempts to connect, or to send what the server
// could not do. A random part of up to a half is taken off.
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;
// Milliseconds between attempts to end a BPOP that may not have reached the server yet.
const UNBLOCK_MS = 20;
// Milliseconds after which abandoned handlers no longer keep a process alive that was told to stop.
const EXIT_MS = 1_000;
// Milliseconds between PINGs, so that the connection for commands is never idle for long.
const PING_MS = 20_000;
// Jobs that are asked for at once.
const BATCH = 50;
// Bytes of a failure's message and group that are sent. The server refuses a group above
// max-name-length.
const MESSAGE_BYTES = 8_192;
const GROUP_BYTES = 256;
// Points between two entries about progress in the history of a job.
const PROGRESS_STEP = 10;

// Codes of errors. The first set says that the job is no longer the worker's, and the second that
// the server cannot do this now.
const LOST = new Set(['NOTRUNNING', 'NOTOWNER', 'WRONGQUEUE', 'NOJOB']);
const TEMPORARY = new Set(['MISCONF', 'LOADING', 'OOM', 'BUSY', 'READONLY', 'MASTERDOWN']);
const FULL = 'ERR max number of clients reached';

/** The server refused a command. */
class ServerError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'ServerError';
    /** The first word of the message; ERROR CODES in qlessd-commands(7) has a list. */
    this.code = message.split(' ', 1)[0];
  }
}

/** There is no connection, or it broke before the reply. The server may have run the command. */
class Disconnected extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = 'Disconnected';
  }
}

/** The job is no longer this worker's. `job.signal` has this as its reason. */
class JobLost extends Error {
  /**
   * @param {string} jid
   * @param {string} event `lock_lost` or `canceled`, or `released` if the worker stopped
   * @param {ServerError} [cause] what the server refused
   */
  constructor(jid, event, cause) {
    super(`job ${jid} is lost: ${cause?.message ?? event}`, { cause });
    this.name = 'JobLost';
    this.jid = jid;
    this.event = event;
  }
}

/** How long to wait before the next attempt, in milliseconds. */
function backoff(attempt) {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** attempt) * (1 - Math.random() / 2);
}

function isTemporary(error) {
  return TEMPORARY.has(error.code) || error.message === FULL;
}

// ---- connections ----

/**
 * One connection. Once it is closed, it stays closed: all calls that wait for a reply fail then,
 * whatever the library does with them.
 */
class Link {
  #send;
  #destroy;
  #pending = new Set();
  #close;

  /**
   * @param {{send: (words: string[]) => Promise<unknown>, destroy: () => void,
   *          subscribe: (channel: string, hear: (text: string) => void) => Promise<unknown>,
   *          sharesMessages: boolean}} library
   */
  constructor({ send, destroy, subscribe, sharesMessages }) {
    this.#send = send;
    this.#destroy = destroy;
    this.subscribe = subscribe;
    /** Whether the connection can have messages and replies to commands. */
    this.sharesMessages = sharesMessages;
    this.isOpen = true;
    this.closed = new Promise((done) => { this.#close = done; });
  }

  /** Sends a command. `extra` milliseconds are added to the time that the reply may take. */
  call(words, extra = 0) {
    if (!this.isOpen) {
      return Promise.reject(new Disconnected('the connection is closed'));
    }
    return new Promise((done, fail) => {
      const timer = setTimeout(() => this.close(new Error('the reply is late')), REPLY_MS + extra);
      const settle = (how, value) => {
        clearTimeout(timer);
        this.#pending.delete(fail);
        how(value);
      };
      this.#pending.add(fail);
      this.#send(words.map((word) => (Buffer.isBuffer(word) ? word : String(word)))).then(
        (reply) => settle(done, reply),
        (error) => settle(fail, isReply(error) ? new ServerError(error.message)
          : new Disconnected(error.message, { cause: error })));
    });
  }

  close(cause = new Error('the connection is closed')) {
    if (!this.isOpen) {
      return;
    }
    this.isOpen = false;
    this.#destroy();
    this.#pending.forEach((fail) => fail(new Disconnected(cause.message, { cause })));
    this.#close(cause);
  }
}

/** Whether an error of either library is a reply of the server. */
function isReply(error) {
  for (let p = error; p; p = Object.getPrototypeOf(p)) {
    if (['ReplyError', 'ErrorReply'].includes(p.constructor?.name)) {
      return true;
    }
  }
  return false;
}

async function openWithIoredis(template) {
  const redis = template.duplicate({
    lazyConnect: true,
    retryStrategy: null,
    reconnectOnError: null,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    enableAutoPipelining: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: null,
    commandTimeout: undefined,
    socketTimeout: undefined,
    keepAlive: KEEPALIVE_MS,
    keyPrefix: '',
    stringNumbers: false,
  });
  let listener = () => {};
  let cause;
  const link = new Link({
    send: (words) => redis.call(...words),
    destroy: () => redis.disconnect(),
    subscribe: (channel, hear) => {
      listener = hear;
      return redis.subscribe(channel);
    },
    sharesMessages: false,
  });
  redis.on('message', (channel, text) => listener(text));
  redis.on('error', (error) => { cause ??= error; });
  redis.on('close', () => link.close(cause));
  try {
    await redis.connect();
    // The library does not wait for the reply to AUTH.
    await redis.ping();
  } catch (error) {
    if (!isReply(error) || !error.message.startsWith('NOPERM ')) {
      link.close();
      throw cause ?? error;
    }
  }
  return link;
}

async function openWithNodeRedis(template) {
  const { options } = template;
  const client = template.duplicate({
    socket: {
      ...options.socket,
      reconnectStrategy: false,
      socketTimeout: undefined,
      keepAlive: true,
      keepAliveInitialDelay: KEEPALIVE_MS,
    },
    disableOfflineQueue: true,
    pingInterval: undefined,
    commandOptions: undefined,
    clientSideCache: undefined,
  });
  const link = new Link({
    send: (words) => client.sendCommand(words),
    destroy: () => {
      try {
        client.destroy();
      } catch {
        // It is closed already.
      }
    },
    // The library drops pushes that it does not know, so the worker subscribes in RESP3, too.
    subscribe: (channel, hear) => client.subscribe(channel, hear),
    sharesMessages: options.RESP === 3,
  });
  client.on('error', (error) => link.close(error));
  try {
    await client.connect();
  } catch (error) {
    link.close(error);
    throw error;
  }
  return link;
}

/** Finds a library where this file is, where the program is, and in the current directory. */
function findLibrary(name) {
  for (const from of [__filename, process.argv[1] ?? '.', 'program']) {
    try {
      return createRequire(resolve(from))(name);
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') {
        throw error;
      }
    }
  }
  return null;
}

/** Makes a client that is never connected, but has the options of the connections. */
function templateOf(url) {
  const parsed = new URL(url);
  parsed.port ||= DEFAULT_PORT;
  const ioredis = findLibrary('ioredis');
  if (ioredis !== null) {
    return new ioredis.Redis(parsed.href, { lazyConnect: true });
  }
  const nodeRedis = findLibrary('redis');
  if (nodeRedis === null) {
    throw new Error('neither ioredis nor redis is installed; install one of them with npm');
  }
  return nodeRedis.createClient({ url: parsed.href, RESP: 3 });
}

/** Returns the URL of each server of "redis://host:port,host:port/0". */
function urlsOfGroup(url) {
  const [, before, hosts, after] = /^([^:]+:\/\/(?:[^/]*@)?)([^/?#]*)(.*)$/s.exec(url)
    ?? ['', url, '', ''];
  return hosts.split(',').map((host) => before + host + after);
}

/**
 * Opens a connection to the server that leads the group.
 * @param {object[]} templates of which each is for one server
 */
async function openToLeader(open, templates) {
  let failure;
  for (const template of templates) {
    let link;
    try {
      link = await open(template);
      const [role] = await link.call(['ROLE']);
      if (role !== 'slave') {
        return link;
      }
      failure = new Error('no server leads the group');
    } catch (error) {
      if (link?.isOpen && error instanceof ServerError) {
        return link; // the user may not ask: a refused command will tell
      }
      if (isReply(error) && !link) {
        throw error;
      }
      failure = error;
    }
    link?.close();
  }
  throw failure;
}

/**
 * Returns a function that opens connections.
 * @param {string | object} redis a URL, or a client of ioredis or node-redis. The connections have
 *   the options of the client, which is not used itself. The URL of a group of servers is
 *   redis://host:port,host:port,host:port.
 * @returns {() => Promise<Link>}
 */
function opener(redis) {
  const templates = typeof redis === 'string' ? urlsOfGroup(redis).map(templateOf) : [redis];
  const [template] = templates;
  if (typeof template?.duplicate !== 'function') {
    throw new TypeError('`redis` is a URL, or a client of ioredis or node-redis');
  }
  const open = 'isOpen' in template ? openWithNodeRedis : openWithIoredis;
  return async () => {
    try {
      return templates.length > 1 ? await openToLeader(open, templates) : await open(template);
    } catch (error) {
      throw isReply(error) ? new ServerError(error.message)
        : new Disconnected(error.message || String(error.code), { cause: error });
    }
  };
}

// ---- clients ----

/**
 * Sends commands over one connection, which it opens again whenever it breaks.
 */
class Client {
  #open;
  #session = null;
  #opening = null;
  #closing = new AbortController();
  #openedAt = 0; // when the last session was opened
  #attempts = 0; // to open one, since a session has lasted
  #timeout;
  #report;
  #failure;

  /**
   * @param {object} [options]
   * @param {string | object} [options.redis] a URL, or a client of ioredis or node-redis
   * @param {string} [options.name] the producer's name
   * @param {number} [options.timeout] seconds that a call waits for a connection
   * @param {() => Promise<Link>} [options.open] opens a session instead of a connection
   * @param {(error: Error) => void} [options.report] is told of failed attempts to connect
   */
  constructor({
    redis = DEFAULT_URL, name = hostname(), timeout = 10, open = opener(redis), report = () => {},
  } = {}) {
    this.name = name;
    this.#timeout = timeout;
    this.#open = open;
    this.#report = report;
  }

  /**
   * Returns the session, and waits until there is one. Fails if the server refuses the first one.
   * @param {number} [deadline] the time in milliseconds when it gives up
   * @returns {Promise<Link>}
   */
  async session(deadline = Date.now() + this.#timeout * 1000) {
    this.#closing.signal.throwIfAborted();
    if (this.#session?.isOpen) {
      return this.#session;
    }
    this.#opening ??= this.#connect().finally(() => { this.#opening = null; });
    return deadline === Infinity ? this.#opening : this.#inTime(this.#opening, deadline);
  }

  async #inTime(opening, deadline) {
    const timer = new AbortController();
    opening.catch(() => {}); // if it fails after the deadline
    const wait = Math.max(0, deadline - Date.now());
    const late = sleep(wait, undefined, { signal: timer.signal }).then(() => {
      throw new Disconnected(`no connection in ${this.#timeout} seconds`, { cause: this.#failure });
    });
    late.catch(() => {}); // if it is not needed any more
    return Promise.race([opening, late]).finally(() => timer.abort());
  }

  async #connect() {
    if (Date.now() - this.#openedAt >= BACKOFF_MAX_MS) {
      this.#attempts = 0;
    }
    for (;;) {
      if (this.#attempts > 0) {
        await this.pause(this.#attempts - 1);
      }
      this.#attempts += 1;
      try {
        const session = await this.#open();
        if (this.#closing.signal.aborted) {
          session.close();
        }
        this.#closing.signal.throwIfAborted();
        this.#openedAt = Date.now();
        this.#session = session;
        return session;
      } catch (error) {
        this.#closing.signal.throwIfAborted();
        const isRefusal = error instanceof ServerError && !isTemporary(error);
        if (isRefusal && this.#openedAt === 0) {
          throw error;
        }
        this.#failure = error;
        this.#report(error);
      }
    }
  }

  /** Waits before the next attempt. Fails when the client is closed. */
  async pause(attempt) {
    const { signal } = this.#closing;
    await sleep(backoff(attempt), undefined, { signal }).catch(() => {});
    signal.throwIfAborted();
  }

  /**
   * Sends a command once.
   * @param {(string | number)[]} words
   */
  async call(words) {
    return (await this.session()).call(words);
  }

  /**
   * Sends a command until the server has answered it: again after a broken connection, and while
   * the server cannot do it. The command must be one that may be run twice.
   * @param {(string | number)[]} words
   * @returns {Promise<{reply?: unknown, error?: ServerError, isRepeated: boolean}>}
   *   `isRepeated` if an earlier attempt may have been run, too
   */
  async settle(words) {
    let isRepeated = false;
    for (let attempt = 0; ; attempt++) {
      const session = await this.session();
      try {
        return { reply: await session.call(words), isRepeated };
      } catch (error) {
        if (error instanceof Disconnected) {
          isRepeated = true;
        } else if (isTemporary(error)) {
          this.#report(error);
          await this.pause(attempt);
        } else {
          return { error, isRepeated };
        }
      }
    }
  }

  /**
   * Puts a job, and returns its jid. If the connection breaks, it sends the command again. Before
   * that, it looks whether the job is there, unless the caller chose the jid.
   * @param {string} queue
   * @param {string} klass
   * @param {unknown} data anything that JSON can express
   * @param {{jid?: string, delay?: number, priority?: number, retries?: number, tags?: string[],
   *          depends?: string[], limits?: string[]}} [options] `delay` is in seconds
   * @returns {Promise<string>}
   */
  async put(queue, klass, data = {}, { jid: chosen, delay = 0, ...options } = {}) {
    const jid = chosen ?? newJid();
    const words = ['PUT', this.name, queue, jid, klass, JSON.stringify(data), delay];
    for (const [name, value] of Object.entries(options)) {
      if (value !== undefined) {
        words.push(name, Array.isArray(value) ? JSON.stringify(value) : value);
      }
    }
    const deadline = Date.now() + this.#timeout * 1000;
    for (let attempt = 0; ; attempt++) {
      const session = await this.session(deadline);
      try {
        if (attempt > 0 && chosen === undefined && await session.call(['GET', jid]) !== null) {
          return jid;
        }
        return /** @type {string} */ (await session.call(words));
      } catch (error) {
        if (!(error instanceof Disconnected)) {
          if (!isTemporary(error) || Date.now() >= deadline) {
            throw error;
          }
          await this.pause(attempt);
        }
      }
    }
  }

  /** Closes the connection. Calls that wait for a reply fail. */
  close() {
    this.#closing.abort(new Disconnected('the client is closed'));
    this.#session?.close();
  }
}

function newJid() {
  return randomUUID().replaceAll('-', '');
}

// ---- jobs ----

/** What a failure group is named after: the name of the error, or else of its class. */
function groupOf(error) {
  const own = error?.name !== 'Error' ? error?.name : error.constructor?.name;
  return shorten(String(own || 'Error'), GROUP_BYTES);
}

/** The stack of an error and of its causes. */
function messageOf(error) {
  const lines = [];
  for (let e = error; e !== undefined && e !== null && lines.length < 8; e = e.cause) {
    lines.push(`${lines.length ? 'caused by: ' : ''}${e.stack ?? e}`);
  }
  return shorten(lines.join('\n') || String(error), MESSAGE_BYTES);
}

/** Cuts a text to some bytes of UTF-8, and never within a character. */
function shorten(text, bytes) {
  const encoded = Buffer.from(text);
  return encoded.length <= bytes ? encoded.toString()
    : encoded.subarray(0, bytes).toString().replace(/\uFFFD+$/, '');
}

/** Data for the server: JSON, or the bytes of a raw job. */
function dataText(value) {
  return value instanceof Uint8Array ? Buffer.from(value) : JSON.stringify(value);
}

/** A text or bytes as they are, and any other value as JSON. */
function textOf(value) {
  return typeof value === 'string' ? value : dataText(value);
}

/**
 * A job that a worker runs. Its handler ends it with `complete()`, `retry()` or `fail()`, or leaves
 * that to the worker. It ends once; the methods fail with JobLost if the job is lost.
 */
class Job {
  #backend;
  #data;
  #controller = new AbortController();
  #ended = null;
  #progress = -Infinity; // of the last entry in the history

  /**
   * @param {object} fields the job's JSON
   * @param {ServerBackend | TestBackend} backend
   */
  constructor(fields, backend) {
    this.#backend = backend;
    /** @type {string} */
    this.jid = fields.jid;
    /** @type {string} */
    this.klass = fields.klass;
    /** @type {string} */
    this.queue = fields.queue;
    /** The number of this hand-out. @type {number} */
    this.lock = fields.lock;
    /** @type {number} */
    this.priority = fields.priority;
    /** @type {string[]} */
    this.tags = fields.tags;
    /** The fields that the application gave the job. @type {Record<string, string>} */
    this.meta = { ...fields.meta };
    /** How many attempts are left after this one. @type {number} */
    this.remaining = fields.remaining;
    /** 1 in the first attempt. @type {number} */
    this.attempt = fields.retries - fields.remaining + 1;
    /** Everything that the server says of the job. */
    this.fields = fields;
  }

  /**
   * The job's data: a value, or a Buffer for a raw job. Changes are not sent: pass them to
   * `complete()`.
   */
  get data() {
    if (this.#data === undefined) {
      const value = JSON.parse(this.fields.data);
      this.#data = this.fields.raw ? Buffer.from(value.base64, 'base64') : value;
    }
    return this.#data;
  }

  /** Aborts when the job is lost; its reason is a JobLost. @type {AbortSignal} */
  get signal() {
    return this.#controller.signal;
  }

  /**
   * Tells the server that the work begins, in this process on this machine. In a queue with a start
   * timeout, a job that is not started in time goes to another worker. Fails with JobLost if the
   * lock is lost.
   */
  async start() {
    this.#refuseIfOver();
    await this.#backend.start(this);
  }

  /**
   * Reports how far the job is. Fails with JobLost if the lock is lost.
   * @param {number} percent from 0 to 100
   * @param {string} [note]
   */
  async progress(percent, note) {
    this.#refuseIfOver();
    await this.#backend.progress(this, percent, note);
  }

  /**
   * Gives the job fields of the application. Values that are no texts become JSON. Fails with
   * JobLost if the lock is lost.
   * @param {Record<string, unknown>} fields
   */
  async setMeta(fields) {
    const texts = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, textOf(value)]));
    this.#refuseIfOver();
    await this.#backend.renew(this); // JOB.META has no LOCK
    await this.#backend.meta(this, 'SET', ...Object.entries(texts).flat());
    Object.assign(this.meta, texts);
  }

  /**
   * Removes fields of the application. Fails with JobLost if the lock is lost.
   * @param {...string} names
   */
  async deleteMeta(...names) {
    this.#refuseIfOver();
    await this.#backend.renew(this); // JOB.META has no LOCK
    await this.#backend.meta(this, 'DEL', ...names);
    names.forEach((name) => delete this.meta[name]);
  }

  /**
   * Adds an entry to the job's history. Fails with JobLost if the lock is lost.
   * @param {string} message
   * @param {object} [data]
   */
  async log(message, data) {
    this.#refuseIfOver();
    await this.#backend.renew(this); // LOG has no LOCK
    await this.#backend.log(this, message, data);
  }

  /**
   * Completes the job, or moves it to the queue `next`. Stores new data if given; a raw job takes a
   * Buffer. The server keeps the result with the job: a text or a Buffer, or any value as JSON.
   * @param {{data?: unknown, result?: unknown, next?: string, delay?: number, depends?: string[],
   *          limits?: string[]}} [options]
   */
  complete({ data, result, ...options } = {}) {
    return this.#end({
      kind: 'complete', ...options,
      ...(data !== undefined && { text: dataText(data) }),
      ...(result !== undefined && { result: textOf(result) }),
    });
  }

  /**
   * Returns the job to its queue. If it has no attempts left, it fails instead.
   * @param {number} [delay] seconds; otherwise the backoff of the job decides
   * @param {{group?: string, message?: string}} [failure] how it fails then
   */
  retry(delay, failure = {}) {
    return this.#end({ kind: 'retry', delay, ...failure });
  }

  /**
   * Fails the job: a person must look first.
   * @param {string} group
   * @param {string} message
   * @param {string} [error] a long text that the server keeps with the message
   */
  fail(group, message, error) {
    return this.#end({ kind: 'fail', group, message, ...(error !== undefined && { error }) });
  }

  #refuseIfOver() {
    this.signal.throwIfAborted();
    if (this.#ended !== null) {
      throw new Error(`job ${this.jid} has ended`);
    }
  }

  #end(ending) {
    const ended = this.#report(ending);
    ended.catch(() => {}); // a handler may leave it to the worker to wait
    return ended;
  }

  async #report(ending) {
    this.#refuseIfOver();
    this.#ended = this.#backend.end(this, ending);
    try {
      return await this.#ended;
    } catch (error) {
      if (!this.signal.aborted) {
        this.#ended = null; // refused, so the job may end in another way
      }
      throw error;
    }
  }

  /**
   * The outcome of the end that has begun: `completed`, `retried` or `failed`. Null if none has.
   * @type {Promise<string> | null}
   */
  get ended() {
    return this.#ended;
  }

  /**
   * For the worker: aborts the signal.
   * @param {string} event
   * @param {ServerError} [cause]
   */
  lose(event, cause) {
    this.#controller.abort(new JobLost(this.jid, event, cause));
  }
}

/** What workers ask the server to do with their jobs. */
class ServerBackend {
  #client;
  #name;

  constructor(client, name) {
    this.#client = client;
    this.#name = name;
  }

  /**
   * @param {Job} job
   * @returns {Promise<'completed' | 'retried' | 'failed'>}
   */
  async end(job, ending) {
    const { reply, error, isRepeated } = await this.#client.settle(this.#wordsOf(job, ending));
    if (error === undefined) {
      return ending.kind === 'complete' ? 'completed'
        : ending.kind === 'retry' && reply >= 0 ? 'retried' : 'failed';
    }
    if (!LOST.has(error.code)) {
      throw error;
    }
    const outcome = isRepeated ? await this.#outcomeOf(job, ending) : null;
    if (outcome === null) {
      job.lose('lock_lost', error);
      throw job.signal.reason;
    }
    return outcome;
  }

  #wordsOf(job, ending) {
    const lock = ['LOCK', job.lock];
    if (ending.kind === 'retry') {
      const { delay, group, message = '' } = ending;
      return ['RETRY', job.jid, job.queue, this.#name, delay ?? 'backoff',
        ...(group === undefined ? [] : [group, message]), ...lock];
    }
    if (ending.kind === 'fail') {
      const { group, message, error } = ending;
      return ['FAIL', job.jid, this.#name, group, message,
        ...(error === undefined ? [] : ['error', error]), ...lock];
    }
    const words = ['COMPLETE', job.jid, this.#name, job.queue,
      ...(ending.text === undefined ? [] : [ending.text])];
    for (const name of ['result', 'next', 'delay', 'depends', 'limits']) {
      const value = ending[name];
      if (value !== undefined) {
        words.push(name, Array.isArray(value) ? JSON.stringify(value) : value);
      }
    }
    return [...words, ...lock];
  }

  /** The outcome of an end that was sent twice. The history shows whether the first one arrived. */
  async #outcomeOf(job, ending) {
    const { reply } = await this.#client.settle(['GET', job.jid]);
    if (typeof reply !== 'string') {
      return null;
    }
    const { history, state } = JSON.parse(reply);
    const last = history.findLastIndex(({ what }) => what === 'popped');
    const after = new Set(history.slice(last + 1).map(({ what }) => what));
    if (history[last]?.worker !== this.#name) {
      return null;
    }
    if (ending.kind === 'retry') {
      return state === 'failed' ? 'failed' : 'retried';
    }
    return ending.kind === 'complete' && after.has('done') ? 'completed'
      : ending.kind === 'fail' && after.has('failed') ? 'failed' : null;
  }

  /** Renews the lock, and fails with JobLost if it is lost. */
  async renew(job) {
    const { error } = await this.#client.settle(this.#heartbeat(job));
    if (error !== undefined) {
      this.#lose(job, 'lock_lost', error);
    }
  }

  /** Sends one heartbeat, to find out whether the job is lost. */
  async verify(job, event, link = this.#client) {
    try {
      await link.call(this.#heartbeat(job));
    } catch (error) {
      this.#lose(job, event, error);
    }
  }

  #heartbeat(job) {
    return ['HEARTBEAT', job.jid, this.#name, 'LOCK', job.lock];
  }

  #lose(job, event, error) {
    if (LOST.has(error.code) && job.ended === null) {
      job.lose(event, error);
      throw job.signal.reason;
    }
    throw error;
  }

  /** Sends a command of the worker, and fails with JobLost if the job is lost. */
  async #report(job, words) {
    const { error } = await this.#client.settle([...words, 'LOCK', job.lock]);
    if (error !== undefined) {
      this.#lose(job, 'lock_lost', error);
    }
  }

  start(job) {
    return this.#report(job,
      ['JOB.START', job.jid, this.#name, 'PID', process.pid, 'NODE', hostname()]);
  }

  progress(job, percent, note) {
    return this.#report(job, ['JOB.PROGRESS', job.jid, this.#name, percent,
      ...(note === undefined ? [] : [note])]);
  }

  async #tell(words) {
    const { error } = await this.#client.settle(words);
    if (error !== undefined) {
      throw error;
    }
  }

  meta(job, ...words) {
    return this.#tell(['JOB.META', job.jid, ...words]);
  }

  log(job, message, data) {
    const entry = data === undefined ? [] : [JSON.stringify(data)];
    return this.#tell(['LOG', job.jid, message, ...entry]);
  }
}

/** Jobs in memory, for the tests of handlers. It knows no time: delays are over at once. */
class TestBackend {
  /** @type {object[]} */
  jobs = [];

  put(queue, klass, data, options) {
    const { jid = newJid(), priority = 0, retries = 5, tags = [], depends = [] } = options;
    this.jobs = this.jobs.filter((job) => job.jid !== jid);
    this.jobs.push({
      jid, klass, queue, priority, retries, remaining: retries, tags, depends,
      data: JSON.stringify(data), state: 'waiting', lock: 0, failure: {}, history: [],
    });
    return jid;
  }

  /** The next job of the queues, and of the class if there is one, or undefined. */
  pop(queues, wanted) {
    const isDone = (jid) => this.jobs.every((job) => job.jid !== jid || job.state === 'complete');
    const ready = this.jobs.filter(({ state, queue, klass, depends }) =>
      state === 'waiting' && queues.includes(queue) && (wanted ?? klass) === klass &&
      depends.every(isDone));
    ready.sort((a, b) =>
      queues.indexOf(a.queue) - queues.indexOf(b.queue) || b.priority - a.priority);
    if (ready.length > 0) {
      ready[0].state = 'running';
      ready[0].lock += 1;
    }
    return ready[0];
  }

  async end(job, { kind, ...ending }) {
    const { fields } = job;
    if (kind === 'retry' && fields.remaining > 0) {
      fields.remaining -= 1;
      fields.state = 'waiting';
      return 'retried';
    }
    if (kind === 'complete') {
      fields.data = ending.text ?? fields.data;
      Object.assign(fields, ending.result !== undefined && { result: ending.result });
      Object.assign(fields, ending.next === undefined ? { state: 'complete' }
        : { state: 'waiting', queue: ending.next, depends: ending.depends ?? [] });
      return 'completed';
    }
    const { group = `failed-retries-${job.queue}`, message = '', error } = ending;
    Object.assign(fields, { state: 'failed', failure: { group, message } });
    Object.assign(fields, error !== undefined && { error });
    return 'failed';
  }

  async renew() {} // no lock is ever lost

  async start(job) {
    Object.assign(job.fields, { started: 0, pid: process.pid, node: hostname() });
  }

  async progress(job, percent, note) {
    Object.assign(job.fields, { progress: percent, ...(note !== undefined && { note }) });
  }

  async meta(job, verb, ...words) {
    const meta = job.fields.meta ??= {};
    words.forEach((word, i) => {
      if (verb === 'DEL') {
        delete meta[word];
      } else if (i % 2 === 0) {
        meta[word] = words[i + 1];
      }
    });
  }

  async log(job, message, data) {
    job.fields.history.push({ ...data, what: message });
  }
}

// ---- workers ----

/** Names a hand-out of a job. */
function handOut({ jid, lock }) {
  return `${lock} ${jid}`;
}

/** Names of events. A handler of a class with such a name is given to the constructor. */
const EVENTS = ['ready', 'disconnected', 'started', 'completed', 'retried', 'failed', 'lost',
  'error', 'stopped'];

/**
 * Waits for jobs of some queues, and runs their handlers.
 *
 * `events` emits
 *
 * - `ready` when the worker has a session;
 * - `disconnected` with an error when the session broke;
 * - `started` and `completed` with the job;
 * - `retried` and `failed` with the job, and what the handler threw, if it did;
 * - `lost` with the job and a JobLost, when the handler has ended;
 * - `error` with an error that no job has, such as a refused connection. If there is no listener,
 *   the worker prints it on standard error;
 * - `stopped` at the end.
 */
class Worker {
  #queues;
  #order;
  #klass;
  #concurrency;
  #stopTimeout;
  #reportStart;
  #grace;
  #exclusive;
  #handlers = new Map();
  #client = null;
  #backend;
  #waiter = null; // the connection of BPOP, and its id
  #isPopping = false;
  #mayUnblock = true;
  #auditAt = 0; // when connections that broke can get no more jobs
  #hasAttached = false;
  #hasRun = false;
  #isQuiet = false;
  #isHurried = false;
  #isClosed = false;
  #stopping = null;
  #refusal = null;
  #checks = new Set();
  #running = new Map(); // the jobs that have a handler, by hand-out
  #backlog = []; // jobs that this worker has, but no slot for them

  /**
   * @param {object} options
   * @param {string | object} [options.redis] a URL, or a client of ioredis or node-redis, whose
   *   options the worker uses for connections of its own
   * @param {string[]} options.queues
   * @param {'ordered' | 'roundrobin'} [options.order] in which order jobs are taken from the queues
   * @param {string} [options.klass] the class of the jobs that the worker takes; it leaves the
   *   others to other workers
   * @param {number} [options.concurrency] how many jobs run at once
   * @param {Record<string, (job: Job) => unknown>} [options.handlers] handlers by class
   * @param {string} [options.name] a name that no other worker has
   * @param {number} [options.grace] seconds within which a worker that lost its connection must be
   *   back to keep its jobs
   * @param {string} [options.exclusive] a queue that only one worker of this machine may serve;
   *   others with this option wait
   * @param {number} [options.stopTimeout] seconds that running jobs have to finish
   * @param {boolean} [options.reportStart] whether `job.start()` is called before each handler, as
   *   queues with a start timeout need it; it costs a request for each job
   * @param {boolean} [options.test] jobs are in memory, and there is no server; see `drain()`
   */
  constructor({
    redis = DEFAULT_URL, queues, order = 'ordered', klass, concurrency = 1, handlers = {},
    name = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`, grace = 5, exclusive,
    stopTimeout = 25, reportStart = false, test = false,
  } = {}) {
    if (!Array.isArray(queues) || queues.length === 0) {
      throw new TypeError('`queues` is an array of names, and not empty');
    }
    if (klass !== undefined && (typeof klass !== 'string' || klass === '')) {
      throw new TypeError('`klass` is the name of a class, and not empty');
    }
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new TypeError('`concurrency` is a whole number above 0');
    }
    this.name = name;
    this.events = new EventEmitter();
    this.#queues = queues;
    this.#order = order;
    this.#klass = klass;
    this.#concurrency = concurrency;
    this.#grace = grace;
    this.#exclusive = exclusive;
    this.#stopTimeout = stopTimeout;
    this.#reportStart = reportStart;
    for (const [klass, handler] of Object.entries(handlers)) {
      this.#handlers.set(klass, { handler, retryOn: [] });
    }
    if (test) {
      this.#backend = new TestBackend();
      return;
    }
    const open = opener(redis);
    this.#client = new Client({
      name,
      timeout: Infinity,
      open: () => this.#openSession(open),
      report: (error) => this.#emit('error', error),
    });
    this.#backend = new ServerBackend(this.#client, name);
  }

  /**
   * Sets the handler of a class. The class `*` stands for all classes without a handler.
   * @param {string} klass
   * @param {(job: Job) => unknown} handler
   * @param {object} [options]
   * @param {Function[]} [options.retryOn] classes of errors that return the job to its queue
   *   instead, until it has no attempts left
   * @param {number | ((attempt: number) => number)} [options.delay] seconds until then; otherwise
   *   the backoff of the job decides
   * @returns {this}
   */
  on(klass, handler, { retryOn = [], delay } = {}) {
    if (EVENTS.includes(klass)) {
      throw new TypeError(`"${klass}" is an event: use worker.events.on("${klass}", ...). ` +
        'The handler of a class with this name is given to the constructor, in `handlers`');
    }
    if (typeof handler !== 'function') {
      throw new TypeError(`the handler of "${klass}" is a function`);
    }
    this.#handlers.set(klass, { handler, retryOn, delay });
    return this;
  }

  /** Puts a job, like `Client.put()`. It waits while there is no server. */
  async put(queue, klass, data = {}, options = {}) {
    return (this.#client ?? this.#backend).put(queue, klass, data, options);
  }

  /**
   * Works until the worker is stopped. Fails if the server refuses the worker.
   *
   * SIGTERM and SIGINT stop it; the second one does not wait for running jobs. SIGTSTP calls
   * `quiet()`, and SIGCONT `resume()`.
   * @param {{signals?: boolean}} [options]
   */
  async run({ signals = true } = {}) {
    if (this.#client === null) {
      throw new Error('a worker in test mode has no server; call drain()');
    }
    if (this.#hasRun) {
      throw new Error('a worker runs once; make a new one');
    }
    this.#hasRun = true;
    let isSignaled = false;
    const stop = () => {
      this.stop(isSignaled ? { timeout: 0 } : {});
      isSignaled = true;
    };
    const listeners = signals ? Object.entries({
      SIGTERM: stop, SIGINT: stop, SIGTSTP: () => this.quiet(), SIGCONT: () => this.resume(),
    }) : [];
    listeners.forEach(([signal, listener]) => process.on(signal, listener));
    this.#work().catch((error) => this.#refuse(error));
    await this.#until(() => this.#stopping !== null);
    await this.#stopping;
    listeners.forEach(([signal, listener]) => process.off(signal, listener));
    if (isSignaled && this.#running.size > 0) {
      // Handlers that ignore their signals may run for hours.
      process.exitCode = 1;
      setTimeout(() => process.exit(), EXIT_MS).unref();
    }
    if (this.#refusal !== null) {
      throw this.#refusal;
    }
  }

  /** Takes no more jobs. The running ones go on. */
  quiet() {
    this.#isQuiet = true;
    this.#endWait();
  }

  /** Takes jobs again after `quiet()`. */
  resume() {
    this.#isQuiet = this.#stopping !== null;
    this.#changed();
  }

  /**
   * Takes no more jobs, and waits until the running ones end. After `timeout` seconds, it returns
   * them to their queues and aborts their signals.
   * @param {{timeout?: number}} [options]
   */
  stop({ timeout = this.#stopTimeout } = {}) {
    const hurry = () => {
      this.#isHurried = true;
      this.#changed();
    };
    const timer = setTimeout(hurry, timeout * 1000);
    this.#stopping ??= this.#shutDown();
    this.quiet();
    this.#changed();
    return this.#stopping.finally(() => clearTimeout(timer));
  }

  /**
   * In test mode: runs all jobs that were put, one after the other, and those that handlers put.
   * @returns {Promise<object[]>} the jobs that were run, in that order, with `outcome` and `error`
   */
  async drain() {
    if (this.#client !== null) {
      throw new Error('only a worker in test mode is drained');
    }
    const runs = [];
    for (let fields; (fields = this.#backend.pop(this.#queues, this.#klass)) !== undefined;) {
      const run = await this.#runJob(new Job(fields, this.#backend));
      runs.push({ ...structuredClone(fields), ...run, data: JSON.parse(fields.data) });
    }
    return runs;
  }

  /** In test mode: puts a job into the first queue, drains, and returns the job's last run. */
  async perform(klass, data, options) {
    const jid = await this.put(this.#queues[0], klass, data, options);
    return (await this.drain()).findLast((run) => run.jid === jid);
  }

  // ---- the session ----

  /** @param {() => Promise<Link>} open */
  async #openSession(open) {
    const control = await open();
    const links = [control];
    try {
      await this.#attach(control);
      if (!control.sharesMessages) {
        links.push(await open());
      }
      await links.at(-1).subscribe(`ql:w:${this.name}`, (text) => this.#hear(JSON.parse(text)));
      await this.#audit(control);
      const waiter = await open();
      links.push(waiter);
      this.#waiter = { link: waiter, id: await waiter.call(['CLIENT', 'ID']) };
      if (!links.every((link) => link.isOpen)) {
        throw new Disconnected('the connection broke');
      }
    } catch (error) {
      links.forEach((link) => link.close());
      throw error;
    }
    let isOver = false;
    const end = (cause) => {
      if (!isOver) {
        isOver = true;
        links.forEach((link) => link.close(cause));
        this.#lostSession(cause);
      }
    };
    links.forEach((link) => link.closed.then(end));
    const pings = setInterval(() => control.call(['PING']).catch(() => {}), PING_MS);
    control.closed.then(() => clearInterval(pings));
    this.#emit('ready');
    return control;
  }

  #lostSession(cause) {
    this.#auditAt = Date.now() + WAIT_S * 1000;
    if (!this.#isClosed) {
      this.#emit('disconnected', cause);
      // The worker keeps its jobs only if it is soon back.
      this.#client.session().catch((error) => this.#refuse(error));
    }
  }

  async #attach(control) {
    const exclusive = this.#exclusive === undefined ? [] : ['EXCLUSIVE', this.#exclusive];
    await control.call(['WORKER.ATTACH', this.name, 'GRACE', this.#grace, 'NODE', hostname(),
      'PID', process.pid, ...exclusive]);
    if (!this.#hasAttached) {
      // A process that had this name before has died, and left its jobs. One of them may have killed
      // it, so this counts as an attempt.
      await control.call(['WORKER.RELEASE', this.name, 'RETRY']);
      this.#hasAttached = true;
    }
  }

  /** Compares the jobs that run with those that the server holds for this worker. */
  async #audit(link) {
    const known = new Map(this.#running);
    const running = [...known.values()].filter((job) => job.ended === null && !job.signal.aborted);
    await Promise.all(running.map((job) => this.#verify(job, 'lock_lost', link)));
    // A reply of BPOP that did not arrive has jobs that nobody runs.
    const { jobs, stalled } = JSON.parse(await link.call(['WORKERS', this.name]));
    const jids = [...jobs, ...stalled];
    for (let i = 0; i < jids.length; i += BATCH) {
      const found = JSON.parse(await link.call(['MULTIGET', ...jids.slice(i, i + BATCH)]));
      this.#accept(found.filter((job) =>
        job.state === 'running' && job.worker === this.name && !known.has(handOut(job))));
    }
  }

  /** Finds out whether a job is lost. */
  async #verify(job, event, link = this.#client) {
    try {
      await this.#backend.verify(job, event, link);
    } catch (error) {
      if (!(error instanceof JobLost)) {
        throw error;
      }
    }
  }

  /** An event of a job that this worker has or had. It is a hint: the server knows. */
  #hear({ jid, event }) {
    for (const job of this.#running.values()) {
      if (job.jid === jid && job.ended === null && !job.signal.aborted) {
        this.#verify(job, event).catch(() => {}); // the audit of the next session repeats it
      }
    }
  }

  /** Ends the BPOP that waits, or may not have begun to wait yet. */
  async #endWait() {
    while (this.#isPopping && this.#isQuiet) {
      try {
        await this.#client.call(['CLIENT', 'UNBLOCK', this.#waiter.id]);
      } catch (error) {
        if (error instanceof ServerError) { // this user may not, so quiet() takes up to WAIT_S
          this.#mayUnblock = false;
          this.#changed();
          return;
        }
      }
      await sleep(UNBLOCK_MS);
    }
  }

  // ---- work ----

  async #work() {
    await this.#client.session();
    for (let failures = 0; ;) {
      await this.#until(() => this.#stopping !== null || (!this.#isQuiet && this.#free > 0));
      if (this.#stopping !== null) {
        return;
      }
      try {
        this.#accept(await this.#pop());
        failures = 0;
      } catch (error) {
        if (isTemporary(error)) {
          this.#emit('error', error);
          await this.#client.pause(failures++);
        } else if (!(error instanceof Disconnected) && error.code !== 'UNBLOCKED') {
          throw error;
        }
      }
    }
  }

  get #free() {
    return this.#concurrency - this.#running.size - this.#backlog.length;
  }

  async #pop() {
    const session = await this.#client.session();
    if (this.#auditAt !== 0 && Date.now() >= this.#auditAt) {
      this.#auditAt = 0;
      await this.#audit(session);
    }
    if (this.#isQuiet || this.#free <= 0) {
      return [];
    }
    this.#isPopping = true;
    try {
      const klass = this.#klass === undefined ? [] : ['CLASS', this.#klass];
      const reply = await this.#waiter.link.call(['BPOP', WAIT_S, this.name, this.#queues.length,
        ...this.#queues, 'COUNT', this.#free, 'ORDER', this.#order, ...klass], WAIT_S * 1000);
      return reply === null ? [] : JSON.parse(reply);
    } finally {
      this.#isPopping = false;
      this.#changed();
    }
  }

  #accept(jobs) {
    const known = new Set([...this.#running.keys(), ...this.#backlog.map(handOut)]);
    this.#backlog.push(...jobs.filter((job) => !known.has(handOut(job))));
    this.#fill();
  }

  /** Begins jobs. A worker that stops begins none: it returns them. */
  #fill() {
    while (this.#stopping === null && this.#backlog.length > 0 &&
        this.#running.size < this.#concurrency) {
      const job = new Job(this.#backlog.shift(), this.#backend);
      this.#running.set(handOut(job), job);
      this.#runJob(job).catch((error) => this.#refuse(error)).finally(() => {
        this.#running.delete(handOut(job));
        this.#fill();
        this.#changed();
      });
    }
  }

  /** Fails if the server refuses to be told how the job ended. */
  async #runJob(job) {
    const rules = this.#handlers.get(job.klass) ?? this.#handlers.get('*');
    let error;
    this.#emit('started', job);
    try {
      if (rules === undefined) {
        await job.fail('no-handler', `worker ${this.name} has no handler of class ${job.klass}`);
      } else {
        if (this.#reportStart) {
          await job.start();
        }
        await rules.handler(job);
      }
    } catch (thrown) {
      error = thrown ?? new Error('the handler threw nothing');
    }
    const outcome = await this.#finish(job, error, rules);
    if (outcome === 'lost') {
      this.#emit('lost', job, job.signal.reason);
    } else {
      this.#emit(outcome, job, ...(outcome === 'completed' ? [] : [error]));
    }
    return { outcome, error };
  }

  /** Ends a job whose handler has ended, unless the handler did. */
  async #finish(job, error, rules) {
    let thrown = error;
    try {
      if (job.ended !== null) {
        return await job.ended;
      }
      if (thrown === undefined && !job.signal.aborted) {
        return await job.complete();
      }
    } catch (refusal) {
      thrown ??= refusal;
    }
    if (!job.signal.aborted && rules?.retryOn.some((kind) => thrown instanceof kind)) {
      try {
        const delay = typeof rules.delay === 'function' ? rules.delay(job.attempt) : rules.delay;
        return await job.retry(delay, { group: groupOf(thrown), message: messageOf(thrown) });
      } catch (refusal) {
        thrown = refusal;
      }
    }
    if (!job.signal.aborted) {
      try {
        return await job.fail(groupOf(thrown), messageOf(thrown));
      } catch (refusal) {
        thrown = refusal;
      }
    }
    if (!job.signal.aborted) {
      throw thrown;
    }
    return 'lost';
  }

  // ---- the end ----

  async #shutDown() {
    await this.#until(() => this.#isHurried ||
      (this.#running.size === 0 && !(this.#isPopping && this.#mayUnblock)));
    const left = [...this.#running.values()];
    left.forEach((job) => job.lose('released'));
    this.#isHurried = true;
    this.#isClosed = true;
    if (this.#hasAttached) {
      const late = setTimeout(() => this.#client.close(), EXIT_MS);
      await this.#detach().catch((error) => {
        if (error instanceof ServerError) {
          this.#emit('error', error);
        }
      });
      clearTimeout(late);
    }
    this.#client?.close();
    this.#emit('stopped');
  }

  async #detach() {
    const session = await this.#client.session();
    await session.call(['WORKER.RELEASE', this.name]);
    await session.call(['WORKER.DETACH', this.name]);
  }

  /** The server refused what a worker cannot do without. */
  #refuse(error) {
    if (!this.#isClosed) {
      this.#refusal ??= error;
      this.stop();
    }
  }

  // ---- helpers ----

  #emit(event, ...values) {
    if (event === 'error' && this.events.listenerCount('error') === 0) {
      console.error(`worker ${this.name}: ${values[0].message}`);
      return;
    }
    this.events.emit(event, ...values);
  }

  #changed() {
    this.#checks.forEach((check) => check());
  }

  /** Waits until a condition holds. Whatever may change it calls `#changed()`. */
  #until(condition) {
    return new Promise((done) => {
      const check = () => {
        if (condition()) {
          this.#checks.delete(check);
          done();
        }
      };
      this.#checks.add(check);
      check();
    });
  }
}

module.exports = { Worker, Client, Job, JobLost, ServerError, Disconnected };
