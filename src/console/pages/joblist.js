/*
 * A table of jobs, with a choice of several for bulk actions.
 */
import { bulk, BULK, bulkFor } from '../bulk.js';
import { h } from '../dom.js';
import { duration, now, plural, when } from '../format.js';
import { display, identity } from '../names.js';
import { button, dim, jobLink, queueLink, stateBadge, table, tagLink, workerLink } from '../ui.js';

const orDash = (value, make) => (value === null || value === undefined || value === ''
  ? dim('–') : make(value));

/* Columns by name. */
const COLUMNS = {
  jid: { title: 'Job', cell: (job) => jobLink(job.jid) },
  state: { title: 'State', cell: (job) => stateBadge(job.state) },
  klass: { title: 'Class', cell: (job) => h('span', { class: 'name' }, display(job.klass)) },
  queue: { title: 'Queue', cell: (job) => queueLink(job.queue) },
  priority: { title: 'Priority', class: 'num', cell: (job) => String(job.priority ?? 0) },
  since: { title: 'Since', cell: (job) => when(job.since) },
  wait: { title: 'Waits', class: 'num',
    cell: (job) => orDash(job.since, (since) => h('span', { title: new Date(since * 1000)
      .toISOString() }, duration(now() - since))) },
  due: { title: 'Due', cell: (job) => when(job.due) },
  worker: { title: 'Worker', cell: (job) => workerLink(job.worker) },
  expires: { title: 'Lock ends', cell: (job) => when(job.expires) },
  attempts: { title: 'Attempts', class: 'num', cell: (job) => orDash(job.attempts, String) },
  progress: { title: 'Progress', class: 'num', cell: (job) => orDash(job.progress, (p) => `${p}%`) },
  updated: { title: 'Updated', cell: (job) => when(job.updated) },
  failed: { title: 'Failed', cell: (job) => when(job['failed-at'] ?? job.failure?.when) },
  group: { title: 'Group', cell: (job) => orDash(job.group ?? job.failure?.group, (group) =>
    h('a', { href: `#/failures/${encodeURIComponent(display(group))}` }, display(group))) },
  message: { title: 'Message', class: 'wide',
    cell: (job) => h('span', { class: 'cut', title: display(job.message ?? job.failure?.message) },
      display(job.message ?? job.failure?.message)) },
  tags: { title: 'Tags', cell: (job) => (job.tags ?? []).map(tagLink) },
};

/*
 * Returns the table. `ctx.state.chosen` holds the names that the user has marked; `actions` are
 * names of BULK, and `all`, if it is there, collects the names of every job of the list.
 */
export function jobTable(ctx, jobs, { columns, actions = [], all, caption, total }) {
  const chosen = ctx.state.chosen ?? (ctx.state.chosen = new Map());
  const allowed = bulkFor(...actions);
  const mark = (job, on) => {
    if (on) {
      chosen.set(identity(job.jid), job.jid);
    } else {
      chosen.delete(identity(job.jid));
    }
    ctx.update();
  };
  const here = jobs.filter((job) => chosen.has(identity(job.jid))).length;
  const box = allowed.length ? [{
    title: h('input', { type: 'checkbox', 'aria-label': 'Choose all jobs on this page',
      checked: here > 0 && here === jobs.length, indeterminate: here > 0 && here < jobs.length,
      onchange: (event) => {
        for (const job of jobs) {
          mark(job, event.target.checked);
        }
      } }),
    class: 'box',
    cell: (job) => h('input', { type: 'checkbox', 'aria-label': `Choose ${display(job.jid)}`,
      checked: chosen.has(identity(job.jid)),
      onchange: (event) => mark(job, event.target.checked) }),
  }] : [];
  const after = (done) => {
    if (done) {
      chosen.clear();
      ctx.refresh();
    }
  };
  const bar = allowed.length && (chosen.size || all) ? h('div', { class: 'bar bulk' },
    chosen.size
      ? [h('span', null, `${plural(chosen.size, 'job')} chosen:`), allowed.map((name) =>
        button(BULK[name].label, async () => after(await bulk(name, [...chosen.values()])),
          { class: BULK[name].danger ? 'small danger' : 'small' })),
      button('None', () => {
        chosen.clear();
        ctx.update();
      }, { class: 'small quiet' })]
      : [h('span', { class: 'dim' }, total === undefined ? 'All of them:' : `All ${total}:`),
        allowed.map((name) => button(`${BULK[name].label} all`, async () => {
          const { jids, hasMore } = await all();
          if (jids.length) {
            after(await bulk(name, jids, hasMore));
          }
        }, { class: BULK[name].danger ? 'small danger' : 'small' }))]) : null;
  return [bar, table([...box, ...columns.map((name) => COLUMNS[name])], jobs,
    { key: (job) => identity(job.jid), caption: caption ?? 'Jobs' })];
}
