// Runs cases with a server and a browser.

import { closeBrowser, openBrowser, Screen } from './browser.mjs';
import { Daemon, request } from './daemon.mjs';
import { runCases } from './tap.mjs';

// `prepare` fills the server once. A case gets { open, daemon }, where open() makes a page that is
// closed after the case, and fails it if the browser complained.
export async function runInBrowser(cases, { prepare = async () => {}, ...options } = {}) {
  const daemon = await new Daemon(options).start();
  try {
    // No lock ends while a slow machine is at work.
    await request('PUT', '/options/heartbeat', { value: '86400' });
    await prepare();
    await openBrowser();
    await runCases(cases, {
      before: async () => {
        const opened = [];
        const open = async (how) => {
          const screen = await Screen.open(how);
          opened.push(screen);
          return screen;
        };
        return { open, opened, daemon };
      },
      after: async ({ opened }) => {
        for (const screen of opened) {
          await screen.close();
        }
      },
    });
  } finally {
    await closeBrowser();
    await daemon.end();
  }
}
