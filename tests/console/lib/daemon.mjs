// A qlessd with the console, and requests to it. with_ports.py chooses the ports.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { until } from './tap.mjs';

const PORT = process.env.QLESSD_HTTP_PORT;

export const BASE = `http://127.0.0.1:${PORT}`;

// The user of requests below; its password is its name.
export const ADMIN = 'admin';

const USERS = ['--user', 'default', 'off', '--user', 'admin', 'on', '>admin', '+@all', '~*', '&*',
  '--user', 'olga', 'on', '>olga', '+@operator', '--user', 'dora', 'on', '>dora', '+@dashboard'];

export class Daemon {
  constructor({ users = USERS, more = [] } = {}) {
    this.directory = mkdtempSync(path.join(tmpdir(), 'qlessd-console-'));
    this.arguments = ['--port', process.env.QLESSD_PORT, '--bind', '127.0.0.1', '--http-port', PORT,
      '--http-bind', '127.0.0.1', '--dir', this.directory, '--loglevel', 'warning',
      '--auth-failure-delay', '0', '--slowlog-log-slower-than', '0', ...users, ...more];
  }

  async start() {
    this.process = spawn(process.env.QLESSD, this.arguments, { stdio: ['ignore', 'inherit', 'inherit'] });
    await until(() => {
      assert.equal(this.process.exitCode, null, 'qlessd has ended');
      return fetch(`${BASE}/readyz`).then((answer) => answer.ok, () => false);
    }, 'qlessd is ready');
    return this;
  }

  async stop(signal = 'SIGTERM') {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill(signal);
      const [code] = await once(this.process, 'exit');
      assert(signal === 'SIGKILL' || code === 0, `qlessd ended with ${code}`);
    }
  }

  async end() {
    await this.stop();
    rmSync(this.directory, { recursive: true });
  }
}

// A request of a user. Fails unless the status is fine, or `status`.
export async function request(method, target, body, { user = ADMIN, status } = {}) {
  const answer = await fetch(`${BASE}/v1${target}`, {
    method,
    headers: {
      Authorization: `Basic ${btoa(`${user}:${user}`)}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  assert(status === undefined ? answer.ok : answer.status === status,
    `${method} ${target}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

export const get = (target, options) => request('GET', target, undefined, options);
export const post = (target, body = {}, options) => request('POST', target, body, options);

const name = encodeURIComponent;

export function put(queue, jid, data = {}, more = {}) {
  return post(`/queues/${name(queue)}/jobs`, { jid, class: 'Work', data, ...more });
}

export function pop(queue, worker = 'worker-1', count = 1) {
  return post(`/queues/${name(queue)}/pop`, { worker, count });
}

export const job = (jid) => get(`/jobs/${name(jid)}`);

// Puts a job and lets it fail.
export async function fail(queue, jid, group, message = 'it broke', more = {}) {
  await put(queue, jid, {}, { priority: 1000 });
  const jobs = await pop(queue, 'breaker');
  assert.equal(jobs[0].jid, jid);
  await post(`/jobs/${name(jid)}/fail`, { worker: 'breaker', group, message, ...more });
}
