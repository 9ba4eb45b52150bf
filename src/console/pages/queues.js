/*
 * All queues. Sorting, filtering and paging happen here, because the counts come in one answer.
 */
import * as calls from '../calls.js';
import { attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { count, duration, rate } from '../format.js';
import { display, identity } from '../names.js';
import { latest } from '../samples.js';
import { can } from '../session.js';
import { button, dim, empty, pager, pill, queueLink, quietNumber, table } from '../ui.js';

/* Queues on a page. */
const PAGE = 100;

/* Pauses or unpauses a queue, and offers the way back. */
export async function setPaused(name, paused, refresh) {
  await attempt(async () => {
    await (paused ? calls.pause(name) : calls.unpause(name));
    say(`${display(name)} is ${paused ? 'paused' : 'running again'}.`,
      { undo: () => setPaused(name, !paused, refresh) });
  });
  refresh();
}

export function pauseButton(q, refresh) {
  const command = q.paused ? 'unpause' : 'pause';
  return can(command)
    ? button(q.paused ? 'Unpause' : 'Pause', () => setPaused(q.name, !q.paused, refresh),
      { class: 'small', 'aria-label': `${q.paused ? 'Unpause' : 'Pause'} ${display(q.name)}` })
    : null;
}

function measured(queues) {
  const lines = new Map((latest()?.lines ?? []).map((line) => [identity(line.name), line]));
  return queues.map((q) => ({ ...q, line: lines.get(identity(q.name)) }));
}

const SORTS = {
  name: (a, b) => (display(a.name) < display(b.name) ? -1 : 1),
  waiting: (a, b) => a.waiting - b.waiting,
  running: (a, b) => a.running - b.running,
  stalled: (a, b) => a.stalled - b.stalled,
  scheduled: (a, b) => a.scheduled - b.scheduled,
  depends: (a, b) => a.depends - b.depends,
  rate: (a, b) => (a.line?.complete_rate_1m ?? 0) - (b.line?.complete_rate_1m ?? 0),
  oldest: (a, b) => (a.line?.oldest_wait ?? 0) - (b.line?.oldest_wait ?? 0),
};

function columns(ctx) {
  const numeric = (title, name, kind) => ({ title, class: 'num', sort: name,
    cell: (q) => quietNumber(q[name], kind) });
  return [
    { title: 'Queue', sort: 'name', cell: (q) => [queueLink(q.name),
      q.paused ? pill('paused', 'warn') : null,
      q.waiting > 0 && !q.paused && !q.running && q.listeners === 0
        ? pill('no listener', 'quiet') : null] },
    numeric('Waiting', 'waiting'), numeric('Running', 'running'),
    numeric('Stalled', 'stalled', 'warn-text'), numeric('Scheduled', 'scheduled'),
    numeric('Depends', 'depends'),
    { title: 'Completed / s', class: 'num', sort: 'rate',
      cell: (q) => (q.line ? rate(q.line.complete_rate_1m) : dim('–')) },
    { title: 'Oldest wait', class: 'num', sort: 'oldest',
      cell: (q) => (Number(q.line?.oldest_wait) ? duration(q.line.oldest_wait) : dim('–')) },
    can('pause') || can('unpause')
      ? { title: h('span', { class: 'hidden' }, 'Actions'), class: 'act',
        cell: (q) => pauseButton(q, ctx.refresh) } : null,
  ].filter(Boolean);
}

export const queues = {
  title: () => 'Queues',
  load: (ctx) => calls.queues(ctx.signal),

  view(all, ctx) {
    const state = Object.assign(ctx.state, { sort: { name: 'waiting', down: true }, text: '',
      page: 0, ...ctx.state });
    const wanted = state.text.toLowerCase();
    const found = measured(wanted
      ? all.filter((q) => display(q.name).toLowerCase().includes(wanted)) : all);
    const sign = state.sort.down ? -1 : 1;
    found.sort((a, b) => sign * SORTS[state.sort.name](a, b) || SORTS.name(a, b));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE;
    const turn = (by) => () => {
      state.page += by;
      ctx.update();
    };
    return [
      h('div', { class: 'bar' }, h('input', { type: 'search', 'aria-label': 'Filter queues by name',
        placeholder: 'Filter by name', value: state.text, oninput: (event) => {
          state.text = event.target.value;
          state.page = 0;
          ctx.update();
        } }), h('span', { class: 'dim', role: 'status' },
        found.length === all.length ? `${count(all.length)} queues`
          : `${count(found.length)} of ${count(all.length)} queues`)),
      found.length === 0
        ? empty(all.length ? 'No queue has such a name.' : 'There are no queues yet.',
          all.length ? null : 'A queue appears with its first job.')
        : table(columns(ctx), found.slice(first, first + PAGE), {
          key: (q) => identity(q.name),
          caption: 'Queues with their jobs by state',
          sorted: state.sort,
          onSort: (name) => {
            state.sort = { name, down: state.sort.name === name ? !state.sort.down : name !== 'name' };
            ctx.update();
          },
        }),
      pages > 1 ? pager(`${count(first + 1)} to ${count(Math.min(first + PAGE, found.length))}`,
        state.page > 0 ? turn(-1) : null, state.page < pages - 1 ? turn(1) : null) : null,
    ];
  },
};
