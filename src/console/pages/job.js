/*
 * One job with everything that the server knows about it.
 */
import { actionsFor, removeTag } from '../actions.js';
import * as calls from '../calls.js';
import { gauge } from '../chart.js';
import { h } from '../dom.js';
import { dateTime, duration, now, plural, when } from '../format.js';
import { codeBlock, pretty } from '../json.js';
import { display, identity, isBytes, segment } from '../names.js';
import { can } from '../session.js';
import { button, copyButton, dim, facts, jobLink, panel, path, pill, queueLink, stateBadge, tagLink,
  workerLink } from '../ui.js';
import { graph } from './graph.js';

/* Entries of a history that are shown at first, at its start and at its end. */
const HISTORY_ENDS = 20;

/* ---- why it does not run ---- */

function whyPanel(why) {
  if (!why || !why.explanation || why.state === 'complete') {
    return null;
  }
  return panel('Why it does not run', h('p', null, display(why.explanation), '.'),
    why.limit ? h('p', null, 'Limit: ', h('a', { href: path('limits', why.limit) },
      display(why.limit))) : null,
    Array.isArray(why.holders) && why.holders.length
      ? h('ul', { class: 'plain' }, why.holders.map((holder) => h('li', null, 'held by ',
        jobLink(holder.jid), ' ', holder.worker ? workerLink(holder.worker) : null))) : null,
    why.opens ? h('p', null, 'It opens ', when(why.opens), '.') : null);
}

/* ---- data, result, error ---- */

function valueText(value) {
  if (isBytes(value)) {
    return { text: value.base64, isJson: false, label: 'base64 of bytes' };
  }
  return { text: pretty(value), isJson: true };
}

function dataPanel(title, value) {
  const { text, isJson, label } = valueText(value);
  return h('section', { class: 'panel', key: title },
    h('div', { class: 'bar' }, h('h2', null, title), label ? dim(label) : null,
      h('span', { class: 'spring' }), copyButton(() => text)),
    codeBlock(text, title, isJson));
}

/* A result is text, often JSON. */
function resultPanel(result) {
  if (result === undefined || result === null) {
    return null;
  }
  if (typeof result !== 'string') {
    return dataPanel('Result', result);
  }
  try {
    return dataPanel('Result', calls.readJson(result));
  } catch {
    return textPanel('Result', result);
  }
}

function textPanel(title, text) {
  return h('section', { class: 'panel', key: title },
    h('div', { class: 'bar' }, h('h2', null, title), h('span', { class: 'spring' }),
      copyButton(() => text)),
    codeBlock(text, title, false));
}

function failurePanel(job) {
  const failure = job.failure ?? {};
  if (!failure.group && !job.error) {
    return null;
  }
  return [
    failure.group ? panel('Failure',
      h('p', { class: 'failure' }, h('a', { href: path('failures', failure.group), class: 'pill bad' },
        display(failure.group)), ' ', display(failure.message)),
      h('p', { class: 'dim' }, when(failure.when), failure.worker
        ? [' on ', workerLink(failure.worker)] : null)) : null,
    job.error ? textPanel('Error', display(job.error)) : null,
  ];
}

/* ---- history ---- */

const EVENT_KINDS = { failed: 'bad', 'failed-retries': 'bad', 'timed-out': 'warn', done: 'good',
  completed: 'good', popped: 'info' };

function entry(item, before) {
  const { when: at, what, q, worker, ...rest } = item;
  delete rest.data;
  const details = Object.entries({ ...rest, ...(item.data instanceof Object ? item.data : {}) })
    .map(([name, value]) => `${name}: ${value instanceof Object ? pretty(value) : value}`);
  return h('li', { class: EVENT_KINDS[what] ?? '' },
    h('span', { class: 'gap' }, before === null ? '' : `+${duration(at - before)}`),
    h('span', { class: 'what' }, display(what)),
    q ? [' in ', queueLink(q)] : null, worker ? [' by ', workerLink(worker)] : null,
    details.length ? h('span', { class: 'dim' }, ' ', details.join(', ')) : null,
    h('span', { class: 'at' }, when(at, dateTime(at))));
}

function historyPanel(job, ctx) {
  const all = job.history ?? [];
  const cut = !ctx.state.wholeHistory && all.length > 2 * HISTORY_ENDS;
  const rows = all.map((item, i) => ({ item, before: i ? all[i - 1].when : null }));
  const list = (part) => part.map(({ item, before }) => entry(item, before));
  return panel('History', h('ol', { class: 'timeline' }, cut ? [
    list(rows.slice(0, HISTORY_ENDS)),
    h('li', { key: 'more' }, button(`Show ${all.length - 2 * HISTORY_ENDS} more`, () => {
      ctx.state.wholeHistory = true;
      ctx.update();
    }, { class: 'small' })),
    list(rows.slice(-HISTORY_ENDS)),
  ] : list(rows)));
}

/* ---- facts ---- */

