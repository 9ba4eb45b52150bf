// A server whose default user needs no password.

import assert from 'node:assert/strict';
import { BASE } from './lib/daemon.mjs';
import { runInBrowser } from './lib/run.mjs';

const cases = {
  'the console opens without a log-in, and offers one': async ({ open }) => {
    const screen = await open();
    await screen.page.goto(`${BASE}/#/queues`);
    await screen.page.getByRole('heading', { name: 'Queues' }).waitFor();
    await screen.sees('default');
    await screen.click('Log in');
    await screen.page.getByLabel('User').fill('dora');
    await screen.page.getByLabel('Password').fill('dora');
    await screen.page.getByRole('button', { name: 'Log in' }).click();
    await screen.sees('dora');
    assert.equal(await screen.page.getByRole('button', { name: 'Log out' }).count(), 1);
  },
};

await runInBrowser(cases, { users: ['--user', 'admin', 'on', '>admin', '+@all', '~*', '--user',
  'dora', 'on', '>dora', '+@dashboard'] });
