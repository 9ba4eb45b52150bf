/*
 * Failed jobs by group, and one group with its jobs.
 */
import { bulk, collect } from '../bulk.js';
import * as calls from '../calls.js';
import { gauge } from '../chart.js';
import { h } from '../dom.js';
import { count, plural } from '../format.js';
import { display } from '../names.js';
import { can } from '../session.js';
import { button, empty, pager, path, table, withQuery } from '../ui.js';
import { jobTable } from './joblist.js';

/* Jobs on a page. */
const PAGE = 50;

const isAboutFailures = (event) => /fail|put|cancel|reset|unfail|delete/.test(event.kind ?? '');

function jidsOf(group) {
  return collect(async (at, number) => {
    const start = at ?? 0;
    const part = await calls.failureGroup(group, start, number);
    return { jids: part.jobs, next: start + number < part.total ? start + number : null };
  });
}

async function actOnGroup(name, group, refresh) {
  const { jids, hasMore } = await jidsOf(group);
  if (await bulk(name, jids, hasMore)) {
    refresh();
  }
}

function groupActions(group, refresh) {
  return [
    can('requeue') ? button('Retry all', () => actOnGroup('retry', group, refresh),
      { class: 'small', 'aria-label': `Retry all of ${display(group)}` }) : null,
    can('requeue') ? button('Move all', () => actOnGroup('move', group, refresh),
      { class: 'small', 'aria-label': `Move all of ${display(group)}` }) : null,
    can('cancel') ? button('Cancel all', () => actOnGroup('cancel', group, refresh),
      { class: 'small danger', 'aria-label': `Cancel all of ${display(group)}` }) : null,
  ];
}

export const failures = {
  title: () => 'Failures',
  matters: isAboutFailures,
  load: (ctx) => calls.failures(ctx.signal),

  view(groups, ctx) {
    const rows = Object.entries(groups).map(([group, jobs]) => ({ group, jobs }))
      .sort((a, b) => b.jobs - a.jobs);
    const total = rows.reduce((sum, row) => sum + row.jobs, 0);
    if (rows.length === 0) {
      return empty('No job has failed.', 'Failed jobs stay here until they are retried or canceled.');
    }
    return [
      h('p', { class: 'dim' }, `${plural(total, 'job')} in ${plural(rows.length, 'group')}`),
      table([
        { title: 'Group', cell: (row) => h('a', { href: path('failures', row.group), class: 'name' },
          row.group) },
        { title: 'Jobs', class: 'num', cell: (row) => count(row.jobs) },
        { title: 'Part', class: 'wide',
          cell: (row) => gauge(row.jobs / total, `Part of ${row.group}`, 'bad') },
        { title: h('span', { class: 'hidden' }, 'Actions'), class: 'act',
          cell: (row) => groupActions(row.group, ctx.refresh) },
      ], rows, { key: (row) => row.group, caption: 'Groups of failures' }),
    ];
  },
};

export const failureGroup = {
  title: (ctx) => display(ctx.params[0]),
  matters: isAboutFailures,

  async load(ctx) {
    const start = Number(ctx.query.start) || 0;
    const list = await calls.failureGroup(ctx.params[0], start, PAGE, ctx.signal);
    return { start, total: list.total, jobs: await calls.getJobs(list.jobs, ctx.signal) };
  },

  view({ start, total, jobs }, ctx) {
    const [group] = ctx.params;
    if (total === 0) {
      return empty('No job is in this group.', 'All of them were retried or canceled.');
    }
    const turn = (to) => () => ctx.go(withQuery(path('failures', group), { start: to || '' }));
    return [
      h('div', { class: 'bar' }, h('span', { class: 'dim' }, plural(total, 'failed job')),
        h('span', { class: 'spring' }), groupActions(group, ctx.refresh)),
      jobTable(ctx, jobs, { columns: ['jid', 'klass', 'queue', 'message', 'failed'],
        actions: ['retry', 'move', 'tag', 'cancel'], caption: 'Failed jobs' }),
      pager(`${count(start + 1)} to ${count(Math.min(start + PAGE, total))} of ${count(total)}`,
        start > 0 ? turn(Math.max(0, start - PAGE)) : null,
        start + PAGE < total ? turn(start + PAGE) : null),
    ];
  },
};
