/*
 * The jobs around a job: those it waits for on the left, those that wait for it on the right.
 */
import { h, s } from '../dom.js';
import { display, identity } from '../names.js';
import { path, STATES } from '../ui.js';

/* Jobs in a column, and the size of the drawing in its own units. */
const COLUMN_MAX = 8;
const ROW = 34;
const COLUMN = 200;
const BOX = 156;
const CHARACTERS = 19;

function shorten(text) {
  return text.length > CHARACTERS ? text.slice(0, CHARACTERS - 1) + '…' : text;
}

function box(x, y, jid, state, isCentre) {
  const shape = s('g', { class: `node state-${STATES.includes(state) ? state : 'other'}${isCentre
    ? ' centre' : ''}` },
  s('title', null, `${display(jid)}${state ? ': ' + state : ''}`),
  s('rect', { x, y: y - 13, width: BOX, height: 26, rx: 6 }),
  s('circle', { cx: x + 13, cy: y, r: 4 }),
  s('text', { x: x + 24, y: y + 4 }, shorten(display(jid))));
  return isCentre ? shape : s('a', { href: path('jobs', jid) }, shape);
}

function column(jids, x, states, middle) {
  const shown = jids.slice(0, COLUMN_MAX);
  const rows = shown.length + (jids.length > COLUMN_MAX ? 1 : 0);
  const top = middle - ((rows - 1) * ROW) / 2;
  const nodes = shown.map((jid, i) => box(x, top + i * ROW, jid, states.get(identity(jid))));
  if (jids.length > COLUMN_MAX) {
    nodes.push(s('text', { class: 'more', x: x + 24, y: top + (rows - 1) * ROW + 4 },
      `and ${jids.length - COLUMN_MAX} more`));
  }
  return { nodes, ys: shown.map((_, i) => top + i * ROW) };
}

function edge(x1, y1, x2, y2) {
  const bend = (x1 + x2) / 2;
  return s('path', { class: 'edge', d: `M${x1},${y1} C${bend},${y1} ${bend},${y2} ${x2},${y2}` });
}

/* Returns the drawing. `neighbours` are the jobs around it that still exist. */
export function graph(job, neighbours) {
  const before = job.dependencies ?? [];
  const after = job.dependents ?? [];
  const rows = Math.max(1, ...[before, after].map((list) =>
    Math.min(list.length, COLUMN_MAX + 1)));
  const height = rows * ROW + 8;
  const middle = height / 2;
  const states = new Map(neighbours.map((one) => [identity(one.jid), one.state]));
  const centre = before.length ? 2 + COLUMN : 2; /* an empty column takes no room */
  const width = centre + BOX + 2 + (after.length ? COLUMN : 0);
  const left = column(before, 2, states, middle);
  const right = column(after, centre + COLUMN, states, middle);
  return h('div', { class: 'graph' }, s('svg', { viewBox: `0 0 ${width} ${height}`, role: 'group',
    style: { 'max-width': `${width}px` },
    'aria-label': 'Jobs that this job waits for, and jobs that wait for it' },
  left.ys.map((y) => edge(2 + BOX, y, centre, middle)),
  right.ys.map((y) => edge(centre + BOX, middle, centre + COLUMN, y)),
  left.nodes, box(centre, middle, job.jid, job.state, true), right.nodes));
}
