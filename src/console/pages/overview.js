/*
 * The overview: what needs attention first, then how the server is doing.
 */
import * as calls from '../calls.js';
import { sparkline } from '../chart.js';
import { h } from '../dom.js';
import { bytes, compact, count, duration, now, plural, rate } from '../format.js';
import { display, identity } from '../names.js';
import { history, take } from '../samples.js';
import { can } from '../session.js';
import { dim, empty, panel, path, queueLink, quietNumber, table, withQuery } from '../ui.js';

/* Seconds after which a waiting job needs attention, and the number of rows of short lists. */
const OLD_WAIT_SECONDS = 300;
const ROWS = 8;
/* Part of maxmemory in use that needs attention. */
const MEMORY_PART = 0.85;

const number = (value) => Number(value) || 0;

function diskTroubles(info) {
  const log = info.persistence ?? {};
  const troubles = [];
  if (log.log_state && log.log_state !== 'ok') {
    troubles.push(['bad', `The log is ${log.log_state}`,
      String(log.log_error || 'Changes are refused until the disk works again.'), '#/server']);
  }
  if (log.aof_last_bgrewrite_status && log.aof_last_bgrewrite_status !== 'ok') {
    troubles.push(['warn', 'The last rewrite of the log failed',
      'The log grows until a rewrite succeeds.', '#/server']);
  }
  if (number(log.loading)) {
    troubles.push(['warn', 'The server is loading its log', 'Commands wait until it has finished.',
      '#/server']);
  }
  const memory = info.memory ?? {};
  const part = number(memory.maxmemory) ? number(memory.used_memory) / number(memory.maxmemory) : 0;
  if (part > MEMORY_PART) {
    troubles.push(['bad', `${Math.round(part * 100)}% of maxmemory is in use`,
      'At 100% the server refuses new jobs.', '#/server']);
  }
  return troubles;
}

function queueTroubles(lines) {
  const troubles = [];
  const unserved = lines.filter((q) => number(q.waiting) > 0 && !number(q.paused) &&
    !number(q.running) && !number(q.listeners) && number(q.pop_rate_1m) < 0.005);
  for (const q of unserved.slice(0, ROWS)) {
    troubles.push(['warn', ['Nobody serves ', h('b', null, display(q.name))],
      `${plural(q.waiting, 'job')} waiting, the oldest for ${duration(q.oldest_wait)}`,
      path('queues', q.name)]);
  }
  if (unserved.length > ROWS) {
    troubles.push(['warn', `Nobody serves ${unserved.length - ROWS} more queues`, '', '#/queues']);
  }
  const oldest = lines.filter((q) => !unserved.includes(q) && !number(q.paused))
    .sort((a, b) => b.oldest_wait - a.oldest_wait)[0];
  if (oldest && number(oldest.oldest_wait) > OLD_WAIT_SECONDS) {
    troubles.push(['warn', ['The oldest job waits in ', h('b', null, display(oldest.name))],
      `for ${duration(oldest.oldest_wait)}, with ${count(oldest.waiting)} waiting`,
      path('queues', oldest.name)]);
  }
  for (const q of lines.filter((one) => number(one.stalled) > 0).slice(0, ROWS)) {
    troubles.push(['warn', [plural(q.stalled, 'stalled job'), ' in ', h('b', null, display(q.name))],
      'The locks have expired, and no other worker has taken the jobs.',
      withQuery(path('queues', q.name), { state: 'stalled' })]);
  }
  for (const q of lines.filter((one) => number(one.paused) && number(one.waiting)).slice(0, ROWS)) {
    troubles.push(['info', [h('b', null, display(q.name)), ' is paused'],
      `${plural(q.waiting, 'job')} waiting`, path('queues', q.name)]);
  }
  return troubles;
}

function otherTroubles({ failures, endpoints }) {
  const troubles = Object.entries(failures ?? {}).sort((a, b) => b[1] - a[1]).slice(0, ROWS)
    .map(([group, jobs]) => ['bad', [plural(jobs, 'job'), ' failed in ', h('b', null, group)], '',
      path('failures', group)]);
  for (const e of endpoints ?? []) {
    if (e.state !== 'closed' && !e.paused) {
      troubles.push(['bad', ['The endpoint ', h('b', null, display(e.name)), ' does not answer'],
        display(e['last-error']), '#/endpoints']);
    }
  }
  return troubles;
}

function attention(troubles) {
  const order = { bad: 0, warn: 1, info: 2 };
  troubles.sort((a, b) => order[a[0]] - order[b[0]]);
  return panel('Needs attention', troubles.length === 0
    ? h('p', { class: 'fine' }, 'Nothing. All queues are served, and no job has failed.')
    : h('ul', { class: 'troubles' }, troubles.map(([kind, title, text, href]) =>
      h('li', { class: kind }, h('a', { href }, h('span', { class: 'what' }, title),
        text ? h('span', { class: 'dim' }, text) : null)))));
}

