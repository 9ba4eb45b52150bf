/*
 * One queue: its jobs in each state, how long they wait and run, and a month of days.
 */
import * as calls from '../calls.js';
import { collect } from '../bulk.js';
import { bars } from '../chart.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { count, dayOf, duration, now, plural, rate } from '../format.js';
import { display, identity } from '../names.js';
import { latest } from '../samples.js';
import { can } from '../session.js';
import { button, dim, empty, facts, pager, panel, path, pill, tabs, withQuery } from '../ui.js';
import { jobTable } from './joblist.js';
import { pauseButton } from './queues.js';

/* Jobs on a page, days in the chart, and seconds after which the days are fetched again. */
const PAGE = 50;
const DAYS = 30;
const DAYS_AGE_SECONDS = 60;
const DAY_SECONDS = 86400;

const STATE_COLUMNS = {
  waiting: ['jid', 'klass', 'priority', 'wait', 'attempts'],
  running: ['jid', 'klass', 'worker', 'since', 'expires', 'progress'],
  stalled: ['jid', 'klass', 'worker', 'expires', 'attempts'],
  scheduled: ['jid', 'klass', 'priority', 'due'],
  depends: ['jid', 'klass', 'priority', 'since'],
  failed: ['jid', 'klass', 'group', 'message', 'failed'],
  complete: ['jid', 'klass', 'updated', 'attempts'],
};

const FIELDS = ['jid', 'state', 'klass', 'priority', 'since', 'due', 'worker', 'expires', 'attempts',
  'progress', 'updated', 'group', 'message', 'failed-at'];

const STATE_ACTIONS = {
  waiting: ['move', 'priority', 'tag', 'cancel'],
  running: ['tag'],
  stalled: ['tag'],
  scheduled: ['retry', 'move', 'priority', 'tag', 'cancel'],
  depends: ['priority', 'tag', 'cancel'],
  failed: ['retry', 'move', 'tag', 'cancel'],
  complete: ['delete'],
};

/* ---- statistics ---- */

/* The histogram of a day has seconds up to a minute, minutes up to an hour, hours, then days. */
const BUCKETS = [[1, '<1 s'], [5, '1 s'], [15, '5 s'], [60, '15 s'], [300, '1 m'], [900, '5 m'],
  [3600, '15 m'], [21600, '1 h'], [86400, '6 h'], [Infinity, '1 d']];

function secondsAt(index) {
  if (index < 60) {
    return index;
  }
  if (index < 119) {
    return (index - 59) * 60;
  }
  return index < 142 ? (index - 118) * 3600 : (index - 141) * DAY_SECONDS;
}

function histogram(name, part) {
  const sums = BUCKETS.map(() => 0);
  part.histogram.forEach((jobs, index) => {
    const seconds = secondsAt(index);
    sums[BUCKETS.findIndex(([end]) => seconds < end)] += jobs;
  });
  const items = sums.map((value, i) => ({ value, label: BUCKETS[i][1],
    title: `${BUCKETS[i][1]}: ${plural(value, 'job')}` }));
  return h('div', { class: 'chart' }, h('h3', null, name),
    h('p', { class: 'dim' }, part.count
      ? `${plural(part.count, 'job')}, mean ${duration(part.mean)}, deviation ${duration(part.std)}`
      : 'No job on this day'), bars(items, `${name}: number of jobs by duration`));
}

/* The days of the queue that was shown last: { of, at, days }. */
let month = { of: null };

/* Fetches one day after the other, so that other requests of the page do not wait for them. */
async function fetchDays(ctx, name) {
  if (month.of === identity(name) && now() - month.at < DAYS_AGE_SECONDS) {
    return;
  }
  const mine = { of: identity(name), at: now(), days: month.of === identity(name) ? month.days : null };
  const today = Math.floor(now() / DAY_SECONDS) * DAY_SECONDS;
  const days = [];
  month = mine;
  try {
    for (let day = today - (DAYS - 1) * DAY_SECONDS; day <= today; day += DAY_SECONDS) {
      const stats = await calls.stats(name, day, ctx.signal);
      days.push({ day, done: stats.run.count, failures: stats.failures });
    }
    mine.days = days;
    ctx.update();
  } catch {
    month = { of: null };
  }
}

function monthChart(ctx, days) {
  const chosen = Number(ctx.query.day) || days.at(-1).day;
  const items = days.map((one, i) => ({
    value: one.done + one.failures,
    second: one.failures,
    label: i % 7 === 1 || i === days.length - 1 ? dayOf(one.day) : '',
    title: `${dayOf(one.day)}: ${plural(one.done, 'job')} completed, ${plural(one.failures,
      'failure')}`,
    current: one.day === chosen,
    href: withQuery(path('queues', ctx.params[0]), { ...ctx.query,
      day: i === days.length - 1 ? '' : one.day }),
  }));
  return h('div', { class: 'chart' }, h('h3', null, 'The last 30 days'),
    h('p', { class: 'dim' }, `${plural(days.reduce((sum, one) => sum + one.done, 0), 'job')
    } completed, ${plural(days.reduce((sum, one) => sum + one.failures, 0), 'failure')}. Days of UTC.`),
    bars(items, 'Completed and failed jobs by day'));
}

/* ---- options ---- */

