/*
 * Tracked jobs: those whose fate somebody wants to know.
 */
import * as calls from '../calls.js';
import { h } from '../dom.js';
import { plural } from '../format.js';
import { identity } from '../names.js';
import { empty, panel, jobLink } from '../ui.js';
import { jobTable } from './joblist.js';

export const tracked = {
  title: () => 'Tracked jobs',
  load: (ctx) => calls.tracked(ctx.signal),

  view({ jobs, expired }, ctx) {
    if (jobs.length === 0 && expired.length === 0) {
      return empty('No job is tracked.', 'Track a job on its page to find it here.');
    }
    return [
      jobs.length ? jobTable(ctx, jobs, { columns: ['jid', 'state', 'klass', 'queue', 'tags'],
        caption: 'Tracked jobs' }) : null,
      expired.length ? panel('Forgotten', h('p', { class: 'dim' },
        `${plural(expired.length, 'tracked job')} no longer there:`),
      h('ul', { class: 'plain' }, expired.map((jid) => h('li', { key: identity(jid) },
        jobLink(jid))))) : null,
    ];
  },
};
