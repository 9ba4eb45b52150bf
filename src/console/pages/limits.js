/*
 * Limits, and the jobs that hold them.
 */
import * as calls from '../calls.js';
import { gauge } from '../chart.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { count, duration, when } from '../format.js';
import { display, identity } from '../names.js';
import { can } from '../session.js';
import { button, dim, empty, facts, jobLink, pager, panel, path, pill, queueLink, quietNumber, table,
  withQuery, workerLink } from '../ui.js';

const PAGE = 100;

const isSet = (value) => value !== undefined && value !== null && value !== '' && Number(value) !== 0;

function rateText(rule) {
  return isSet(rule.rate)
    ? `${count(rule.rate)} in ${duration(rule.per)}${Number(rule.burst) > 1 ? `, burst ${rule.burst}`
      : ''}` : null;
}

function stateText(one) {
  const kind = { open: 'good', full: 'warn', rate: 'warn', held: 'bad' }[one.state] ?? '';
  const text = { full: 'all slots in use', rate: 'rate used up', held: 'on hold' }[one.state] ??
    one.state;
  return [pill(text, kind), isSet(one.opens) && one.state !== 'open' && one.state !== 'full'
    ? [' ', when(one.opens)] : null];
}

async function editLimit(one, ctx) {
  const text = (value) => (isSet(value) ? String(value) : '');
  const number = (name, label, value, hint) => ({ name, label, type: 'number', min: '0', step: 'any',
    value: text(value), hint });
  const values = await ask({
    title: one ? `Change ${display(one.name)}` : 'New limit',
    confirm: 'Set the limit',
    fields: [
      one ? null : { name: 'name', label: 'Name', required: true, hint: 'domain:* is a pattern.' },
      number('concurrency', 'Jobs at the same time', one?.concurrency, 'Empty for any number.'),
      number('rate', 'Jobs handed out', one?.rate, 'Empty for any number.'),
      number('per', 'in this number of seconds', isSet(one?.rate) ? one.per : ''),
      number('burst', 'Burst', isSet(one?.rate) ? one.burst : ''),
    ].filter(Boolean),
    check: (v) => (!v.concurrency && !v.rate ? 'Set a number of jobs, a rate, or both.'
      : Boolean(v.rate) !== Boolean(v.per) ? 'A rate needs its seconds.' : null),
  });
  if (!values) {
    return;
  }
  const rule = (from) => Object.fromEntries(['concurrency', 'rate', 'per', 'burst']
    .filter((name) => isSet(from[name]) && (isSet(from.rate) || name === 'concurrency'))
    .map((name) => [name, Number(from[name])]));
  const name = one?.name ?? values.name;
  await attempt(async () => {
    await calls.setLimit(name, rule(values));
    say(`The limit ${display(name)} is set.`, { undo: async () => {
      await attempt(() => (one ? calls.setLimit(name, rule(one)) : calls.deleteLimit(name)));
      ctx.refresh();
    } });
  });
  ctx.refresh();
}

async function hold(one, ctx) {
  const values = await ask({ title: `Hold ${display(one.name)}`, confirm: 'Hold',
    body: h('p', null, 'No job is handed out under this limit for that time.'),
    fields: [{ name: 'seconds', label: 'Seconds', type: 'number', min: '0', step: 'any', value: '60',
      required: true }] });
  if (values) {
    await attempt(async () => {
      await calls.holdLimit(one.name, Number(values.seconds));
      say(`${display(one.name)} is on hold.`, { undo: async () => {
        await attempt(() => calls.holdLimit(one.name, 0));
        ctx.refresh();
      } });
    });
    ctx.refresh();
  }
}

async function remove(one, ctx) {
  const values = await ask({ title: `Delete the limit ${display(one.name)}?`, danger: true,
    confirm: 'Delete', body: h('p', null, 'Jobs under this limit may run at once.') });
  if (values) {
    await attempt(async () => {
      await calls.deleteLimit(one.name);
      say(`The limit ${display(one.name)} is deleted.`);
    });
    ctx.go('#/limits');
  }
}