async function setOption(ctx, name, option, value) {
  const values = await ask({ title: `${display(name)}-${option}`, confirm: 'Set',
    fields: [{ name: 'value', label: 'Value', value: String(value ?? ''),
      hint: 'Empty restores the default.' }] });
  if (!values) {
    return;
  }
  const full = `${display(name)}-${option}`;
  const set = (to) => (to === '' || to === undefined ? calls.unsetOption(full)
    : calls.setOption(full, to));
  await attempt(async () => {
    await set(values.value);
    say(`${full} is ${values.value || 'the default'}.`, { undo: async () => {
      await attempt(() => set(value));
      ctx.refresh();
    } });
  });
  ctx.refresh();
}

const OPTIONS = ['heartbeat', 'max-concurrency', 'runtime', 'start-timeout', 'retain', 'order'];

function optionsPanel(ctx, name, options) {
  const prefix = `${display(name)}-`;
  const value = (option) => options[prefix + option];
  return panel('Options of this queue', facts(OPTIONS.map((option) => [option,
    h('span', null, value(option) === undefined ? dim('default') : String(value(option)),
      can('config.set') && can('config.unset') ? [' ', button('Set', () =>
        setOption(ctx, name, option, value(option)),
      { class: 'small quiet', 'aria-label': `Set ${option}` })] : null)])));
}

/* ---- the list ---- */

function listOf(ctx, name, state, list) {
  const { jobs, cursor } = list;
  const here = (query) => withQuery(path('queues', name), { ...ctx.query, ...query });
  const stack = ctx.state.stack ?? (ctx.state.stack = []);
  const at = ctx.query.cursor;
  const back = at ? () => ctx.go(here({ cursor: stack.pop() ?? '' })) : null;
  const onward = String(cursor) !== '0' ? () => {
    stack.push(at ?? '');
    ctx.go(here({ cursor: String(cursor) }));
  } : null;
  if (jobs.length === 0 && !at && !onward) {
    return empty(`No job of this queue is ${state === 'depends' ? 'waiting for another one' : state}.`);
  }
  const collectAll = () => collect(async (from, number) => {
    const part = await calls.queueJobs(name, { state, cursor: from ?? '0', count: number });
    return { jids: part.jobs, next: String(part.cursor) === '0' ? null : part.cursor };
  });
  return [
    jobTable(ctx, jobs, { columns: STATE_COLUMNS[state], actions: STATE_ACTIONS[state],
      all: collectAll, caption: `Jobs that are ${state}` }),
    pager(at ? 'A later page of the list' : `The first ${plural(jobs.length, 'job')}`, back, onward),
  ];
}

export const queue = {
  title: (ctx) => display(ctx.params[0]),
  matters: (event, ctx) => event.queue === undefined ||
    identity(event.queue) === identity(ctx.params[0]),

  async load(ctx) {
    const [name] = ctx.params;
    const state = STATE_COLUMNS[ctx.query.state] ? ctx.query.state : 'waiting';
    if (ctx.state.state !== state) {
      Object.assign(ctx.state, { state, chosen: new Map(), stack: [] });
    }
    const day = Number(ctx.query.day) || Math.floor(now() / DAY_SECONDS) * DAY_SECONDS;
    const [counts, numbers, list, stats, options] = await Promise.all([
      calls.queueCounts(name, ctx.signal),
      can('queue.count') ? calls.queueCount(name, {}, ctx.signal) : {},
      can('queue.jobs') ? calls.queueJobs(name, { state, cursor: ctx.query.cursor ?? '0',
        count: PAGE, with: FIELDS }, ctx.signal) : { jobs: [], cursor: '0' },
      can('stats') ? calls.stats(name, day, ctx.signal) : null,
      can('config.get') ? calls.options(ctx.signal).catch(() => null) : null,
    ]);
    if (can('stats')) {
      fetchDays(ctx, name);
    }
    return { name, state, counts, numbers, list, stats, options };
  },

  view({ name, state, counts, numbers, list, stats, options }, ctx) {
    const line = latest()?.lines.find((one) => identity(one.name) === identity(name));
    const items = Object.keys(STATE_COLUMNS).map((one) => ({ name: one, current: one === state,
      number: numbers[one] ?? counts[one], kind: one === 'failed' && numbers.failed ? 'bad' : '',
      href: withQuery(path('queues', name), { state: one, day: ctx.query.day }) }));
    return [
      h('div', { class: 'bar' },
        counts.paused ? pill('paused', 'warn') : null,
        h('span', { class: 'dim' }, [plural(counts.listeners ?? 0, 'listener'),
          line ? `${rate(line.put_rate_1m)} put, ${rate(line.complete_rate_1m)} completed a second` : null,
          line && Number(line.oldest_wait) ? `the oldest waits ${duration(line.oldest_wait)}` : null]
          .filter(Boolean).join(' · ')),
        counts.recurring ? h('a', { href: withQuery('#/recurring', { queue: display(name) }) },
          `${count(counts.recurring)} recurring`) : null,
        h('span', { class: 'spring' }), pauseButton({ ...counts, name }, ctx.refresh)),
      tabs('States', items),
      listOf(ctx, name, state, list),
      stats ? h('section', { class: 'panel', key: 'statistics' }, h('h2', null, 'Statistics'),
        h('div', { class: 'charts' },
          month.of === identity(name) && month.days ? monthChart(ctx, month.days)
            : h('p', { class: 'dim' }, 'Loading …'),
          histogram('Time to wait', stats.wait), histogram('Time to run', stats.run))) : null,
      options ? optionsPanel(ctx, name, options) : null,
    ];
  },
};