function tile(label, value, series, kind, hint) {
  return h('div', { class: 'tile', title: hint, key: label },
    h('span', { class: 'tile-label' }, label), h('span', { class: 'tile-value' }, value),
    sparkline(history(series), `${label} in the last minutes`, kind));
}

function tiles(info) {
  const stats = history('puts').length ? (name) => history(name).at(-1) : () => 0;
  const q = info.queues ?? {};
  const memory = info.memory ?? {};
  const log = info.persistence ?? {};
  const hint = number(q.queues) > info.lines.length
    ? `Mean of the last minute, over the ${info.lines.length} largest queues`
    : 'Mean of the last minute';
  return h('div', { class: 'tiles' },
    tile('Put / s', rate(stats('puts')), 'puts', '', hint),
    tile('Popped / s', rate(stats('pops')), 'pops', '', hint),
    tile('Completed / s', rate(stats('completes')), 'completes', 'good', hint),
    tile('Failed / s', rate(stats('fails')), 'fails', 'bad', hint),
    tile('Waiting', compact(q.jobs_waiting), 'waiting', '', count(q.jobs_waiting)),
    tile('Oldest wait', stats('oldest') ? duration(stats('oldest')) : '–', 'oldest', '',
      'How long the oldest waiting job of the largest queues waits'),
    tile('Running', compact(q.jobs_running), 'running', 'good', count(q.jobs_running)),
    tile('Failed jobs', compact(q.jobs_failed), 'failed', 'bad', count(q.jobs_failed)),
    tile('Memory', bytes(memory.used_memory), 'memory', '',
      number(memory.maxmemory) ? `of ${bytes(memory.maxmemory)}` : 'maxmemory is not set'),
    tile('Log', bytes(log.log_bytes ?? log.aof_current_size), 'log', '', 'Bytes of log segments'),
    tile('Clients', compact(info.clients?.connected_clients), 'clients', ''),
    tile('Commands / s', compact(info.stats?.instantaneous_ops_per_sec), 'commands', ''));
}

function busiest(lines, total) {
  const rows = lines.slice(0, ROWS);
  if (rows.length === 0) {
    return panel('Queues', empty('There are no queues yet.', 'A queue appears with its first job.'));
  }
  return panel('Largest queues', table([
    { title: 'Queue', cell: (q) => queueLink(q.name) },
    { title: 'Waiting', class: 'num', cell: (q) => quietNumber(q.waiting) },
    { title: 'Running', class: 'num', cell: (q) => quietNumber(q.running) },
    { title: 'Failed', class: 'num', cell: (q) => quietNumber(q.failed, 'bad-text') },
    { title: 'Completed / s', class: 'num', cell: (q) => rate(q.complete_rate_1m) },
    { title: 'Oldest wait', class: 'num', cell: (q) =>
      number(q.oldest_wait) ? duration(q.oldest_wait) : dim('–') },
  ], rows, { key: (q) => identity(q.name), caption: 'Largest queues' }),
  total > rows.length ? h('p', null, h('a', { href: '#/queues' }, `All ${count(total)} queues`)) : null);
}

const orNull = (promise) => promise.catch((error) => {
  if (error.name === 'AbortError' || error.status === 0) {
    throw error;
  }
  return null;
});

async function loadWithoutInfo(ctx) {
  const queues = await calls.queues(ctx.signal);
  const sum = (name) => queues.reduce((total, q) => total + q[name], 0);
  return { queues: { jobs_waiting: sum('waiting'), jobs_running: sum('running'),
    queues: queues.length },
  lines: queues.sort((a, b) => b.waiting - a.waiting).slice(0, 100) };
}

export const overview = {
  title: () => 'Overview',

  async load(ctx) {
    const [info, failures, endpoints] = await Promise.all([
      can('info') ? calls.info(undefined, ctx.signal).then(take) : loadWithoutInfo(ctx),
      can('failed') ? orNull(calls.failures(ctx.signal)) : null,
      can('endpoint.list') ? orNull(calls.endpoints(ctx.signal)) : null,
    ]);
    return { info, failures, endpoints, at: now() };
  },

  view({ info, failures, endpoints }) {
    const troubles = [...diskTroubles(info), ...queueTroubles(info.lines),
      ...otherTroubles({ failures, endpoints })];
    return [attention(troubles), tiles(info), busiest(info.lines, number(info.queues?.queues))];
  },
};
