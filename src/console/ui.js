/*
 * Parts that several pages use: badges, links, tables, notices.
 */
import { h } from './dom.js';
import { compact, count } from './format.js';
import { display, identity, isBytes, segment } from './names.js';
import { can } from './session.js';

export const STATES = ['waiting', 'running', 'stalled', 'scheduled', 'depends', 'failed', 'complete'];

/* Returns an address of the console: path('jobs', jid). */
export function path(...parts) {
  return '#/' + parts.map(segment).join('/');
}

export function withQuery(address, query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') {
      params.set(name, value);
    }
  }
  const text = params.toString();
  return text ? `${address}?${text}` : address;
}

export function jobLink(jid) {
  return h('a', { href: path('jobs', jid), class: 'name', title: display(jid) }, display(jid));
}

export function queueLink(name) {
  return name === null || name === undefined || name === ''
    ? h('span', { class: 'dim' }, '–')
    : h('a', { href: path('queues', name), class: 'name', title: display(name) }, display(name));
}

export function workerLink(name) {
  return name === null || name === undefined || name === ''
    ? h('span', { class: 'dim' }, '–')
    : h('a', { href: path('workers', name), class: 'name', title: display(name) }, display(name));
}

export function tagLink(name) {
  const href = can('tag') ? path('tags', name)
    : withQuery('#/search', { q: `tag:${JSON.stringify(display(name))}` });
  return h('a', { href, class: 'tag', key: identity(name) }, display(name));
}

export function stateBadge(state) {
  return h('span', { class: `state state-${STATES.includes(state) ? state : 'other'}` },
    display(state));
}

export function pill(text, kind = '') {
  return h('span', { class: `pill ${kind}` }, text);
}

export function dim(text) {
  return h('span', { class: 'dim' }, text);
}

/* Returns a number that is pale if it is 0. */
export function quietNumber(n, kind = '') {
  const value = Number(n) || 0;
  return h('span', { class: value === 0 ? 'zero' : kind, title: value >= 10000 ? count(value) : null },
    compact(value));
}

/* The columns of a table: { title, class, cell(row) }. Options: key(row), caption, onSort, sorted. */
export function table(columns, rows, options = {}) {
  const head = columns.map((column) => {
    const props = { scope: 'col', class: column.class };
    if (options.onSort && column.sort) {
      const by = options.sorted ?? {};
      props['aria-sort'] = by.name === column.sort ? (by.down ? 'descending' : 'ascending') : null;
      return h('th', props, h('button', { class: 'sort', type: 'button',
        onclick: () => options.onSort(column.sort) }, column.title));
    }
    return h('th', props, column.title);
  });
  const body = rows.map((row) => h('tr',
    { key: options.key ? options.key(row) : undefined, class: options.rowClass?.(row) },
    columns.map((column) => h('td',
      { class: column.class, 'data-label': typeof column.title === 'string' ? column.title : null },
      column.cell(row)))));
  return h('div', { class: 'table-frame' }, h('table', { class: options.class },
    options.caption ? h('caption', { class: 'hidden' }, options.caption) : null,
    h('thead', null, h('tr', null, head)), h('tbody', null, body)));
}

export function panel(title, ...children) {
  return h('section', { class: 'panel', key: typeof title === 'string' ? 'p:' + title : undefined },
    title ? h('h2', null, title) : null, ...children);
}

export function empty(title, hint) {
  return h('div', { class: 'empty' }, h('p', null, title), hint ? h('p', { class: 'dim' }, hint) : null);
}

export function notice(kind, ...children) {
  return h('div', { class: `notice ${kind}`, role: kind === 'bad' ? 'alert' : null }, ...children);
}

/* A definition list of [name, value] or [name, value, 'long']; pairs without a value are left out. */
export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs
    .filter((pair) => pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== '')
    .map(([name, value, size]) => h('div', { key: name, class: size }, h('dt', null, name),
      h('dd', null, isBytes(value) || value instanceof Object && !(value instanceof Node) &&
        !Array.isArray(value) ? display(value) : typeof value === 'number' ? String(value) : value))));
}

export function button(label, onclick, props = {}) {
  return h('button', { type: 'button', ...props, onclick }, label);
}

/* Buttons for the pages of a list. Each is { label, go }, where `go` is null at the end. */
export function pager(text, back, onward) {
  return h('nav', { class: 'pager', 'aria-label': 'Pages of the list' },
    h('span', { class: 'dim', role: 'status' }, text),
    h('span', { class: 'spring' }),
    button('← Previous', back, { disabled: !back }),
    button('Next →', onward, { disabled: !onward }));
}

/* Links that choose one of several views of a page. */
export function tabs(label, items) {
  return h('nav', { class: 'tabs', 'aria-label': label }, items.map((item) =>
    h('a', { href: item.href, key: item.name, 'aria-current': item.current ? 'page' : null },
      item.name, item.number === undefined || item.number === null ? null
        : h('span', { class: `number ${item.kind ?? ''}` }, compact(item.number)))));
}

/* Copies a text, and says so on the button. */
export function copyButton(text, label = 'Copy') {
  return h('button', { type: 'button', class: 'quiet small', 'aria-label': `${label}: copy`,
    onclick: async (event) => {
      const pressed = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text());
      } catch {
        copyBySelection(text()); /* without https, browsers offer no clipboard */
      }
      pressed.textContent = 'Copied';
      setTimeout(() => {
        pressed.textContent = label;
      }, 1500);
    } }, label);
}

function copyBySelection(text) {
  const area = h('textarea', { class: 'hidden', value: text, 'aria-hidden': 'true' });
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
