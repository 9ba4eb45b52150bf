// The page follows the server: by events, by polling when they are cut off, and after a lost
// connection.

import assert from 'node:assert/strict';
import { put } from './lib/daemon.mjs';
import { runInBrowser } from './lib/run.mjs';

const cases = {
  'a job that arrives appears by its event': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/queues/fresh');
    await screen.sees('Live');
    await put('fresh', 'fresh-1');
    await screen.page.getByRole('link', { name: 'fresh-1' }).waitFor();
  },

  'a page whose events are cut off polls and says so': async ({ open }) => {
    const screen = await open({ refusals: [503] });
    await screen.page.route('**/v1/events*', (route) => route.fulfill({ status: 503, body: '{}' }));
    await screen.logIn();
    await screen.sees('Every 5 s');
    await screen.go('#/queues/polled');
    await put('polled', 'polled-1');
    await screen.page.getByRole('link', { name: 'polled-1' }).waitFor();
  },

  'a paused page stays as it is': async ({ open }) => {
    const screen = await open();
    await screen.logIn();
    await screen.go('#/queues/still');
    await screen.sees('Live');
    await screen.page.keyboard.press('p');
    await screen.sees('Paused');
    await put('still', 'still-1');
    const other = await open();
    await other.logIn();
    await other.go('#/queues/still');
    await other.page.getByRole('link', { name: 'still-1' }).waitFor();
    assert.equal(await screen.page.getByRole('link', { name: 'still-1' }).count(), 0);
    await screen.page.keyboard.press('p');
    await screen.page.getByRole('link', { name: 'still-1' }).waitFor();
  },

  'a lost connection has a sign, and the page recovers without a reload': async ({ open, daemon }) => {
    const screen = await open({ refusals: [401] });
    await screen.logIn();
    await put('kept', 'kept-1');
    await screen.go('#/queues/kept');
    await screen.page.getByRole('link', { name: 'kept-1' }).waitFor();
    await daemon.stop();
    await screen.sees('No connection');
    await screen.sees('This is what it said last.');
    assert.equal(await screen.page.getByRole('link', { name: 'kept-1' }).count(), 1);
    await daemon.start();
    // Sessions are in the memory of the server, so the user logs in again.
    await screen.page.getByLabel('User').fill('admin');
    await screen.page.getByLabel('Password').fill('admin');
    await screen.page.getByRole('button', { name: 'Log in' }).click();
    await screen.page.getByRole('link', { name: 'kept-1' }).waitFor();
  },
};

await runInBrowser(cases);
