/*
 * What a user can do to a job. Each action asks where it matters, and can be undone where that is
 * possible. The server notes the name of the user in the history of the job.
 */
import * as calls from './calls.js';
import { ask, attempt, say } from './dialog.js';
import { h } from './dom.js';
import { count, plural } from './format.js';
import { jsonProblem, pretty } from './json.js';
import { display, identity, isBytes } from './names.js';
import { can, user } from './session.js';
import { jobLink, stateBadge } from './ui.js';

/* Jobs that are looked at to find all dependents of a job, and those listed in the question. */
const DEPENDENTS_MAX = 1000;
const DEPENDENTS_SHOWN = 12;

/* Returns the names of all queues, for choices. */
export async function queueNames() {
  try {
    return (await calls.queues()).map((q) => q.name).filter((name) => !isBytes(name));
  } catch {
    return [];
  }
}

/* Sends a job back to a queue. The server keeps what `changes` does not name. */
export function requeue(job, changes) {
  return calls.act(job.jid, 'requeue', changes);
}

async function retry(job) {
  return attempt(async () => {
    await requeue(job, { queue: job.queue });
    say(`${display(job.jid)} waits in ${display(job.queue)} again.`);
  });
}

async function requeueElsewhere(job) {
  const values = await ask({
    title: `Requeue ${display(job.jid)}`,
    confirm: 'Requeue',
    fields: [
      { name: 'queue', label: 'Queue', value: isBytes(job.queue) ? '' : job.queue, required: true,
        choices: await queueNames() },
      { name: 'delay', label: 'Delay in seconds', type: 'number', value: '0', min: '0', step: 'any' },
    ],
  });
  if (!values) {
    return false;
  }
  const from = job.queue;
  return attempt(async () => {
    await requeue(job, { queue: values.queue, delay: Number(values.delay) || 0 });
    say(`${display(job.jid)} is in ${values.queue}.`, from === values.queue ? {} : {
      undo: () => attempt(() => requeue(job, { queue: from })),
    });
  });
}

/* Finds the jobs that wait for a job, and those that wait for them. */
async function findDependents(job) {
  const found = new Map();
  let level = job.dependents ?? [];
  while (level.length && found.size < DEPENDENTS_MAX) {
    const jobs = await calls.getJobs(level.filter((jid) => !found.has(identity(jid)))
      .slice(0, DEPENDENTS_MAX - found.size));
    jobs.forEach((one) => found.set(identity(one.jid), one));
    level = jobs.flatMap((one) => one.dependents ?? [])
      .filter((jid) => !found.has(identity(jid)));
  }
  return [...found.values()];
}

/* Options of a put that make a job as it was, apart from its history. */
function likeBefore(job) {
  return { jid: job.jid, class: job.klass, data: job.data, priority: job.priority,
    retries: job.retries, tags: job.tags ?? [] };
}

async function cancel(job) {
  const dependents = await findDependents(job);
  const values = await ask({
    title: `Cancel ${display(job.jid)}?`,
    danger: true,
    confirm: dependents.length ? `Cancel ${dependents.length + 1} jobs` : 'Cancel the job',
    body: [
      h('p', null, 'The server forgets the job with its data and history.'),
      dependents.length ? [
        h('p', null, `${plural(dependents.length, 'job')} waiting for it will be canceled, too:`),
        h('ul', { class: 'plain' }, dependents.slice(0, DEPENDENTS_SHOWN).map((one) =>
          h('li', null, jobLink(one.jid), ' ', stateBadge(one.state))),
        dependents.length > DEPENDENTS_SHOWN
          ? h('li', { class: 'dim' }, `and ${count(dependents.length - DEPENDENTS_SHOWN)} more`)
          : null),
      ] : null,
    ],
  });
  if (!values) {
    return false;
  }
  return attempt(async () => {
    await calls.act(job.jid, 'cancel',
      dependents.length ? { with: dependents.map((one) => one.jid) } : {});
    const undo = dependents.length || !can('put') || isBytes(job.jid) ? undefined
      : () => attempt(() => calls.putJob(job.queue, likeBefore(job)));
    say(dependents.length ? `${dependents.length + 1} jobs are canceled.`
      : `${display(job.jid)} is canceled.`, { undo });
  });
}

async function remove(job) {
  const values = await ask({ title: `Delete ${display(job.jid)}?`, danger: true, confirm: 'Delete',
    body: h('p', null, 'The server forgets the finished job with its result and history.') });
  return Boolean(values) && attempt(async () => {
    await calls.deleteJob(job.jid);
    say(`${display(job.jid)} is deleted.`);
  });
}

async function setPriority(job) {
  const values = await ask({ title: `Priority of ${display(job.jid)}`, confirm: 'Set priority',
    fields: [{ name: 'priority', label: 'Priority', type: 'number', step: '1', required: true,
      value: String(job.priority), hint: 'A larger number runs earlier.' }] });
  if (!values) {
    return false;
  }
  const before = job.priority;
  const set = (priority) => calls.act(job.jid, 'priority', { priority: Number(priority) });
  return attempt(async () => {
    await set(values.priority);
    say(`The priority is ${values.priority}.`,
      { undo: () => attempt(() => set(before)) });
  });
}

