// Every page with what it shows, the keyboard, narrow screens, and what axe says.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { BASE, fail, get, put } from './lib/daemon.mjs';
import { runInBrowser } from './lib/run.mjs';
import { fillScene, PAGES, TRACEBACK } from './lib/scene.mjs';
import { until } from './lib/tap.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function checkWithAxe(screen, place, rules = null) {
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const found = await screen.page.evaluate(`${AXE};
    axe.run(document, ${JSON.stringify(options)}).then((result) => result.violations.flatMap(
      (one) => one.nodes.map((node) => one.id + ': ' + node.html + ' ' + node.failureSummary)))`);
  assert.deepEqual(found, [], `axe about ${place}`);
}

async function visitAll(screen, check) {
  for (const [place, text] of Object.entries(PAGES)) {
    await screen.go(place);
    await screen.page.locator('main').getByText(text).first().waitFor({ state: 'attached' });
    await check(place);
  }
}

const cases = {
  'every page shows its content': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await visitAll(screen, async (place) => {
      assert.equal(await screen.page.locator('h1').count(), 1, place);
    });
  },

  'axe has no complaint about any page in light colours': async ({ open }) => {
    const screen = await open({ colorScheme: 'light' });
    await screen.page.goto(`${BASE}/`);
    screen.refusals.add(401);
    await screen.page.getByLabel('User').waitFor();
    await checkWithAxe(screen, 'the log-in');
    await screen.logIn();
    await visitAll(screen, (place) => checkWithAxe(screen, place));
  },

  'axe has no complaint about any page in dark colours': async ({ open }) => {
    const screen = await open({ colorScheme: 'dark' });
    await screen.logIn();
    await visitAll(screen, (place) => checkWithAxe(screen, place, ['color-contrast']));
  },

  'axe has no complaint about a question': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/jobs/mail-1');
    await screen.click('Edit data');
    await screen.page.locator('dialog[open]').waitFor();
    await checkWithAxe(screen, 'a question');
  },

  'no page is wider than a narrow screen': async ({ open }) => {
    const screen = await open({ viewport: { width: 360, height: 740 } });
    await screen.logIn();
    await visitAll(screen, async (place) => {
      const over = await screen.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert(over <= 0, `${place} is ${over} pixels too wide`);
    });
    await screen.page.getByRole('button', { name: 'Menu' }).click();
    await screen.page.getByRole('link', { name: 'Failures' }).click();
    await screen.page.getByRole('heading', { name: 'Failures' }).waitFor();
  },

  'the overview says what needs attention': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    const text = await screen.text();
    assert.match(text, /2 jobs failed in smtp-timeout/);
    assert.match(text, /Nobody serves lonely/);
    for (const label of ['Put / s', 'Completed / s', 'Memory', 'Log', 'Clients']) {
      assert(text.includes(label), label);
    }
  },

  'a job has its data, history, failure and backtrace': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/jobs/mail-broken');
    const text = await screen.text();
    assert(text.includes(TRACEBACK));
    assert.match(text, /Connection timed out/);
    assert.match(text, /put in mail/);
    assert.match(text, /popped by breaker/);
    const time = screen.page.locator('.timeline time').first();
    assert.match(await time.getAttribute('title'), /\d{4}-\d\d-\d\dT/);
  },

  'the jobs around a job are drawn and lead to their pages': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/jobs/report-1');
    const nodes = screen.page.locator('.graph .node');
    assert.equal(await nodes.count(), 4);
    await screen.page.locator('.graph a').first().click();
    await screen.page.getByRole('heading', { name: /^img-/ }).waitFor();
  },

  'a page of a queue leads to the next one and back': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/queues/mail');
    const jids = () => screen.page.locator('tbody tr td:nth-child(2)').allInnerTexts();
    const first = await jids();
    await screen.click('Next →');
    await screen.sees('A later page of the list');
    const second = await jids();
    assert.equal(new Set([...first, ...second]).size, 60);
    assert.equal(first.length + second.length, 60);
    await screen.click('← Previous');
    await screen.sees(`The first ${first.length} jobs`);
    assert.deepEqual(await jids(), first);
  },

  'the keyboard opens pages, searches and walks through lists': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    const { keyboard } = screen.page;
    await keyboard.press('g');
    await keyboard.press('q');
    await screen.page.getByRole('heading', { name: 'Queues' }).waitFor();
    await screen.page.locator('tbody tr').first().waitFor();
    await until(() => screen.page.evaluate(
      () => document.documentElement.dataset.address === '#/queues'));
    await keyboard.press('j');
    await keyboard.press('j');
    const second = await screen.page.locator('tbody tr').nth(1).locator('a').first().innerText();
    assert.equal(await screen.page.evaluate(() => document.activeElement.textContent), second);
    await keyboard.press('Enter');
    await screen.page.getByRole('heading', { name: second }).waitFor();
    await keyboard.press('/');
    await keyboard.type('mail-1');
    await keyboard.press('Enter');
    await screen.page.getByRole('heading', { name: 'Search' }).waitFor();
    await screen.page.locator('main').getByRole('link', { name: 'mail-17', exact: true }).waitFor();
    await keyboard.press('Escape');
    await screen.page.locator('h1').focus();
    await keyboard.press('?');
    await screen.page.locator('dialog[open]').getByText('Next and previous row').waitFor();
  },

  'search finds by tag, class, queue, state and data': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    const find = async (query) => {
      await screen.go(`#/search?q=${encodeURIComponent(query)}`);
      return (await screen.page.locator('tbody tr td:nth-child(2)').allInnerTexts()).sort();
    };
    assert.deepEqual(await find('data.user.id:7'), ['mail-7']);
    assert.deepEqual(await find('data.to:"user8@example.com"'), ['mail-8']);
    assert.deepEqual(await find('queue:crawl'), ['gpu-1', 'gpu-2']);
    assert.deepEqual(await find('state:running class:Work'), ['gpu-1', 'img-1']);
    assert.deepEqual(await find('tag:customer:2 mail-59'), ['mail-59']);
    assert.deepEqual(await find('img-'), ['img-1', 'img-2']);
    await screen.go('#/search?q=colour:red');
    await screen.sees('There is no field colour');
  },

  'digits that JavaScript would lose stay': async ({ open }) => {
    await put('numbers', 'large', { id: 1 });
    const screen = await open();
    await screen.logIn();
    const answer = await screen.page.evaluate(async () => {
      const { parseJson } = await import(document.querySelector('link[href$="/api.js"]').href);
      const { pretty } = await import(document.querySelector('link[href$="/json.js"]').href);
      return pretty(parseJson('{"id":12345678901234567890,"pi":3.14159265358979323846,"n":1e3}'));
    });
    assert.match(answer, /12345678901234567890/);
    assert.match(answer, /3\.14159265358979323846/);
  },

  'filters and sorting of queues work on all of them': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/queues');
    await screen.page.getByLabel('Filter queues by name').fill('mai');
    await until(async () => await screen.page.locator('tbody tr').count() === 1);
    await screen.page.getByLabel('Filter queues by name').fill('');
    await screen.page.getByRole('columnheader').getByRole('button', { name: 'Queue' }).click();
    const names = await screen.page.locator('tbody tr a').allInnerTexts();
    assert.deepEqual(names, [...names].sort());
  },

  'a failure that arrives appears without a reload': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/failures');
    await screen.sees('Live');
    const loads = [];
    screen.page.on('load', () => loads.push(1));
    await fail('fresh', 'fresh-1', 'fresh-group');
    await screen.sees('fresh-group');
    assert.deepEqual(loads, []);
  },

  'an unknown page and an absent job say so': async ({ open }) => {
    const screen = await open({ refusals: [404] });
    await screen.logIn();
    await screen.go('#/nowhere');
    await screen.sees('There is no such page.');
    await screen.go('#/jobs/nobody');
    await screen.sees('There is no such thing here.');
    assert((await get('/queues')).length > 0);
  },
};

await runInBrowser(cases, { prepare: fillScene });
