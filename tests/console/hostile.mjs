// Names and data that look like markup or are no text, and pages of other origins.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { BASE, fail, pop, post, put, request } from './lib/daemon.mjs';
import { runInBrowser } from './lib/run.mjs';

const SCRIPT = '<script>alert(1)</script>';
const IMAGE = '"><img src=x onerror=alert(2)>';
const ODD = ['a b', 'a/b?c#d', '100%', '%2F', 'ünï\u{1F4A9}', 'evil', '\\x00', "'", '+', '&amp;'];

async function fillHostile() {
  await put(SCRIPT, IMAGE, { [SCRIPT]: IMAGE, '</script>': '<b>' }, { tags: [SCRIPT, IMAGE] });
  await fail(IMAGE, `${SCRIPT}2`, SCRIPT, IMAGE, { error: SCRIPT });
  await put('w', 'working');
  await pop('w', IMAGE);
  await post('/jobs/working/progress', { worker: IMAGE, percent: 1, note: SCRIPT });
  await request('PATCH', '/jobs/working/meta', { fields: { [IMAGE]: SCRIPT } });
  await request('PUT', `/limits/${encodeURIComponent(SCRIPT)}`, { concurrency: 1 });
  await post(`/jobs/${encodeURIComponent(IMAGE)}/track`);
  await post(`/jobs/${encodeURIComponent(IMAGE)}/log`, { message: SCRIPT, data: { [IMAGE]: IMAGE } });
  for (const name of ODD) {
    await put(name, `job ${name}`, { name });
  }
  await post('/queues/w/recurring', { jid: IMAGE + SCRIPT, class: SCRIPT, data: SCRIPT,
    interval: 86400, offset: 3600 });
}

const address = (...names) => `#/${names.map(encodeURIComponent).join('/')}`;

const cases = {
  'markup in names and data is text': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    const places = ['#/', '#/queues', address('queues', SCRIPT), address('queues', IMAGE),
      `${address('queues', IMAGE)}?state=failed`, address('jobs', IMAGE), address('jobs', 'working'),
      address('jobs', `${SCRIPT}2`), '#/failures', address('failures', SCRIPT), '#/workers',
      address('workers', IMAGE), '#/limits', address('limits', SCRIPT), '#/tracked', '#/tags',
      address('tags', SCRIPT), '#/recurring', address('recurring', IMAGE + SCRIPT),
      `#/search?q=${encodeURIComponent(SCRIPT)}`, '#/server?show=slow'];
    for (const place of places) {
      await screen.go(place);
      assert.equal(await screen.page.locator('main script, main img, main b:not(.what b)').count(), 0,
        place);
    }
    await screen.go(address('jobs', IMAGE));
    const text = await screen.text();
    assert(text.includes(SCRIPT) && text.includes(IMAGE));
  },

  'odd names lead to their pages and back': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    for (const name of ODD) {
      await screen.go(address('queues', name));
      const link = screen.page.locator('tbody a').first();
      assert.equal(await link.innerText(), `job ${name}`);
      await link.click();
      await screen.page.locator('.code').getByText('"name"').waitFor();
      assert.equal(await screen.page.locator('h1').innerText(), `job ${name}`);
    }
  },

  'an address with bytes that are no text is harmless': async ({ open }) => {
    const screen = await open({ refusals: [404] });
    await screen.logIn();
    await screen.go('#/queues/a%FFb');
    assert.equal(await screen.page.locator('h1').innerText(), 'a\\xffb');
    await screen.go('#/jobs/%FFjob');
    await screen.sees('There is no such thing here.');
    await screen.go('#/search?q=%FF');
  },

  'data that are no JSON are shown as base64': async ({ open }) => {
    await post('/queues/bytes/jobs', { jid: 'raw-1', class: 'Raw', raw: true,
      data: { base64: '/wD+' } });
    const screen = await open();
    await screen.logIn();
    await screen.go('#/jobs/raw-1');
    await screen.sees('base64 of bytes');
    await screen.sees('/wD+');
  },

  'the page may not be framed, and runs no inline script': async ({ open }) => {
    const answer = await fetch(`${BASE}/`);
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(answer.headers.get('x-frame-options'), 'DENY');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const text = await answer.text();
    assert.doesNotMatch(text, /<script(?![^>]*src=)|style=|\son\w+=/);
    const screen = await open();
    await screen.logIn();
  },

  'a page of another origin cannot read or act': async ({ open }) => {
    const other = http.createServer((asked, given) => {
      given.writeHead(200, { 'Content-Type': 'text/html' });
      given.end('<!doctype html><title>other</title>');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    try {
      const screen = await open();
      await screen.logIn();
      const page = await screen.context.newPage(); // has the cookie, but is not watched
      await page.goto(`http://127.0.0.1:${other.address().port}/`);
      const outcome = await page.evaluate(async (base) => {
        const ask = (options) => fetch(`${base}/v1/queues`, { credentials: 'include', ...options })
          .then((answer) => answer.text(), () => 'refused');
        const cancel = await fetch(`${base}/v1/jobs/working/cancel`, { method: 'POST', body: '{}',
          mode: 'no-cors', credentials: 'include', headers: { 'Content-Type': 'text/plain' } })
          .then((answer) => answer.type, () => 'refused');
        return { read: await ask({}), cancel };
      }, BASE);
      assert.equal(outcome.read, 'refused');
      const jobs = await request('GET', '/jobs?jid=working');
      assert.equal(jobs.length, 1, 'the job is still there');
    } finally {
      other.close();
    }
  },

  'a page whose name leads to this server cannot read': async ({ open }) => {
    const base = BASE.replace('127.0.0.1', 'rebound.example');
    const screen = await open();
    const page = await screen.context.newPage(); // is not watched
    assert.equal((await page.goto(`${base}/metrics`)).status(), 421);
    const statuses = await page.evaluate(async () => {
      const ways = [{}, { credentials: 'omit', referrerPolicy: 'no-referrer', mode: 'same-origin',
        headers: { Accept: 'text/plain', 'Accept-Language': '', 'User-Agent': 'Prometheus' } }];
      const found = [];
      for (const path of ['/metrics', '/healthz', '/readyz', '/v1/queues', '/']) {
        for (const way of ways) {
          found.push((await fetch(path, way)).status);
        }
      }
      return found;
    });
    assert.deepEqual(statuses, Array(10).fill(421));
  },
};

await runInBrowser(cases, { prepare: fillHostile });
