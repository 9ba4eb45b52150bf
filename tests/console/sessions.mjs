// Users: log-in and log-out, wrong passwords, users that only read, and sessions that end.

import assert from 'node:assert/strict';
import { BASE, fail } from './lib/daemon.mjs';
import { runInBrowser } from './lib/run.mjs';
import { fillScene, PAGES } from './lib/scene.mjs';

// Pages that a user of the role @dashboard may not see.
const HIDDEN = /^#\/(tracked|tags)|show=(configuration|slow)/;

const cases = {
  'a user logs in, and stays logged in after a reload': async ({ open }) => {
    const screen = await open();
    await screen.logIn('olga');
    await screen.sees('olga');
    await screen.page.reload();
    await screen.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const cookies = await screen.context.cookies();
    assert.equal(cookies.length, 1);
    assert.deepEqual([cookies[0].name, cookies[0].httpOnly, cookies[0].sameSite],
      [`qlessd-${new URL(BASE).port}`, true, 'Strict']);
  },

  'a wrong password is refused, and the right one then works': async ({ open }) => {
    const screen = await open({ refusals: [401] });
    await screen.page.goto(`${BASE}/`);
    await screen.page.getByLabel('User').fill('olga');
    await screen.page.getByLabel('Password').fill('wrong');
    await screen.page.getByRole('button', { name: 'Log in' }).click();
    await screen.sees('does not know this user');
    assert.equal(await screen.page.getByLabel('Password').inputValue(), '');
    await screen.page.getByLabel('Password').fill('olga');
    await screen.page.getByRole('button', { name: 'Log in' }).click();
    await screen.page.getByRole('heading', { name: 'Overview' }).waitFor();
  },

  'nothing is shown without a user': async ({ open }) => {
    const screen = await open({ refusals: [401] });
    await screen.page.goto(`${BASE}/#/queues/mail`);
    await screen.page.getByLabel('User').waitFor();
    assert(!(await screen.page.locator('body').innerText()).includes('mail-1'));
  },

  'a log-out ends the session on the server': async ({ open }) => {
    const screen = await open();
    await screen.logIn('olga');
    const [cookie] = await screen.context.cookies();
    await screen.click('Log out');
    await screen.sees('You are logged out.');
    await screen.page.reload();
    await screen.page.getByLabel('User').waitFor();
    const answer = await fetch(`${BASE}/v1/queues`,
      { headers: { Cookie: `${cookie.name}=${cookie.value}` } });
    assert.equal(answer.status, 401);
  },

  'a session that ends leads to the log-in': async ({ open }) => {
    const screen = await open({ refusals: [401] });
    await screen.logIn('olga');
    await screen.context.clearCookies();
    await screen.page.evaluate(() => { location.hash = '#/queues'; });
    await screen.sees('Your session has ended.');
  },

  'a user that only reads sees every page without a way to change anything': async ({ open }) => {
    await fail('seen', 'seen-1', 'seen-group');
    const screen = await open();
    await screen.logIn('dora');
    const harmless = /^(Copy.*|← Previous|Next →|Search|None|Show .*|Queue|Waiting|Running|Stalled|Scheduled|Depends|Completed \/ s|Oldest wait)$/;
    for (const [place, text] of Object.entries(PAGES).filter(([one]) => !HIDDEN.test(one) &&
      !one.startsWith('#/tags/'))) {
      await screen.go(place);
      await screen.page.locator('main').getByText(text).first().waitFor({ state: 'attached' });
      const buttons = await screen.page.locator('main button').allInnerTexts();
      assert.deepEqual(buttons.filter((label) => !harmless.test(label)), [], place);
      assert.equal(await screen.page.locator('main input[type=checkbox]').count(), 0, place);
    }
    for (const name of ['Tracked', 'Tags']) {
      assert.equal(await screen.page.locator('nav').getByRole('link', { name }).count(), 0, name);
    }
  },

  'a page that the user may not see says so': async ({ open }) => {
    const screen = await open({ refusals: [403] });
    await screen.logIn('dora');
    await screen.go('#/tracked');
    await screen.sees('You may not see this.');
    await screen.go('#/server?show=configuration');
    await screen.sees('You may not see this.');
  },

  'the colours follow the system until the user chooses': async ({ open }) => {
    const screen = await open({ colorScheme: 'dark' });
    await screen.logIn('olga');
    const ground = () => screen.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await screen.page.getByRole('button', { name: /^Colours/ }).click();
    const light = await ground();
    assert.notEqual(light, dark);
    await screen.page.reload();
    await screen.page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await ground(), light);
  },
};

await runInBrowser(cases, { prepare: fillScene });
