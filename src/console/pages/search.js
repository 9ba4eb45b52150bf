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
const REQUESTS_MAX = 20;

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
export function readQuery(text) {
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

/* Follows the cursor until there are enough jobs, or no more. */
async function findJobs(query, cursor, signal) {
  const jids = [];
  let at = cursor;
  for (let i = 0; i < REQUESTS_MAX && jids.length < PAGE; i++) {
    const part = await calls.search({ ...query, cursor: at, count: PAGE - jids.length }, signal);
    jids.push(...part.jobs);
    at = String(part.cursor);
    if (at === '0') {
      break;
    }
  }
  return { jids, cursor: at };
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
  matters: () => false,

  async load(ctx) {
    const { query, problem } = readQuery(ctx.query.q ?? '');
    if (problem || Object.keys(query).length === 0) {
      return { problem, query };
    }
    const [found, exact] = await Promise.all([
      findJobs(query, ctx.query.cursor ?? '0', ctx.signal), exactJob(query, ctx.signal)]);
    const jobs = await calls.getJobs(found.jids, ctx.signal);
    if (exact && !ctx.query.cursor) {
      jobs.splice(0, jobs.length, exact, ...jobs.filter((job) => job.jid !== exact.jid));
    }
    return { query, jobs, cursor: found.cursor };
  },

  view({ problem, query, jobs, cursor }, ctx) {
    if (!jobs) {
      return [form(ctx), problem ? notice('warn', problem) : null,
        h('dl', { class: 'keys' }, HELP.map(([word, text]) => h('div', null,
          h('dt', null, h('code', null, word)), h('dd', null, text))))];
    }
    const here = (change) => withQuery('#/search', { ...ctx.query, ...change });
    const onward = cursor !== '0' ? () => ctx.go(here({ cursor })) : null;
    const all = () => collect(async (at, count) => {
      const part = await calls.search({ ...query, cursor: at ?? '0', count });
      return { jids: part.jobs, next: String(part.cursor) === '0' ? null : String(part.cursor) };
    });
    return [form(ctx),
      jobs.length === 0
        ? empty(onward ? 'Nothing so far.' : 'No job was found.', onward
          ? 'The search has not looked at all jobs yet.' : null)
        : jobTable(ctx, jobs, { columns: ['jid', 'state', 'klass', 'queue', 'tags'],
          actions: ['retry', 'move', 'priority', 'tag', 'cancel', 'delete'], all }),
      onward && jobs.length === 0 ? button('Search on', onward, { class: 'primary' })
        : pager(jobs.length ? plural(jobs.length, 'job') + ' on this page' : '',
          ctx.query.cursor ? () => history.back() : null, onward)];
  },
};
