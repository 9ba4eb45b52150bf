// usage: pasted.mjs README.md QLESSD-CLIENTS.7
//
// The worker that both documents show runs as pasted.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { PORT, runChecks } from './checks.mjs';

const LIBRARY = fileURLToPath(
  new URL('../../../clients/javascript/qlessd-worker.cjs', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));
const [README, MANUAL] = process.argv.slice(2);

// The indented block of a Markdown page that loads the library.
function blockOfMarkdown(path) {
  const blocks = [...readFileSync(path, 'utf8').matchAll(/(^ {4}.*\n(^ {4}.*\n|^\n(?= {4}))*)/gm)];
  return blocks.map(([block]) => block.replace(/^ {4}/gm, ''))
    .find((block) => block.includes('qlessd-worker.cjs'));
}

// The same display of a manual page.
function displayOfManual(path) {
  const page = readFileSync(path, 'utf8');
  const displays = [...page.matchAll(/^\.Bd -literal[^\n]*\n([^]*?)^\.Ed$/gm)];
  return displays.map(([, display]) => display.replace(/^\\&/gm, '').replaceAll('\\e', '\\'))
    .find((display) => display.includes('qlessd-worker.cjs'));
}

const checks = {
  'both documents show the same worker in at most ten lines': () => {
    const block = blockOfMarkdown(README);
    assert.equal(displayOfManual(MANUAL), block);
    assert(block.trimEnd().split('\n').length <= 10);
  },

  'the worker runs as pasted': async ({ directory, redis }) => {
    const program = join(directory, 'worker.js');
    copyFileSync(LIBRARY, join(directory, 'qlessd-worker.cjs'));
    writeFileSync(program, blockOfMarkdown(README));
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, NODE_PATH: MODULES, QLESSD_URL: `redis://127.0.0.1:${PORT}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const line = once(createInterface({ input: child.stdout }), 'line');
    await redis.call('PUT', 'p', 'mail', 'j', 'Send', '{"to":"ann"}', 0);
    assert.deepEqual(await line, ['hello ann']);
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.equal(JSON.parse(await redis.call('GET', 'j')).state, 'complete');
  },
};

async function begin() {
  const redis = new Redis(PORT, '127.0.0.1');
  await redis.flushall();
  return { redis, directory: mkdtempSync(join(tmpdir(), 'qlessd-')) };
}

function end({ redis, directory }) {
  redis.disconnect();
  rmSync(directory, { recursive: true });
}

await runChecks(checks, begin, end);
