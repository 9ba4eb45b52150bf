/*
 * The most frequent tags, and the jobs of one tag.
 */
import { collect } from '../bulk.js';
import * as calls from '../calls.js';
import { h } from '../dom.js';
import { count, plural } from '../format.js';
import { display, identity } from '../names.js';
import { empty, pager, path, withQuery } from '../ui.js';
import { jobTable } from './joblist.js';

const TAGS = 200;
const PAGE = 50;

export const tags = {
  title: () => 'Tags',
  load: (ctx) => calls.tags(0, TAGS, ctx.signal),

  view(all) {
    return all.length ? [
      h('p', { class: 'dim' }, 'The most frequent tags of jobs first.'),
      h('ul', { class: 'tag-cloud' }, all.map((tag) => h('li', { key: identity(tag) },
        h('a', { href: path('tags', tag), class: 'tag' }, display(tag))))),
    ] : empty('No tag is on more than one job.', 'Search finds the jobs of any tag: tag:name');
  },
};

export const tag = {
  title: (ctx) => `Tag ${display(ctx.params[0])}`,

  async load(ctx) {
    const start = Number(ctx.query.start) || 0;
    const found = await calls.tag(ctx.params[0], start, PAGE, ctx.signal);
    return { start, total: found.total, jobs: await calls.getJobs(found.jobs, ctx.signal) };
  },

  view({ start, total, jobs }, ctx) {
    const [name] = ctx.params;
    if (total === 0) {
      return empty('No job has this tag.');
    }
    const turn = (to) => () => ctx.go(withQuery(path('tags', name), { start: to || '' }));
    const all = () => collect(async (at, number) => {
      const part = await calls.tag(name, at ?? 0, number);
      const next = (at ?? 0) + number;
      return { jids: part.jobs, next: next < part.total ? next : null };
    });
    return [
      h('p', { class: 'dim' }, plural(total, 'job')),
      jobTable(ctx, jobs, { columns: ['jid', 'state', 'klass', 'queue', 'tags'],
        actions: ['priority', 'tag', 'cancel'], all, total: count(total) }),
      pager(`${count(start + 1)} to ${count(Math.min(start + PAGE, total))} of ${count(total)}`,
        start > 0 ? turn(Math.max(0, start - PAGE)) : null,
        start + PAGE < total ? turn(start + PAGE) : null),
    ];
  },
};
