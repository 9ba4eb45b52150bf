/*
 * Workers: those that hold jobs or did lately, and those that are attached or wait.
 */
import { bars } from '../chart.js';
import * as calls from '../calls.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { count, dayOf, duration, now, plural, when } from '../format.js';
import { display, identity } from '../names.js';
import { can } from '../session.js';
import { button, dim, empty, facts, pager, panel, pill, queueLink, quietNumber, table,
  workerLink } from '../ui.js';
import { jobTable } from './joblist.js';

/* Workers on a page, and jobs of a worker that are shown. */
const PAGE = 100;
const JOBS_SHOWN = 200;

/* Joins the two lists by name. A worker may wait on several connections. */
function joined(counts, listeners) {
  const rows = new Map(counts.map((one) => [identity(one.name), { ...one, attached: false }]));
  for (const one of listeners) {
    const row = rows.get(identity(one.name)) ?? { jobs: 0, stalled: 0 };
    rows.set(identity(one.name), { ...row, ...one, jobs: row.jobs, stalled: row.stalled,
      attached: one.attached || row.attached === true });
  }
  return [...rows.values()];
}

const COLUMNS = [
  { title: 'Worker', cell: (one) => workerLink(one.name) },
  { title: 'Jobs', class: 'num', cell: (one) => quietNumber(one.jobs) },
  { title: 'Stalled', class: 'num', cell: (one) => quietNumber(one.stalled, 'warn-text') },
  { title: 'Node', cell: (one) => (one.node ? display(one.node) : dim('–')) },
  { title: 'Process', class: 'num', cell: (one) => (one.pid ? String(one.pid) : dim('–')) },
  { title: 'Queues', cell: (one) => (one.queues?.length
    ? one.queues.slice(0, 4).map((name) => [queueLink(name), ' ']) : dim('–')) },
  { title: 'Attached', cell: (one) => (one.since === undefined ? dim('–')
    : one.attached ? when(one.since) : pill('waits', 'quiet')) },
  { title: 'Last seen', cell: (one) => (one.idle === undefined || one.idle === null || one.idle === ''
    ? dim('–') : `${duration(one.idle)} ago`) },
];

export const workers = {
  title: () => 'Workers',

  async load(ctx) {
    const [counts, listeners] = await Promise.all([
      calls.workers(ctx.signal),
      can('worker.list') ? calls.listeners(ctx.signal) : [],
    ]);
    return joined(counts, listeners);
  },

  view(all, ctx) {
    const state = Object.assign(ctx.state, { text: '', page: 0, ...ctx.state });
    const found = all.filter((one) => display(one.name).toLowerCase()
      .includes(state.text.toLowerCase()))
      .sort((a, b) => b.stalled - a.stalled || b.jobs - a.jobs ||
        (display(a.name) < display(b.name) ? -1 : 1));
    if (all.length === 0) {
      return empty('No worker is known.', 'A worker appears when it pops a job or attaches itself.');
    }
    const pages = Math.ceil(found.length / PAGE);
    state.page = Math.max(0, Math.min(state.page, pages - 1));
    const turn = (by) => () => {
      state.page += by;
      ctx.update();
    };
    const first = state.page * PAGE;
    return [
      h('div', { class: 'bar' }, h('input', { type: 'search', 'aria-label': 'Filter workers by name',
        placeholder: 'Filter by name', value: state.text, oninput: (event) => {
          Object.assign(state, { text: event.target.value, page: 0 });
          ctx.update();
        } }), h('span', { class: 'dim', role: 'status' }, plural(found.length, 'worker'))),
      found.length ? table(COLUMNS, found.slice(first, first + PAGE),
        { key: (one) => identity(one.name), caption: 'Workers' }) : empty('No worker has such a name.'),
      pages > 1 ? pager(`${count(first + 1)} to ${count(Math.min(first + PAGE, found.length))}`,
        state.page > 0 ? turn(-1) : null, state.page < pages - 1 ? turn(1) : null) : null,
    ];
  },
};

async function release(name, jobs, refresh) {
  const values = await ask({ title: `Release the jobs of ${display(name)}?`, danger: true,
    confirm: `Release ${plural(jobs, 'job')}`,
    body: h('p', null, 'The worker loses its locks, and its jobs return to their queues.') });
  if (values) {
    await attempt(async () => {
      await calls.releaseWorker(name);
      say(`The jobs of ${display(name)} are back in their queues.`);
    });
    refresh();
  }
}

function daysChart(days) {
  const items = [...days].sort((a, b) => a.day - b.day).slice(-30).map((one) => ({
    value: Math.max(one.popped, one.completed + one.failed + one.lost),
    second: one.failed + one.lost,
    label: dayOf(one.day),
    title: `${dayOf(one.day)}: ${count(one.popped)} popped, ${count(one.completed)} completed, ${
      count(one.failed)} failed, ${count(one.lost)} lost`,
  }));
  return panel('Days', bars(items, 'Jobs of the worker by day'));
}

export const worker = {
  title: (ctx) => display(ctx.params[0]),

  async load(ctx) {
    const [name] = ctx.params;
    const [own, listeners] = await Promise.all([
      calls.worker(name, ctx.signal),
      can('worker.list') ? calls.listeners(ctx.signal) : [],
    ]);
    const jids = [...own.stalled, ...own.jobs];
    return { name, days: own.days ?? [], total: jids.length,
      presence: listeners.find((one) => identity(one.name) === identity(name)),
      jobs: await calls.getJobs(jids.slice(0, JOBS_SHOWN), ctx.signal) };
  },

  view({ name, days, total, presence, jobs }, ctx) {
    return [
      h('div', { class: 'bar' }, h('span', { class: 'dim' }, plural(total, 'job')),
        h('span', { class: 'spring' }),
        total && can('worker.release') ? button('Release its jobs',
          () => release(name, total, ctx.refresh), { class: 'danger' }) : null),
      presence ? panel('Connection', facts([
        ['Node', presence.node], ['Process', presence.pid || null], ['Address', presence.address],
        [presence.attached ? 'Attached' : 'Waits for jobs', when(presence.since)],
        ['Last seen', presence.idle === undefined ? null : when(now() - presence.idle)],
        ['Queues', presence.queues?.length ? presence.queues.map((q) => [queueLink(q), ' ']) : null],
      ])) : null,
      jobs.length ? jobTable(ctx, jobs, { columns: ['jid', 'state', 'klass', 'queue', 'expires'],
        actions: ['tag'], caption: 'Jobs of the worker' })
        : empty('This worker has no jobs now.'),
      days.length ? daysChart(days) : null,
    ];
  },
};
