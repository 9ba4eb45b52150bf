/*
 * Recurring jobs, their schedules and next ticks.
 */
import * as calls from '../calls.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { dateTime, duration, plural, when } from '../format.js';
import { codeBlock, jsonProblem, pretty } from '../json.js';
import { display, identity } from '../names.js';
import { can } from '../session.js';
import { button, dim, empty, facts, pager, panel, path, queueLink, table, tagLink,
  withQuery } from '../ui.js';

/* Recurring jobs on a page, and ticks of one job. */
const PAGE = 50;
const TICKS = 10;

const isAboutRecurring = (event) => !/progress|heartbeat/.test(event.kind ?? '');

function schedule(job) {
  return job.cron ? h('span', { class: 'mono' }, job.cron, job.tz ? dim(` ${job.tz}`) : null)
    : `every ${duration(job.interval)}`;
}

/* Fetches the next tick of each job after the table is there. */
async function fetchTicks(jobs, ctx) {
  const ticks = ctx.state.ticks ?? (ctx.state.ticks = new Map());
  try {
    for (const { jid } of jobs) {
      const [next] = await calls.nextTicks(jid, 1, ctx.signal);
      ticks.set(identity(jid), next);
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
    check: ({ data }) => jsonProblem(data) });
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
    const list = await calls.recurring({ queue: ctx.query.queue, cursor: ctx.query.cursor ?? '0',
      count: PAGE }, ctx.signal);
    fetchTicks(list.jobs, ctx);
    return list;
  },

  view({ jobs, cursor }, ctx) {
    if (jobs.length === 0 && !ctx.query.cursor) {
      return empty('There are no recurring jobs.', 'RECUR makes one, by an interval or by cron.');
    }
    const tick = (job) => ctx.state.ticks?.get(identity(job.jid));
    const here = (query) => withQuery('#/recurring', { ...ctx.query, ...query });
    const onward = String(cursor) === '0' ? null : () => ctx.go(here({ cursor }));
    return [
      table([
        { title: 'Job', cell: (job) => h('a', { href: path('recurring', job.jid), class: 'name' },
          display(job.jid)) },
        { title: 'Class', cell: (job) => h('span', { class: 'name' }, display(job.klass)) },
        { title: 'Queue', cell: (job) => queueLink(job.queue) },
        { title: 'Schedule', cell: schedule },
        { title: 'Next', cell: (job) => (tick(job) ? when(tick(job)) : dim('…')) },
        { title: 'Spawned', class: 'num', cell: (job) => String(job.count ?? 0) },
      ], jobs, { key: (job) => identity(job.jid), caption: 'Recurring jobs' }),
      pager(`${plural(jobs.length, 'recurring job')}${onward || ctx.query.cursor ? ' on this page' : ''}`,
        ctx.query.cursor ? () => history.back() : null, onward),
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
