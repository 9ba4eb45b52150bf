/*
 * Search by jid, tag, class, queue, state and data.
 *
 * A query is words: `tag:x`, `class:x`, `queue:x`, `state:x`, `data.path:value`, and a word without
 * a colon, which is the beginning of a jid. Quotes keep blanks together.
 */
import { collect } from '../bulk.js';
import * as calls from '../calls.js';
import { h } from '../dom.js';
import { plural } from '../format.js';
import { can } from '../session.js';
import { button, empty, notice, pager, STATES, withQuery } from '../ui.js';
import { jobTable } from './joblist.js';

const PAGE = 50;
/* Requests that one page makes at most until it has found enough. A search looks at some jobs in each. */
const REQUESTS_MAX = 500;
/* Milliseconds after which the page shows what it has found. */
const PATIENCE_MS = 150;

/* Splits a query at blanks outside of quotes. */
function words(text) {
  return [...text.matchAll(/((?:[^\s":]+:)?)(?:"((?:[^"\\]|\\.)*)"|(\S*))/g)]
    .filter((m) => m[0] !== '')
    .map((m) => ({ name: m[1].replace(/:$/, ''),
      value: m[2] !== undefined ? m[2].replace(/\\(.)/g, '$1') : m[3],
      isQuoted: m[2] !== undefined }));
}

/* A value of data is JSON if it looks like it, and otherwise text. */
function dataValue(word) {
  if (!word.isQuoted) {
    try {
      JSON.parse(word.value);
      return word.value;
    } catch {
      /* text */
    }
  }
  return JSON.stringify(word.value);
}

/* Reads a query. Returns { query, problem }. */
function readQuery(text) {
  const query = {};
  const add = (name, value) => {
    query[name] = [...(query[name] ?? []), value];
  };
  for (const word of words(text)) {
    if (word.name === '') {
      add('prefix', word.value);
    } else if (word.name === 'jid') {
      add('jid', word.value);
    } else if (['tag', 'class', 'queue', 'state'].includes(word.name)) {
      add(word.name, word.value);
    } else if (word.name === 'data' || word.name.startsWith('data.')) {
      add('data', `${word.name.slice(5)}:${dataValue(word)}`);
    } else {
      return { query, problem: `There is no field ${word.name}. ` +
        'Fields are jid, tag, class, queue, state and data.path.' };
    }
  }
  for (const name of ['prefix', 'jid', 'class', 'queue']) {
    if (query[name]?.length > 1) {
      return { query, problem: `A job has one ${name === 'prefix' ? 'jid' : name}; found ${
        query[name].join(', ')}.` };
    }
  }
  const odd = (query.state ?? []).find((state) => !STATES.includes(state));
  return { query, problem: odd === undefined ? null
    : `There is no state ${odd}. States are ${STATES.join(', ')}.` };
}

/* Finds a page of jobs, and shows what it has found so far. */
async function findJobs(run, query, ctx) {
  try {
    for (let i = 0; i < REQUESTS_MAX && run.jobs.length < PAGE; i++) {
      const part = await calls.search({ ...query, cursor: run.cursor,
        count: PAGE - run.jobs.length }, ctx.signal);
      run.jobs.push(...await calls.getJobs(part.jobs, ctx.signal));
      run.cursor = String(part.cursor);
      if (run.cursor === '0') {
        break;
      }
      ctx.update();
    }
  } catch (error) {
    if (error.name === 'AbortError') {
      return;
    }
    run.problem = error.message;
  }
  run.isSearching = false;
  ctx.update();
}

async function exactJob(query, signal) {
  if (Object.keys(query).length !== 1 || !query.prefix || !can('get')) {
    return null;
  }
  try {
    return (await calls.getJobs(query.prefix, signal))[0] ?? null;
  } catch (error) {
    if (error.name === 'AbortError') {
      throw error;
    }
    return null;
  }
}

function form(ctx) {
  const text = ctx.query.q ?? '';
  return h('form', { class: 'bar', onsubmit: (event) => {
    event.preventDefault();
    ctx.go(withQuery('#/search', { q: event.target.elements.q.value.trim() }));
  } },
  h('input', { name: 'q', type: 'search', class: 'long', value: text, key: `q:${text}`,
    'aria-label': 'Query', placeholder: 'tag:customer-7 state:failed data.user.id:42',
    spellcheck: 'false', autocomplete: 'off' }),
  h('button', { type: 'submit', class: 'primary' }, 'Search'));
}

const HELP = [['mail-', 'jobs whose jid begins like this'], ['tag:x', 'jobs with the tag'],
  ['class:SendMail', 'jobs of the class'], ['queue:mail', 'jobs in the queue'],
  ['state:failed', 'jobs in the state; several states may be named'],
  ['data.user.id:7', 'jobs whose data has this value at this path'],
  ['data.name:"Ann Lee"', 'quotes keep words together']];

export const search = {
  title: () => 'Search',
  isStill: true,

  async load(ctx) {
    const { query, problem } = readQuery(ctx.query.q ?? '');
    if (problem || Object.keys(query).length === 0) {
      return { problem, query };
    }
    const run = { jobs: [], cursor: ctx.query.cursor ?? '0', isSearching: true, problem: null };
    const exact = run.cursor === '0' ? await exactJob(query, ctx.signal) : null;
    const end = findJobs(run, query, ctx);
    await Promise.race([end, new Promise((resolve) => {
      setTimeout(resolve, PATIENCE_MS);
    })]);
    return { query, run, exact };
  },

  view({ problem, query, run, exact }, ctx) {
    if (!run) {
      return [form(ctx), problem ? notice('warn', problem) : null,
        h('dl', { class: 'keys' }, HELP.map(([word, text]) => h('div', null,
          h('dt', null, h('code', null, word)), h('dd', null, text))))];
    }
    const jobs = exact ? [exact, ...run.jobs.filter((job) => job.jid !== exact.jid)] : run.jobs;
    const here = (change) => withQuery('#/search', { ...ctx.query, ...change });
    const onward = !run.isSearching && run.cursor !== '0'
      ? () => ctx.go(here({ cursor: run.cursor })) : null;
    const all = () => collect(async (at, count) => {
      const part = await calls.search({ ...query, cursor: at ?? '0', count });
      return { jids: part.jobs, next: String(part.cursor) === '0' ? null : String(part.cursor) };
    });
    return [form(ctx), run.problem ? notice('warn', run.problem) : null,
      jobs.length === 0
        ? empty(run.isSearching ? 'Searching …' : onward ? 'Nothing so far.' : 'No job was found.',
          onward ? 'The search has not looked at all jobs yet.' : null)
        : jobTable(ctx, jobs, { columns: ['jid', 'state', 'klass', 'queue', 'tags'],
          actions: ['retry', 'move', 'priority', 'tag', 'cancel', 'delete'], all }),
      onward && jobs.length === 0 ? button('Search on', onward, { class: 'primary' })
        : pager((jobs.length ? plural(jobs.length, 'job') + ' on this page' : '') +
          (run.isSearching ? ', still searching …' : ''),
        ctx.query.cursor ? () => history.back() : null, onward)];
  },
};
