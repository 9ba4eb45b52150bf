/*
 * Recurring jobs, their schedules and next ticks.
 */
import * as calls from '../calls.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { dateTime, duration, plural, when } from '../format.js';
import { codeBlock, pretty } from '../json.js';
import { display, identity } from '../names.js';
import { can } from '../session.js';
import { button, dim, empty, facts, pager, panel, path, queueLink, table, tagLink,
  withQuery } from '../ui.js';

/* Recurring jobs on a page, queues that are asked at once, and ticks of one job. */
const PAGE = 20;
const QUEUES_AT_ONCE = 6;
const TICKS = 10;

const isAboutRecurring = (event) => !/progress|heartbeat/.test(event.kind ?? '');

function schedule(job) {
  return job.cron ? h('span', { class: 'mono' }, job.cron, job.tz ? dim(` ${job.tz}`) : null)
    : `every ${duration(job.interval)}`;
}

async function findQueues(ctx) {
  if (ctx.query.queue) {
    return [await calls.queueCounts(ctx.query.queue, ctx.signal)];
  }
  return (await calls.queues(ctx.signal)).filter((q) => q.recurring > 0);
}

/* Returns the names of a page of jobs, in the order of the queues. */
async function findRows(queues, start, signal) {
  let skip = start;
  const rows = [];
  const asked = [];
  for (const q of queues) {
    if (skip >= q.recurring) {
      skip -= q.recurring;
      continue;
    }
    asked.push({ q, offset: skip });
    skip = 0;
  }
  while (asked.length && rows.length < PAGE) {
    const parts = await Promise.all(asked.splice(0, QUEUES_AT_ONCE).map(async ({ q, offset }) =>
      (await calls.recurring(q.name, offset, PAGE, signal)).map((jid) => ({ jid, queue: q.name }))));
    rows.push(...parts.flat());
  }
  return rows.slice(0, PAGE);
}

/* Fetches what the table says about each job, one after the other, after the page is there. */
async function fetchDetails(rows, ctx) {
  const details = ctx.state.details ?? (ctx.state.details = new Map());
  try {
    for (const { jid } of rows) {
      const [job, [next]] = await Promise.all([calls.recurringJob(jid, ctx.signal),
        calls.nextTicks(jid, 1, ctx.signal)]);
      details.set(identity(jid), { ...job, next });
    }
  } catch {
    /* a job that is gone, or another page */
  }
  ctx.update();
}

/* Puts back a recurring job that was removed. */
function putBack(job) {
  return calls.putRecurring(job.queue, { jid: job.jid, class: job.klass, data: job.data,
    ...(job.cron ? { cron: job.cron, tz: job.tz, missed: job.missed, overlap: job.overlap }
      : { interval: job.interval, offset: 0 }),
    priority: job.priority, retries: job.retries, tags: job.tags });
}

async function remove(job, ctx) {
  const values = await ask({ title: `Remove ${display(job.jid)}?`, danger: true, confirm: 'Remove',
    body: h('p', null, 'It spawns no more jobs. The jobs that it has spawned stay.') });
  if (values) {
    await attempt(async () => {
      await calls.deleteRecurring(job.jid);
      say(`${display(job.jid)} is removed.`, { undo: async () => {
        await attempt(() => putBack(job));
        ctx.refresh();
      } });
    });
    ctx.go('#/recurring');
    ctx.refresh();
  }
}

async function edit(job, ctx) {
  const timing = job.cron
    ? { name: 'cron', label: 'Cron expression', value: job.cron, required: true }
    : { name: 'interval', label: 'Interval in seconds', type: 'number', min: '1',
      value: String(job.interval), required: true };
  const values = await ask({ title: `Change ${display(job.jid)}`, confirm: 'Change',
    fields: [timing,
      { name: 'priority', label: 'Priority', type: 'number', value: String(job.priority) },
      { name: 'data', label: 'Data (JSON)', rows: 8, value: pretty(job.data) }],
    check: ({ data }) => {
      try {
        calls.readJson(data);
        return null;
      } catch (error) {
        return `This is not JSON: ${error.message}`;
      }
    } });
  if (!values) {
    return;
  }
  const changes = { priority: Number(values.priority), data: calls.readJson(values.data),
    ...(job.cron ? { cron: values.cron } : { interval: Number(values.interval) }) };
  const before = { priority: job.priority, data: job.data,
    ...(job.cron ? { cron: job.cron } : { interval: job.interval }) };
  await attempt(async () => {
    await calls.updateRecurring(job.jid, changes);
    say(`${display(job.jid)} is changed.`, { undo: async () => {
      await attempt(() => calls.updateRecurring(job.jid, before));
      ctx.refresh();
    } });
  });
  ctx.refresh();
}

