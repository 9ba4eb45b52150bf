/*
 * Endpoints: addresses that the server pushes jobs to.
 */
import * as calls from '../calls.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { when } from '../format.js';
import { pretty } from '../json.js';
import { display, identity } from '../names.js';
import { can } from '../session.js';
import { button, empty, facts, pill, queueLink } from '../ui.js';

const list = (answer) => (Array.isArray(answer) ? answer : answer?.endpoints ?? []);

const SHOWN = new Set(['name', 'url', 'queues', 'state', 'paused', 'error', 'secret', 'class',
  'concurrency', 'running', 'timeout', 'headers', 'retry-at', 'last-error']);

async function setPaused(one, paused, ctx) {
  await attempt(async () => {
    await (paused ? calls.pauseEndpoint(one.name) : calls.unpauseEndpoint(one.name));
    say(`${display(one.name)} is ${paused ? 'paused' : 'working again'}.`,
      { undo: () => setPaused(one, !paused, ctx) });
  });
  ctx.refresh();
}

async function test(one, ctx) {
  await attempt(async () => {
    const answer = await calls.testEndpoint(one.name);
    await ask({ title: `Test of ${display(one.name)}`, confirm: 'Close',
      body: h('pre', { class: 'code', tabindex: '0' }, pretty(answer)) });
  });
  ctx.refresh();
}

async function remove(one, ctx) {
  const values = await ask({ title: `Delete the endpoint ${display(one.name)}?`, danger: true,
    confirm: 'Delete', body: h('p', null, 'Its queues keep their jobs, and nobody is sent them.') });
  if (values) {
    await attempt(async () => {
      await calls.deleteEndpoint(one.name);
      say(`The endpoint ${display(one.name)} is deleted.`);
    });
    ctx.refresh();
  }
}

const isPaused = (one) => one.paused === true || Number(one.paused) === 1 || one.state === 'paused';

function stateOf(one) {
  if (isPaused(one)) {
    return pill('paused', 'warn');
  }
  const isFine = !one.state || /^(ok|closed|idle|active|open)$/.test(one.state);
  return pill(isFine ? 'working' : display(one.state), isFine ? 'good' : 'bad');
}

function card(one, ctx) {
  const others = Object.entries(one).filter(([name, value]) => !SHOWN.has(name) && value !== null &&
    value !== '').map(([name, value]) => [name, value instanceof Object ? pretty(value) : String(value)]);
  const paused = isPaused(one);
  return h('section', { class: 'panel', key: identity(one.name) },
    h('div', { class: 'bar' }, h('h2', null, display(one.name)), stateOf(one),
      h('span', { class: 'spring' }),
      can(paused ? 'endpoint.unpause' : 'endpoint.pause')
        ? button(paused ? 'Unpause' : 'Pause', () => setPaused(one, !paused, ctx),
          { class: 'small', 'aria-label': `${paused ? 'Unpause' : 'Pause'} ${display(one.name)}` })
        : null,
      can('endpoint.test') ? button('Test', () => test(one, ctx),
        { class: 'small', 'aria-label': `Test ${display(one.name)}` }) : null,
      can('endpoint.delete') ? button('Delete', () => remove(one, ctx),
        { class: 'small danger', 'aria-label': `Delete ${display(one.name)}` }) : null),
    facts([
      ['URL', h('span', { class: 'name' }, display(one.url))],
      ['Queues', (one.queues ?? []).map((q) => [queueLink(q), ' '])],
      ['Class', one.class], ['Running', one.running === undefined ? null
        : `${one.running} of ${one.concurrency}`],
      ['Timeout', one.timeout ? `${one.timeout} s` : null],
      ['Next try', Number(one['retry-at']) ? when(one['retry-at']) : null],
      ['Last error', one['last-error'] || one.error], ...others,
    ]));
}

export const endpoints = {
  title: () => 'Endpoints',
  load: async (ctx) => list(await calls.endpoints(ctx.signal)),

  view(all, ctx) {
    return all.length ? all.map((one) => card(one, ctx))
      : empty('There are no endpoints.', 'ENDPOINT.SET makes the server push jobs to an address.');
  },
};