async function addTags(job) {
  const values = await ask({ title: `Tag ${display(job.jid)}`, confirm: 'Add',
    fields: [{ name: 'tags', label: 'Tags', required: true, hint: 'Separate tags by commas.' }] });
  const tags = values?.tags.split(',').map((tag) => tag.trim()).filter(Boolean) ?? [];
  if (tags.length === 0) {
    return false;
  }
  return attempt(async () => {
    await calls.act(job.jid, 'tag', { tags });
    say(`Tagged ${tags.join(', ')}.`, { undo: () => attempt(() => untag(job, tags)) });
  });
}

function untag(job, tags) {
  return calls.act(job.jid, 'untag', { tags });
}

/* Removes one tag, with a way back. */
export function removeTag(job, tag) {
  return attempt(async () => {
    await untag(job, [tag]);
    say(`Removed the tag ${display(tag)}.`, {
      undo: () => attempt(() => calls.act(job.jid, 'tag', { tags: [tag] })) });
  });
}

function setTracked(job, tracked) {
  return calls.act(job.jid, tracked ? 'track' : 'untrack');
}

function toggleTracked(job) {
  const tracked = !job.tracked;
  return attempt(async () => {
    await setTracked(job, tracked);
    say(tracked ? 'The job is tracked.' : 'The job is no longer tracked.',
      { undo: () => attempt(() => setTracked(job, !tracked)) });
  });
}

async function timeOut(job) {
  const values = await ask({ title: `Take ${display(job.jid)} from its worker?`, danger: true,
    confirm: 'End the lock',
    body: h('p', null, `${display(job.worker)} loses the lock, and another worker can get the job. ` +
      'The work that it has done so far may be done again.') });
  return Boolean(values) && attempt(async () => {
    await calls.act(job.jid, 'timeout');
    say(`${display(job.jid)} waits for another worker.`);
  });
}

async function editData(job) {
  const before = job.data;
  const values = await ask({ title: `Edit ${display(job.jid)} and requeue it`, confirm: 'Requeue',
    fields: [
      { name: 'data', label: 'Data (JSON)', rows: 14, value: pretty(before), required: true },
      { name: 'queue', label: 'Queue', value: isBytes(job.queue) ? '' : job.queue, required: true,
        choices: await queueNames() },
    ],
    check: ({ data }) => jsonProblem(data) });
  if (!values) {
    return false;
  }
  return attempt(async () => {
    await requeue(job, { queue: values.queue, data: calls.readJson(values.data) });
    say('The job waits with its new data.', { undo: () => attempt(() =>
      requeue(job, { queue: job.queue, data: before })) });
  });
}

async function addNote(job) {
  const values = await ask({ title: `Note on ${display(job.jid)}`, confirm: 'Add the note',
    fields: [{ name: 'text', label: 'Text', required: true, hint: 'It appears in the history.' }] });
  return Boolean(values) && attempt(() => calls.act(job.jid, 'log',
    { message: values.text, data: { by: user().name } }));
}

const isIn = (...states) => (job) => states.includes(job.state);

/* Each has the command that it needs, the jobs for which it makes sense, and its label. */
const ACTIONS = [
  { label: 'Retry', kind: 'primary', command: 'requeue', run: retry, fits: isIn('failed') },
  { label: 'Run now', kind: 'primary', command: 'requeue', run: retry, fits: isIn('scheduled') },
  { label: 'Put again', command: 'requeue', run: retry, fits: isIn('complete') },
  { label: 'Take from worker', command: 'timeout', run: timeOut, fits: isIn('running', 'stalled') },
  { label: 'Requeue elsewhere', command: 'requeue', run: requeueElsewhere,
    fits: isIn('waiting', 'scheduled', 'failed', 'complete', 'depends') },
  { label: 'Edit data', command: 'requeue', run: editData,
    fits: (job) => isIn('waiting', 'scheduled', 'failed', 'complete')(job) && !isBytes(job.data) },
  { label: 'Priority', command: 'priority', run: setPriority, fits: (job) => job.state !== 'complete' },
  { label: 'Tag', command: 'tag', run: addTags, fits: () => true },
  { label: 'Track', command: 'track', run: toggleTracked, fits: (job) => !job.tracked },
  { label: 'Untrack', command: 'track', run: toggleTracked, fits: (job) => job.tracked },
  { label: 'Add a note', command: 'log', run: addNote, fits: () => true },
  { label: 'Delete', kind: 'danger', command: 'job.delete', run: remove, fits: isIn('complete') },
  { label: 'Cancel', kind: 'danger', command: 'cancel', run: cancel,
    fits: (job) => job.state !== 'complete' },
];

/* Returns the actions that the user may take on a job now. */
export function actionsFor(job) {
  return ACTIONS.filter((action) => can(action.command) && action.fits(job));
}