const COLUMNS = [
  { title: 'Limit', cell: (one) => h('a', { href: path('limits', one.name), class: 'name' },
    display(one.name)) },
  { title: 'State', cell: stateText },
  { title: 'Running', class: 'num', cell: (one) => [quietNumber(one.running),
    isSet(one.concurrency) ? dim(` of ${count(one.concurrency)}`) : null] },
  { title: 'Waiting', class: 'num', cell: (one) => quietNumber(one.waiting) },
  { title: 'Rate', cell: (one) => rateText(one) ?? dim('–') },
  { title: 'Rule', cell: (one) => (one.rule && one.rule !== one.name ? display(one.rule) : dim('own')) },
];

export const limits = {
  title: () => 'Limits',

  async load(ctx) {
    const { limits: list, cursor } = await calls.limits({ cursor: ctx.query.cursor ?? '0',
      count: PAGE, match: ctx.query.match }, ctx.signal);
    return { list, cursor: String(cursor) };
  },

  view({ list, cursor }, ctx) {
    const here = (query) => withQuery('#/limits', { ...ctx.query, ...query });
    const bar = h('div', { class: 'bar' },
      h('form', { onsubmit: (event) => {
        event.preventDefault();
        ctx.go(here({ match: event.target.elements.match.value, cursor: '' }));
      } }, h('input', { type: 'search', name: 'match', value: ctx.query.match ?? '',
        'aria-label': 'Names that match a pattern', placeholder: 'Pattern: domain:*' })),
      h('span', { class: 'spring' }),
      can('limit.set') ? button('New limit', () => editLimit(null, ctx)) : null);
    return [bar,
      list.length ? table(COLUMNS, list, { key: (one) => identity(one.name), caption: 'Limits' })
        : empty('There are no limits here.', 'A limit bounds how many jobs run, and how fast.'),
      ctx.query.cursor || cursor !== '0' ? pager('',
        ctx.query.cursor ? () => ctx.go(here({ cursor: '' })) : null,
        cursor !== '0' ? () => ctx.go(here({ cursor })) : null) : null];
  },
};

export const limit = {
  title: (ctx) => display(ctx.params[0]),
  load: (ctx) => calls.limit(ctx.params[0], ctx.signal),

  view(one, ctx) {
    const holders = one.holders ?? [];
    return [
      h('div', { class: 'bar actions' }, stateText(one), h('span', { class: 'spring' }),
        can('limit.set') ? button('Change', () => editLimit(one, ctx)) : null,
        can('limit.hold') ? button('Hold', () => hold(one, ctx)) : null,
        can('limit.delete') ? button('Delete', () => remove(one, ctx), { class: 'danger' }) : null),
      panel(null, facts([
        ['Rule', display(one.rule)],
        ['Running', isSet(one.concurrency) ? `${count(one.running)} of ${count(one.concurrency)}`
          : count(one.running)],
        ['Waiting', count(one.waiting)], ['Rate', rateText(one)],
        ['Tokens', isSet(one.rate) ? String(one.tokens) : null], ['Weight', String(one.weight ?? '')],
        ['On hold until', isSet(one['held-until']) ? when(one['held-until']) : null],
        ['Ends', isSet(one.expires) ? when(one.expires) : null],
      ]), isSet(one.concurrency)
        ? gauge(one.running / one.concurrency, 'Slots in use',
          one.running >= one.concurrency ? 'warn' : 'good') : null),
      holders.length ? panel('Held by', table([
        { title: 'Job', cell: (row) => jobLink(row.jid) },
        { title: 'Queue', cell: (row) => queueLink(row.queue) },
        { title: 'Worker', cell: (row) => workerLink(row.worker) },
        { title: 'Lock ends', cell: (row) => when(row.expires) },
      ], holders, { key: (row) => identity(row.jid), caption: 'Jobs that hold a slot' })) : null,
    ];
  },
};
