/*
 * The routes of /v1 that the console uses, one function each.
 */
import { del, get, parseJson, patch, post, put, request } from './api.js';
import { segment } from './names.js';

/* Jobs that one request names at most, and bytes of their names in its line. */
const JOBS_PER_REQUEST = 40;
const NAMES_MAX = 5000;

export const readJson = parseJson;

const queue = (q) => `/queues/${segment(q)}`;
const job = (jid) => `/jobs/${segment(jid)}`;

/* ---- sessions ---- */

export const me = () => request('GET', '/me', { quiet: true });
export const login = (user, password) =>
  request('POST', '/login', { body: { user, password }, quiet: true });
export const logout = () => request('POST', '/logout', { body: {}, quiet: true });

/* ---- queues ---- */

export const queues = (signal) => get('/queues', null, signal);
export const queueCounts = (q, signal) => get(queue(q), null, signal);
export const queueCount = (q, query, signal) => get(`${queue(q)}/count`, query, signal);
export const queueJobs = (q, query, signal) => get(`${queue(q)}/jobs`, query, signal);
export const pause = (q) => post(`${queue(q)}/pause`);
export const unpause = (q) => post(`${queue(q)}/unpause`);
export const putJob = (q, body) => post(`${queue(q)}/jobs`, body);
export const stats = (q, day, signal) => get(`/stats/${segment(q)}`, { day }, signal);

/* ---- jobs ---- */

export const getJob = (jid, signal) => get(job(jid), null, signal);
export const why = (jid, signal) => get(`${job(jid)}/why`, null, signal);
export const act = (jid, verb, body) => post(`${job(jid)}/${verb}`, body);
export const deleteJob = (jid) => del(job(jid));
export const cancelJobs = (jids) => post('/jobs/cancel', { jids });
export const deleteJobs = (jids) => post('/jobs/delete', { jids });

/* Returns the jobs that still exist, in the order of their names. */
export async function getJobs(jids, signal) {
  const lines = [];
  let names = [];
  let bytes = 0;
  for (const jid of jids) {
    const name = 'jid=' + segment(jid);
    if (names.length === JOBS_PER_REQUEST || bytes + name.length > NAMES_MAX) {
      lines.push(names.join('&'));
      names = [];
      bytes = 0;
    }
    names.push(name);
    bytes += name.length;
  }
  if (names.length) {
    lines.push(names.join('&'));
  }
  return (await Promise.all(lines.map((line) => get(`/jobs?${line}`, null, signal)))).flat();
}

export const search = (query, signal) => get('/search', query, signal);

/* ---- failures ---- */

export const failures = (signal) => get('/failures', null, signal);
export const failureGroup = (group, start, limit, signal) =>
  get(`/failures/${segment(group)}`, { start, limit }, signal);

/* ---- workers ---- */

export const workers = (signal) => get('/workers', null, signal);
export const worker = (name, signal) => get(`/workers/${segment(name)}`, null, signal);
export const listeners = (signal) => get('/listeners', null, signal);
export const releaseWorker = (name) => post(`/workers/${segment(name)}/release`);

/* ---- recurring jobs ---- */

export const recurring = (query, signal) => get('/recurring', query, signal);
export const recurringJob = (jid, signal) => get(`/recurring/${segment(jid)}`, null, signal);
export const nextTicks = async (jid, count, signal) =>
  (await get(`/recurring/${segment(jid)}/next`, { count }, signal)).times;
export const updateRecurring = (jid, changes) => patch(`/recurring/${segment(jid)}`, changes);
export const deleteRecurring = (jid) => del(`/recurring/${segment(jid)}`);
export const putRecurring = (q, body) => post(`${queue(q)}/recurring`, body);

/* ---- limits ---- */

export const limits = (query, signal) => get('/limits', query, signal);
export const limit = (name, signal) => get(`/limits/${segment(name)}`, null, signal);
export const setLimit = (name, rule) => put(`/limits/${segment(name)}`, rule);
export const deleteLimit = (name) => del(`/limits/${segment(name)}`);
export const holdLimit = (name, seconds) => post(`/limits/${segment(name)}/hold`, { seconds });

/* ---- endpoints ---- */

export const endpoints = (signal) => get('/endpoints', null, signal);
export const pauseEndpoint = (name) => post(`/endpoints/${segment(name)}/pause`);
export const unpauseEndpoint = (name) => post(`/endpoints/${segment(name)}/unpause`);
export const testEndpoint = (name) => post(`/endpoints/${segment(name)}/test`);
export const deleteEndpoint = (name) => del(`/endpoints/${segment(name)}`);

/* ---- tags and tracked jobs ---- */

export const tags = async (offset, count, signal) =>
  (await get('/tags', { offset, count }, signal)).tags;
export const tag = (name, offset, count, signal) =>
  get(`/tags/${segment(name)}`, { offset, count }, signal);
export const tracked = (signal) => get('/tracked', null, signal);

/* ---- the server ---- */

export const info = (section, signal) => get('/info', { section }, signal);
export const config = (signal) => get('/config', null, signal);
export const options = (signal) => get('/options', null, signal);
export const setOption = (name, value) => put(`/options/${segment(name)}`, { value });
export const unsetOption = (name) => del(`/options/${segment(name)}`);
export const slowlog = async (count, signal) => (await get('/slowlog', { count }, signal)).entries;
export const clients = (signal) => get('/clients', null, signal);
export const killClient = (id) => del(`/clients/${id}`);
export const rewriteLog = () => post('/rewrite');