export const recurring = {
  title: (ctx) => (ctx.query.queue ? `Recurring jobs of ${ctx.query.queue}` : 'Recurring jobs'),
  matters: isAboutRecurring,

  async load(ctx) {
    const start = Number(ctx.query.start) || 0;
    const queues = await findQueues(ctx);
    const total = queues.reduce((sum, q) => sum + q.recurring, 0);
    const rows = await findRows(queues, start, ctx.signal);
    fetchDetails(rows, ctx);
    return { start, total, rows };
  },

  view({ start, total, rows }, ctx) {
    if (rows.length === 0) {
      return empty('There are no recurring jobs.', 'RECUR makes one, by an interval or by cron.');
    }
    const known = (row) => ctx.state.details?.get(identity(row.jid));
    const later = (make) => (row) => (known(row) ? make(known(row)) : dim('…'));
    const turn = (to) => () => ctx.go(withQuery('#/recurring', { ...ctx.query, start: to || '' }));
    return [
      h('p', { class: 'dim' }, plural(total, 'recurring job')),
      table([
        { title: 'Job', cell: (row) => h('a', { href: path('recurring', row.jid), class: 'name' },
          display(row.jid)) },
        { title: 'Class', cell: later((job) => h('span', { class: 'name' }, display(job.klass))) },
        { title: 'Queue', cell: (row) => queueLink(row.queue) },
        { title: 'Schedule', cell: later(schedule) },
        { title: 'Next', cell: later((job) => when(job.next)) },
        { title: 'Spawned', class: 'num', cell: later((job) => String(job.count ?? 0)) },
      ], rows, { key: (row) => identity(row.jid), caption: 'Recurring jobs' }),
      total > PAGE ? pager(`${start + 1} to ${start + rows.length} of ${total}`,
        start > 0 ? turn(Math.max(0, start - PAGE)) : null,
        start + PAGE < total ? turn(start + PAGE) : null) : null,
    ];
  },
};

export const recurringJob = {
  title: (ctx) => display(ctx.params[0]),
  matters: isAboutRecurring,

  async load(ctx) {
    const [jid] = ctx.params;
    const [job, next] = await Promise.all([calls.recurringJob(jid, ctx.signal),
      calls.nextTicks(jid, TICKS, ctx.signal)]);
    return { job, next };
  },

  view({ job, next }, ctx) {
    return [
      h('div', { class: 'bar actions' },
        can('recur.update') ? button('Change', () => edit(job, ctx)) : null,
        can('unrecur') ? button('Remove', () => remove(job, ctx), { class: 'danger' }) : null),
      panel(null, facts([
        ['Class', h('span', { class: 'name' }, display(job.klass))], ['Queue', queueLink(job.queue)],
        ['Schedule', schedule(job)], ['Missed ticks', job.missed], ['Overlap', job.overlap],
        ['Priority', String(job.priority)], ['Retries', String(job.retries)],
        ['Jobs spawned', String(job.count ?? 0)],
        ['Backlog', job.backlog ? String(job.backlog) : null],
        ['Tags', job.tags?.length ? job.tags.map(tagLink) : null],
      ])),
      panel('Next ticks', next.length === 0 ? dim('None') : h('ol', { class: 'plain ticks' },
        next.map((at) => h('li', null, when(at, dateTime(at)), ' ', dim(when(at)))))),
      panel('Data', codeBlock(pretty(job.data), 'Data')),
    ];
  },
};
