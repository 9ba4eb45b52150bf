/*
 * One action on many jobs: their number first, then progress, then what could not be done.
 */
import * as calls from './calls.js';
import { ApiError } from './api.js';
import { queueNames, requeue } from './actions.js';
import { ask, say } from './dialog.js';
import { gauge } from './chart.js';
import { h, show } from './dom.js';
import { count, plural } from './format.js';
import { display } from './names.js';
import { can } from './session.js';

/* Requests under way at once, jobs that one request cancels, and errors that are shown. */
const PARALLEL = 4;
const CANCEL_PORTION = 100;
const ERRORS_SHOWN = 5;
/* Jobs that one bulk action takes at most, and names that one request for names gets. */
const JOBS_MAX = 100000;
const NAMES_PORTION = 1000;

async function requeueOwn(jids) {
  const jobs = await calls.getJobs(jids);
  for (const job of jobs) {
    await requeue(job, { queue: job.queue });
  }
  return jobs.length;
}

async function cancelTogether(jids) {
  try {
    await calls.cancelJobs(jids);
  } catch (error) {
    if (jids.length === 1 || !(error instanceof ApiError) || error.status === 0) {
      throw error;
    }
    throw new AggregateError([error], error.message);
  }
  return jids.length;
}

/* Kinds of bulk actions. `run` takes a portion of names and resolves to the number of jobs done. Those
 * without it have a value, and are in CHANGES. */
export const BULK = {
  retry: { label: 'Retry', command: 'requeue', portion: 20, run: requeueOwn, done: 'are waiting again',
    question: 'Each returns to its own queue.' },
  cancel: { label: 'Cancel', command: 'cancel', portion: CANCEL_PORTION, run: cancelTogether,
    done: 'are canceled', danger: true,
    question: 'The server forgets the jobs with their data and history. This cannot be undone.' },
  delete: { label: 'Delete', command: 'job.delete', portion: CANCEL_PORTION,
    run: async (jids) => {
      await calls.deleteJobs(jids);
      return jids.length;
    },
    done: 'are deleted', danger: true,
    question: 'The server forgets the finished jobs. This cannot be undone.' },
  move: { label: 'Move', command: 'requeue', done: 'are moved' },
  priority: { label: 'Priority', command: 'priority', done: 'have the new priority' },
  tag: { label: 'Tag', command: 'tag', done: 'have the tag' },
};

/* Returns the bulk actions that the user may take. */
export function bulkFor(...names) {
  return names.filter((name) => can(BULK[name].command));
}

/* How each job is changed by an action that has a value. */
const CHANGES = {
  move: {
    field: { name: 'value', label: 'Queue', required: true },
    one: (jid, value) => calls.act(jid, 'requeue', { queue: value }),
  },
  priority: {
    field: { name: 'value', label: 'Priority', type: 'number', step: '1', required: true },
    one: (jid, value) => calls.act(jid, 'priority', { priority: Number(value) }),
  },
  tag: {
    field: { name: 'value', label: 'Tag', required: true },
    one: (jid, value) => calls.act(jid, 'tag', { tags: [value] }),
  },
};

/*
 * A dialog with the progress. `work(report, isStopped)` does it. Resolves when it has ended.
 */
async function withProgress(title, work) {
  let stopped = false;
  const body = h('div', null);
  const dialog = h('dialog', { 'aria-label': title }, h('h2', null, title), body,
    h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: () => {
      stopped = true;
    } }, 'Stop')));
  dialog.oncancel = (event) => {
    event.preventDefault();
    stopped = true;
  };
  document.body.append(dialog);
  dialog.showModal();
  const report = (done, total) => show(body,
    h('p', null, total ? `${count(done)} of ${count(total)}` : `${count(done)} found`),
    total ? gauge(done / total, 'Progress') : null);
  report(0, 0);
  try {
    return await work(report, () => stopped);
  } finally {
    dialog.close();
    dialog.remove();
  }
}

/*
 * Collects the names of jobs from pages. `page(cursor, count)` resolves to { jids, next }, where
 * `next` is null at the end. Resolves to { jids, hasMore }: whether the list has more jobs than a
 * bulk action takes.
 */
export function collect(page) {
  return withProgress('Counting the jobs', async (report, isStopped) => {
    const jids = [];
    for (let at = null; !isStopped();) {
      const part = await page(at, NAMES_PORTION);
      jids.push(...part.jids);
      report(Math.min(jids.length, JOBS_MAX), 0);
      at = part.next;
      if (jids.length > JOBS_MAX || (jids.length === JOBS_MAX && at !== null)) {
        return { jids: jids.slice(0, JOBS_MAX), hasMore: true };
      }
      if (at === null) {
        return { jids, hasMore: false };
      }
    }
    return { jids: [], hasMore: false };
  });
}

function portions(jids, size) {
  const parts = [];
  for (let i = 0; i < jids.length; i += size) {
    parts.push(jids.slice(i, i + size));
  }
  return parts;
}

async function runAll(jids, portion, run, report, isStopped) {
  const todo = portions(jids, portion);
  const errors = [];
  let done = 0;
  let seen = 0;
  async function runOne(part) {
    try {
      done += await run(part);
    } catch (error) {
      if (error instanceof AggregateError) {
        todo.push(...part.map((jid) => [jid])); /* one of them is refused: find it */
        return;
      }
      errors.push(`${display(part[0])}: ${error.message}`);
    }
    seen += part.length;
    report(Math.min(seen, jids.length), jids.length);
  }
  async function lane() {
    while (todo.length && !isStopped()) {
      await runOne(todo.shift());
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  return { done, errors, left: jids.length - seen };
}

/*
 * Asks, and does an action to all jobs of these names. `hasMore` is that of collect(). Resolves to
 * whether something was done.
 */
export async function bulk(name, jids, hasMore = false) {
  const action = BULK[name];
  const change = CHANGES[name];
  if (jids.length === 0) {
    say('There are no such jobs.');
    return false;
  }
  const jobs = plural(jids.length, 'job');
  const values = await ask({ title: `${action.label}: ${jobs}`, danger: action.danger,
    confirm: `${action.label} ${jobs}`,
    fields: change ? [{ ...change.field, choices: name === 'move' ? await queueNames() : null }] : [],
    body: [
      hasMore ? h('p', null, `The list has more jobs. This action takes the first ${count(jids.length)} of them.`)
        : null,
      action.question ? h('p', null, action.question) : null,
    ] });
  if (!values) {
    return false;
  }
  const run = change
    ? async (part) => {
      for (const jid of part) {
        await change.one(jid, values.value);
      }
      return part.length;
    }
    : action.run;
  const { done, errors, left } = await withProgress(`${action.label}: ${jobs}`,
    (report, isStopped) => runAll(jids, change ? 1 : action.portion, run, report, isStopped));
  say([`${plural(done, 'job')} ${action.done}.`, left > 0 ? `${count(left)} were left.` : '',
    hasMore ? 'The list had more jobs, which are unchanged.' : ''].filter(Boolean).join(' '));
  if (errors.length) {
    say(`${plural(errors.length, 'request')} failed. ${errors.slice(0, ERRORS_SHOWN).join(' · ')}`,
      { kind: 'bad' });
  }
  return true;
}
