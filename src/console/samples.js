/*
 * Figures of the server over time: the last samples of /v1/info, for sparklines and numbers in the
 * menu.
 */
import * as calls from './calls.js';
import { setServerTime } from './format.js';
import { readQueueLine } from './info.js';
import { liveState } from './live.js';
import { can } from './session.js';

/* Seconds between samples, and the number that is kept: ten minutes. */
const SAMPLE_SECONDS = 5;
const SAMPLES_MAX = 120;

const series = [];
let last = null;
let timer = 0;

export function latest() {
  return last;
}

/* Returns the values of a figure over time, oldest first. */
export function history(name) {
  return series.map((sample) => sample[name]);
}

function sum(lines, name) {
  return lines.reduce((total, line) => total + (Number(line[name]) || 0), 0);
}

/* Takes an answer of /v1/info as a sample. */
export function take(info) {
  const lines = Object.entries(info.queues ?? {})
    .filter(([name]) => /^queue\d+$/.test(name)).map(([, line]) => readQueueLine(line));
  last = { ...info, lines };
  if (info.server?.server_time_usec) {
    setServerTime(Number(info.server.server_time_usec) / 1e6);
  }
  series.push({
    puts: sum(lines, 'put_rate_1m'),
    pops: sum(lines, 'pop_rate_1m'),
    completes: sum(lines, 'complete_rate_1m'),
    fails: sum(lines, 'fail_rate_1m'),
    oldest: Math.max(0, ...lines.map((line) => Number(line.oldest_wait) || 0)),
    waiting: Number(info.queues?.jobs_waiting ?? 0),
    running: Number(info.queues?.jobs_running ?? 0),
    failed: Number(info.queues?.jobs_failed ?? 0),
    memory: Number(info.memory?.used_memory ?? 0),
    log: Number(info.persistence?.log_bytes ?? info.persistence?.aof_current_size ?? 0),
    clients: Number(info.clients?.connected_clients ?? 0),
    commands: Number(info.stats?.instantaneous_ops_per_sec ?? 0),
  });
  if (series.length > SAMPLES_MAX) {
    series.shift();
  }
  document.dispatchEvent(new Event('samples'));
  return last;
}

async function sample() {
  if (document.hidden || liveState().state === 'paused') {
    return;
  }
  try {
    take(await calls.info());
  } catch {
    /* the sign in the header tells about it */
  }
}

export function startSampling() {
  stopSampling();
  series.length = 0;
  last = null;
  if (can('info')) {
    timer = setInterval(sample, SAMPLE_SECONDS * 1000);
    sample();
  }
}

export function stopSampling() {
  clearInterval(timer);
}
