/*
 * Endpoints: addresses that the server pushes jobs to.
 */
import * as calls from '../calls.js';
import { ask, attempt, say } from '../dialog.js';
import { h } from '../dom.js';
import { count, when } from '../format.js';
import { display, identity } from '../names.js';
import { can } from '../session.js';
import { button, empty, facts, pill, queueLink } from '../ui.js';

const STATES = { closed: ['working', 'good'], open: ['does not answer', 'bad'],
  'half-open': ['is tried again', 'warn'] };

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
    const took = `after ${count(answer.milliseconds)} ms`;
    if (answer.error || answer.status >= 300) {
      throw new Error(`The test failed ${took}: ${answer.error ?? `status ${answer.status}`}`);
    }
    say(`${display(one.name)} answered with status ${answer.status} ${took}.`);
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

function stateOf(one) {
  const [text, kind] = one.paused ? ['paused', 'warn'] : STATES[one.state] ?? [one.state, 'warn'];
  return pill(text, kind);
}

function outcomes(one) {
  return `${count(one.completed)} completed, ${count(one.retried)} retried, ${
    count(one.failed)} failed`;
}

function actions(one, ctx) {
  const name = display(one.name);
  return [
    can(one.paused ? 'endpoint.unpause' : 'endpoint.pause')
      ? button(one.paused ? 'Unpause' : 'Pause', () => setPaused(one, !one.paused, ctx),
        { class: 'small', 'aria-label': `${one.paused ? 'Unpause' : 'Pause'} ${name}` }) : null,
    can('endpoint.test') ? button('Test', () => test(one, ctx),
      { class: 'small', 'aria-label': `Test ${name}` }) : null,
    can('endpoint.delete') ? button('Delete', () => remove(one, ctx),
      { class: 'small danger', 'aria-label': `Delete ${name}` }) : null,
  ];
}

function card(one, ctx) {
  const headers = Object.entries(one.headers ?? {});
  return h('section', { class: 'panel', key: identity(one.name) },
    h('div', { class: 'bar' }, h('h2', null, display(one.name)), stateOf(one),
      h('span', { class: 'spring' }), actions(one, ctx)),
    facts([
      ['URL', h('span', { class: 'name' }, display(one.url)), 'long'],
      ['Queues', one.queues.map((q) => [queueLink(q), ' '])],
      ['Class', one.class],
      ['Requests under way', `${one.running} of ${one.concurrency}`],
      ['Timeout', `${one.timeout} s`], ['Signed', one.signed ? 'yes' : 'no'],
      ['Headers', headers.length ? headers.map(([name, value]) => `${name}: ${display(value)}`)
        .join('\n') : null],
      ['Requests', count(one.sent)], ['Outcomes', outcomes(one), 'long'],
      ['Failures in a row', one.failures ? count(one.failures) : null],
      ['Next try', one.opens ? when(one.opens) : null],
      ['Last request', one['last-sent'] ? when(one['last-sent']) : null],
      ['Last status', one['last-status']],
      ['Last error', one['last-error'], 'long'],
    ]));
}

export const endpoints = {
  title: () => 'Endpoints',
  load: (ctx) => calls.endpoints(ctx.signal),

  view(all, ctx) {
    return all.length ? all.map((one) => card(one, ctx))
      : empty('There are no endpoints.', 'ENDPOINT.SET makes the server push jobs to an address.');
  },
};
