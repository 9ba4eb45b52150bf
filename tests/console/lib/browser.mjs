// Pages of Chromium that watch themselves: an error in a script or of the policy for content, a
// request to another host, and an unexpected refusal fail the case.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { ADMIN, BASE } from './daemon.mjs';

let browser;

export async function openBrowser() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: [
      // A name that leads to this machine, as that of a page that rebinds its name in the DNS.
      '--host-resolver-rules=MAP rebound.example 127.0.0.1',
      ...(process.getuid() === 0 ? ['--no-sandbox'] : []),
    ],
  });
}

export async function closeBrowser() {
  await browser?.close();
}

export class Screen {
  // `refusals` are the statuses that answers may have.
  static async open({ refusals = [], ...options } = {}) {
    const screen = new Screen();
    screen.complaints = [];
    screen.refusals = new Set(refusals);
    screen.context = await browser.newContext({ viewport: { width: 1280, height: 900 },
      ...options });
    screen.page = await screen.context.newPage();
    screen.page.setDefaultTimeout(60_000);
    screen.watch();
    return screen;
  }

  watch() {
    const { page, complaints } = this;
    page.on('pageerror', (error) => complaints.push(`error in a script: ${error.stack}`));
    page.on('console', (message) => {
      // Chromium reports answers with an error, which `response` below judges.
      if (['error', 'warning'].includes(message.type()) &&
        !/^Failed to load resource/.test(message.text())) {
        complaints.push(`in the console of the browser: ${message.text()}`);
      }
    });
    page.on('dialog', (dialog) => {
      complaints.push(`a script of data runs: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on('request', (one) => {
      if (!one.url().startsWith(`${BASE}/`) && !one.url().startsWith('data:')) {
        complaints.push(`request to another host: ${one.url()}`);
      }
    });
    page.on('response', (answer) => {
      if (answer.status() >= 400 && !this.refusals.has(answer.status())) {
        complaints.push(`${answer.request().method()} ${answer.url()}: ${answer.status()}`);
      }
    });
  }

  async logIn(user = ADMIN, password = user) {
    await this.page.goto(`${BASE}/`);
    this.refusals.add(401); // the first question who this is
    await this.page.getByLabel('User').fill(user);
    await this.page.getByLabel('Password').fill(password);
    await this.page.getByRole('button', { name: 'Log in' }).click();
    await this.page.getByRole('heading', { name: 'Overview' }).waitFor();
    return this;
  }

  // Opens an address of the console, and waits until its content is there.
  async go(place) {
    await this.page.evaluate((to) => { location.hash = to; }, place);
    await this.page.waitForFunction((to) => document.documentElement.dataset.address === to, place);
  }

  async click(label) {
    await this.page.getByRole('button', { name: label, exact: true }).first().click();
  }

  // Answers the question on the screen: fills fields by their labels, and confirms.
  async answer(fields = {}) {
    const dialog = this.page.locator('dialog[open]');
    await dialog.waitFor();
    for (const [label, value] of Object.entries(fields)) {
      await dialog.getByLabel(label, { exact: true }).fill(value);
    }
    await dialog.locator('button[type=submit]').click();
  }

  async sees(text) {
    await this.page.getByText(text).first().waitFor();
  }

  async text() {
    return this.page.locator('main').innerText();
  }

  async closeMessages() {
    const close = this.page.getByRole('button', { name: 'Close this message' });
    while (await close.count() > 0) {
      await close.first().click();
    }
  }

  // Presses Undo on the message with this text.
  async undo(text) {
    await this.page.locator('.message', { hasText: text }).getByRole('button', { name: 'Undo' })
      .click();
  }

  async close() {
    await this.context.close();
    assert.deepEqual(this.complaints, []);
  }
}