function lockText(job) {
  if (!job.expires || !/^(running|stalled)$/.test(job.state)) {
    return null;
  }
  return job.expires < now() ? ['expired ', when(job.expires)] : ['ends ', when(job.expires)];
}

/* Members of a job that have a place of their own on the page. */
const SHOWN = new Set(['jid', 'data', 'history', 'failure', 'dependencies', 'dependents', 'tags',
  'meta', 'result', 'error', 'state', 'klass', 'queue', 'worker', 'expires', 'priority', 'retries',
  'remaining', 'tracked', 'progress', 'note', 'lock', 'started', 'pid', 'node', 'spawned_from_jid',
  'limits', 'at']);

function factsPanel(job) {
  const others = Object.entries(job).filter(([name, value]) => !SHOWN.has(name) &&
    value !== null && value !== '' && value !== false)
    .map(([name, value]) => [name, value instanceof Object ? pretty(value) : String(value)]);
  return panel(null, facts([
    ['Class', h('span', { class: 'name' }, display(job.klass))],
    ['Queue', queueLink(job.queue)],
    ['Priority', String(job.priority)],
    ['Retries left', `${job.remaining} of ${job.retries}`],
    ['Worker', job.worker ? workerLink(job.worker) : null],
    ['Node', job.node], ['Process', job.pid],
    ['Lock', lockText(job)], ['Lock number', job.lock],
    ['Started', job.started ? when(job.started) : null],
    ['Due', job.at ? when(job.at) : null],
    ['Spawned by', job.spawned_from_jid
      ? h('a', { href: path('recurring', job.spawned_from_jid) }, display(job.spawned_from_jid)) : null],
    ['Tags', job.tags.length ? h('span', null, job.tags.map((tag) =>
      h('span', { class: 'with-button' }, tagLink(tag), can('tag')
        ? button('×', () => removeTag(job, tag), { class: 'small quiet',
          'aria-label': `Remove the tag ${display(tag)}` }) : null))) : null],
    ['Limits', job.limits?.length ? h('span', null, job.limits.map((name) =>
      h('a', { href: path('limits', name), class: 'tag' }, display(name)))) : null],
    ...others,
  ]), job.progress !== undefined && job.progress !== null ? h('div', { class: 'progress' },
    gauge(job.progress / 100, 'Progress', 'good'),
    h('span', null, `${job.progress}% `, dim(display(job.note)))) : null);
}

function metaPanel(meta) {
  return meta && Object.keys(meta).length
    ? panel('Fields of the application', facts(Object.entries(meta))) : null;
}

function actionBar(job, ctx) {
  const actions = actionsFor(job);
  return actions.length ? h('div', { class: 'bar actions', role: 'group', 'aria-label': 'Actions' },
    actions.map((action) => button(action.label, async () => {
      await action.run(job);
      ctx.refresh();
    }, { class: action.kind ?? '', key: action.label }))) : null;
}

const waits = (job) => /^(waiting|scheduled|depends|stalled)$/.test(job.state);

export const job = {
  title: (ctx) => display(ctx.params[0]),
  matters: (event, ctx) => event.jid === undefined || identity(event.jid) === identity(ctx.params[0]) ||
    (ctx.state.near?.has(identity(event.jid)) ?? false),

  async load(ctx) {
    const [jid] = ctx.params;
    const one = await calls.getJob(jid, ctx.signal);
    const near = [...(one.dependencies ?? []), ...(one.dependents ?? [])];
    ctx.state.near = new Set(near.map(identity));
    const [why, neighbours] = await Promise.all([
      waits(one) && can('job.why') ? calls.why(jid, ctx.signal).catch(() => null) : null,
      near.length && can('multiget') ? calls.getJobs(near.slice(0, 40), ctx.signal) : [],
    ]);
    return { one, why, neighbours };
  },

  view({ one, why, neighbours }, ctx) {
    const around = (one.dependencies?.length ?? 0) + (one.dependents?.length ?? 0);
    return [
      h('div', { class: 'bar' }, stateBadge(one.state), one.tracked ? pill('tracked', 'info') : null,
        copyButton(() => display(one.jid), 'Copy jid'),
        h('a', { class: 'dim', href: `/v1/jobs/${segment(one.jid)}`, target: '_blank',
          rel: 'noopener' }, 'JSON')),
      actionBar(one, ctx),
      h('div', { class: 'halves' },
        h('div', { class: 'stack' },
          factsPanel(one), whyPanel(why), failurePanel(one),
          dataPanel('Data', one.data), resultPanel(one.result), metaPanel(one.meta)),
        h('div', { class: 'stack' },
          around ? panel('Dependencies', h('p', { class: 'dim' },
            [one.dependencies?.length ? `waits for ${plural(one.dependencies.length, 'job')}` : null,
              one.dependents?.length ? `${plural(one.dependents.length, 'job')} waiting for it` : null]
              .filter(Boolean).join(', ')), graph(one, neighbours)) : null,
          historyPanel(one, ctx))),
    ];
  },
};
