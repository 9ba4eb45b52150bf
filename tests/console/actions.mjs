// Everything that a user can do in the console, and how it is undone.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { fail, get, job, pop, post, put, request } from './lib/daemon.mjs';
import { runInBrowser } from './lib/run.mjs';
import { until } from './lib/tap.mjs';

// What the history of a job says that users did.
async function notes(jid) {
  return (await job(jid)).history.map((entry) => entry.what)
    .filter((what) => what.includes(' by olga'));
}

async function exists(jid) {
  return (await get(`/jobs?jid=${jid}`)).length === 1;
}

// Opens the page of a job for a user that may act.
async function openJob(open, jid) {
  const screen = await open();
  await screen.logIn('olga');
  await screen.go(`#/jobs/${jid}`);
  return screen;
}

const is = (jid, name, value) => until(async () => {
  const found = (await job(jid))[name];
  return JSON.stringify(found) === JSON.stringify(value);
}, `${name} of ${jid} is ${JSON.stringify(value)}`);

const cases = {
  'retry of a failed job returns it to its queue': async ({ open }) => {
    await fail('retried', 'retried-1', 'group');
    const screen = await openJob(open, 'retried-1');
    await screen.click('Retry');
    await is('retried-1', 'state', 'waiting');
    assert.equal((await job('retried-1')).queue, 'retried');
    await until(async () => (await notes('retried-1')).includes('requeued by olga in the console'));
  },

  'a scheduled job runs now': async ({ open }) => {
    await put('early', 'early-1', {}, { delay: 3600 });
    const screen = await openJob(open, 'early-1');
    await screen.click('Run now');
    await is('early-1', 'state', 'waiting');
  },

  'a job moves to another queue and back': async ({ open }) => {
    await put('here', 'moved-1', { keep: 1 }, { priority: 3, tags: ['t'] });
    const screen = await openJob(open, 'moved-1');
    await screen.click('Requeue elsewhere');
    await screen.answer({ Queue: 'there' });
    await is('moved-1', 'queue', 'there');
    const moved = await job('moved-1');
    assert.deepEqual([moved.data, moved.priority, moved.tags], [{ keep: 1 }, 3, ['t']]);
    await screen.undo('moved-1 is in there.');
    await is('moved-1', 'queue', 'here');
    await until(async () => (await notes('moved-1')).length === 2);
  },

  'a priority changes and is restored': async ({ open }) => {
    await put('ranked', 'ranked-1', {}, { priority: 1 });
    const screen = await openJob(open, 'ranked-1');
    await screen.click('Priority');
    await screen.answer({ Priority: '9' });
    await is('ranked-1', 'priority', 9);
    await until(async () => (await notes('ranked-1')).includes('priority changed by olga in the console'));
    await screen.undo('The priority is 9.');
    await is('ranked-1', 'priority', 1);
  },

  'tags are added and removed, with a way back': async ({ open }) => {
    await put('tagged', 'tagged-1');
    const screen = await openJob(open, 'tagged-1');
    await screen.click('Tag');
    await screen.answer({ Tags: 'red, green' });
    await is('tagged-1', 'tags', ['red', 'green']);
    await screen.click('Remove the tag red');
    await is('tagged-1', 'tags', ['green']);
    await screen.undo('Removed the tag red.');
    await until(async () => (await job('tagged-1')).tags.includes('red'));
  },

  'a job is tracked and untracked': async ({ open }) => {
    await put('tracked', 'tracked-1');
    const screen = await openJob(open, 'tracked-1');
    await screen.click('Track');
    await is('tracked-1', 'tracked', true);
    await screen.click('Untrack');
    await is('tracked-1', 'tracked', false);
    await screen.undo('no longer tracked');
    await is('tracked-1', 'tracked', true);
  },

  'a running job is taken from its worker': async ({ open }) => {
    await put('held', 'held-1');
    await pop('held', 'slow');
    const screen = await openJob(open, 'held-1');
    await screen.click('Take from worker');
    await screen.answer();
    await until(async () => (await job('held-1')).state !== 'running');
  },

  'data are edited and restored': async ({ open }) => {
    await put('edited', 'edited-1', { wrong: 1 });
    const screen = await openJob(open, 'edited-1');
    await screen.click('Edit data');
    await screen.answer({ 'Data (JSON)': '{"broken":' });
    await screen.sees('This is not JSON');
    await screen.answer({ 'Data (JSON)': '{"right": 12345678901234567890}' });
    await until(async () => 'right' in (await job('edited-1')).data);
    await screen.sees('12345678901234567890');
    await screen.undo('waits with its new data');
    await is('edited-1', 'data', { wrong: 1 });
  },

  'a note appears in the history': async ({ open }) => {
    await put('noted', 'noted-1');
    const screen = await openJob(open, 'noted-1');
    await screen.click('Add a note');
    await screen.answer({ Text: 'asked the customer' });
    await screen.page.locator('.timeline').getByText('asked the customer').waitFor();
    await screen.page.locator('.timeline').getByText('by: olga').waitFor();
  },

  'a canceled job is put back': async ({ open }) => {
    await put('gone', 'gone-1', { keep: 1 }, { priority: 4, tags: ['x'] });
    const screen = await openJob(open, 'gone-1');
    await screen.click('Cancel');
    screen.refusals.add(404); // its page refreshes
    await screen.answer();
    await until(async () => !await exists('gone-1'));
    await screen.undo('gone-1 is canceled.');
    await until(() => exists('gone-1'));
    const again = await job('gone-1');
    assert.deepEqual([again.data, again.priority, again.tags, again.queue],
      [{ keep: 1 }, 4, ['x'], 'gone']);
  },

  'a cancel lists the dependents and takes them along': async ({ open }) => {
    await put('chain', 'chain-1');
    await put('chain', 'chain-2', {}, { depends: ['chain-1'] });
    await put('chain', 'chain-3', {}, { depends: ['chain-2'] });
    const screen = await openJob(open, 'chain-1');
    await screen.click('Cancel');
    await screen.page.locator('dialog').getByText('chain-3').waitFor();
    screen.refusals.add(404);
    await screen.answer();
    await until(async () => !await exists('chain-1') && !await exists('chain-3'));
  },

  'a question that is not confirmed changes nothing': async ({ open }) => {
    await put('kept', 'kept-1');
    const screen = await openJob(open, 'kept-1');
    await screen.click('Cancel');
    await screen.page.locator('dialog').getByRole('button', { name: 'Keep as is' }).click();
    await screen.page.locator('dialog').waitFor({ state: 'detached' });
    assert(await exists('kept-1'));
  },

  'a finished job is deleted': async ({ open }) => {
    await put('over', 'over-1');
    await pop('over');
    await post('/jobs/over-1/complete', { worker: 'worker-1' });
    const screen = await openJob(open, 'over-1');
    screen.refusals.add(404);
    await screen.click('Delete');
    await screen.answer();
    await until(async () => !await exists('over-1'));
  },

  'a queue is paused and runs again': async ({ open }) => {
    await put('paused', 'paused-1');
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/queues');
    const state = async () => (await get('/queues/paused')).paused;
    await screen.click('Pause paused');
    await until(async () => await state() === true);
    await screen.undo('paused is paused.');
    await until(async () => await state() === false);
  },

  'an option of a queue is set and restored': async ({ open }) => {
    await put('tuned', 'tuned-1');
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/queues/tuned');
    await screen.click('Set heartbeat');
    await screen.answer({ Value: '120' });
    await until(async () => (await get('/options'))['tuned-heartbeat'] === '120');
    await screen.undo('tuned-heartbeat is 120.');
    await until(async () => !('tuned-heartbeat' in await get('/options')));
  },

  'a group of failures is retried': async ({ open }) => {
    await fail('bulk-a', 'bulk-1', 'bulk-group');
    await fail('bulk-b', 'bulk-2', 'bulk-group');
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/failures/bulk-group');
    await screen.click('Retry all of bulk-group');
    await screen.sees('Retry 2 jobs');
    await screen.answer();
    await is('bulk-1', 'state', 'waiting');
    await is('bulk-2', 'state', 'waiting');
    assert.equal((await job('bulk-2')).queue, 'bulk-b');
  },

  'a group of failures moves to one queue': async ({ open }) => {
    await fail('from-a', 'from-1', 'from-group');
    await fail('from-b', 'from-2', 'from-group');
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/failures');
    await screen.click('Move all of from-group');
    await screen.answer({ Queue: 'rescue' });
    await is('from-1', 'queue', 'rescue');
    await is('from-2', 'queue', 'rescue');
  },

  'a group of failures is canceled, apart from a job that others need': async ({ open }) => {
    await fail('lost', 'lost-1', 'lost-group');
    await fail('lost', 'lost-2', 'lost-group');
    await put('lost', 'needs-lost-2', {}, { depends: ['lost-2'] });
    const screen = await open({ refusals: [409] });
    await screen.logIn('olga');
    await screen.go('#/failures/lost-group');
    await screen.click('Cancel all of lost-group');
    await screen.answer();
    await until(async () => !await exists('lost-1'));
    await screen.sees(/1 request failed. lost-2:/);
    assert(await exists('lost-2'));
  },

  'chosen jobs get another priority': async ({ open }) => {
    await put('some', 'some-1');
    await put('some', 'some-2');
    await put('some', 'some-3');
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/queues/some');
    await screen.page.getByLabel('Choose some-1').check();
    await screen.page.getByLabel('Choose some-3').check();
    await screen.sees('2 jobs chosen');
    await screen.click('Priority');
    await screen.answer({ Priority: '7' });
    await is('some-1', 'priority', 7);
    await is('some-3', 'priority', 7);
    assert.equal((await job('some-2')).priority, 0);
  },

  'all jobs of a filter are counted first, then canceled': async ({ open }) => {
    for (let i = 0; i < 120; i++) {
      await put('many', `many-${i}`, {}, { tags: [i % 2 ? 'odd' : 'even'] });
    }
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/search?q=queue:many%20tag:odd');
    await screen.click('Cancel all');
    await screen.sees('Cancel: 60 jobs');
    await screen.answer();
    await until(async () => (await get('/queues/many')).waiting === 60);
    assert(await exists('many-0'));
  },

  'a bulk action says that the list has more jobs than it takes': async ({ open }) => {
    await put('long', 'long-1');
    const screen = await open();
    await screen.logIn('olga');
    // A list without an end, in portions that do not fill the most jobs exactly.
    const counts = await screen.page.evaluate(async () => {
      window.load = () => import(new URL('bulk.js', document.querySelector('script[src]').src));
      const { bulk, collect } = await window.load();
      const portion = Array.from({ length: 999 }, (_, i) => `endless-${i}`);
      const endless = await collect(async () => ({ jids: portion, next: 1 }));
      const short = await collect(async () => ({ jids: portion, next: null }));
      window.ended = bulk('cancel', endless.jids, endless.hasMore);
      return [endless.jids.length, endless.hasMore, short.jids.length, short.hasMore];
    });
    assert.deepEqual(counts, [100000, true, 999, false]);
    await screen.sees('The list has more jobs. This action takes the first 100,000 of them.');
    await screen.click('Keep as is');
    await screen.page.evaluate(async () => {
      await window.ended;
      const { bulk } = await window.load();
      window.ended = bulk('priority', ['long-1'], true);
    });
    await screen.sees('This action takes the first 1 of them.');
    await screen.answer({ Priority: '7' });
    await screen.sees('The list had more jobs, which are unchanged.');
    await is('long-1', 'priority', 7);
  },

  'the jobs of a worker are released': async ({ open }) => {
    await put('freed', 'freed-1');
    await pop('freed', 'stuck');
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/workers/stuck');
    await screen.click('Release its jobs');
    await screen.answer();
    await is('freed-1', 'state', 'waiting');
  },

  'a recurring job is changed, removed and put back': async ({ open }) => {
    await post('/queues/mail/recurring', { jid: 'tick', class: 'Tick', data: { n: 1 },
      cron: '0 3 * * *', tz: 'Europe/Berlin' });
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/recurring/tick');
    await screen.click('Change');
    await screen.answer({ 'Cron expression': '30 4 * * *' });
    const cron = async () => (await get('/recurring/tick')).cron;
    await until(async () => await cron() === '30 4 * * *');
    await screen.undo('tick is changed.');
    await until(async () => await cron() === '0 3 * * *');
    screen.refusals.add(404);
    await screen.click('Remove');
    await screen.answer();
    await until(async () => (await get('/recurring?queue=mail')).jobs.length === 0);
    await screen.undo('tick is removed.');
    await until(async () => (await get('/recurring?queue=mail')).jobs.length === 1);
    assert.equal((await get('/recurring/tick')).tz, 'Europe/Berlin');
  },

  'a limit is made, held, changed and deleted': async ({ open }) => {
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/limits');
    await screen.click('New limit');
    await screen.answer({ Name: 'api' });
    await screen.sees('Set a number of jobs, a rate, or both.');
    await screen.answer({ 'Jobs at the same time': '5' });
    await until(async () => (await get('/limits')).limits.some((one) => one.name === 'api'));
    screen.refusals.add(404);
    await screen.go('#/limits/api');
    await screen.click('Hold');
    await screen.answer({ Seconds: '600' });
    const state = async () => (await get('/limits/api')).state;
    await until(async () => await state() === 'held');
    await screen.undo('api is on hold.');
    await until(async () => await state() === 'open');
    await screen.closeMessages();
    await screen.click('Change');
    await screen.answer({ 'Jobs at the same time': '8' });
    const concurrency = async () => (await get('/limits/api')).concurrency;
    await until(async () => await concurrency() === 8);
    await screen.undo('The limit api is set.');
    await until(async () => await concurrency() === 5);
    await screen.click('Delete');
    await screen.answer();
    await until(async () => !(await get('/limits')).limits.some((one) => one.name === 'api'));
  },

  'an endpoint is tested, paused and deleted': async ({ open }) => {
    const asked = [];
    const receiver = http.createServer((given, answer) => {
      asked.push(given.url);
      answer.writeHead(asked.length === 1 ? 200 : 500).end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    try {
      await request('PUT', '/endpoints/hook', { queues: ['hooked'],
        url: `http://127.0.0.1:${receiver.address().port}/here` });
      const screen = await open();
      await screen.logIn('olga');
      await screen.go('#/endpoints');
      await screen.click('Test hook');
      await screen.sees('hook answered with status 200');
      await screen.click('Test hook');
      await screen.sees('status 500');
      assert.deepEqual(asked, ['/here', '/here']);
      const isPaused = async () => Number((await get('/endpoints'))[0].paused);
      await screen.click('Pause hook');
      await until(async () => await isPaused() === 1);
      await screen.undo('hook is paused.');
      await until(async () => await isPaused() === 0);
      await screen.click('Delete hook');
      await screen.answer();
      await until(async () => (await get('/endpoints')).length === 0);
    } finally {
      receiver.close();
    }
  },

  'the log is rewritten, and a client is disconnected': async ({ open }) => {
    const screen = await open();
    await screen.logIn('olga');
    await screen.go('#/server');
    await screen.click('Rewrite the log');
    await screen.answer();
    await until(async () => Number((await get('/info')).persistence.aof_rewrites) > 0);
    const socket = net.connect(process.env.QLESSD_PORT, '127.0.0.1');
    await once(socket, 'connect');
    await screen.go('#/server?show=clients');
    const row = screen.page.locator('tr', { hasText: `127.0.0.1:${socket.localPort}` });
    await row.getByRole('button').click();
    const closed = once(socket, 'close');
    await screen.answer();
    socket.resume();
    await closed;
  },

  'the server refuses an action, and the page says why': async ({ open }) => {
    await put('raced', 'raced-1');
    const screen = await openJob(open, 'raced-1');
    screen.refusals.add(404).add(409);
    await screen.click('Priority');
    await request('POST', '/jobs/raced-1/cancel', {});
    await screen.answer({ Priority: '3' });
    await screen.page.locator('.message.bad').waitFor();
  },
};

await runInBrowser(cases);
