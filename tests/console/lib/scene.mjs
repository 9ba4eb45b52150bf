// A server with something of everything, for cases about pages.

import { fail, get, pop, post, put, request } from './daemon.mjs';

export const TRACEBACK = `Traceback (most recent call last):
  File "worker.py", line 42, in run
    send(job)
TimeoutError: timed out after 30 s`;

export async function fillScene() {
  await fail('mail', 'mail-broken', 'smtp-timeout', 'Connection timed out', { error: TRACEBACK });
  await fail('mail', 'mail-broken-2', 'smtp-timeout', 'Connection timed out');
  for (let i = 0; i < 60; i++) {
    await put('mail', `mail-${i}`, { to: `user${i}@example.com`, user: { id: i } },
      { priority: i % 5, tags: [`customer:${i % 3}`, 'mail'] });
  }
  await put('mail', 'mail-later', { to: 'x' }, { delay: 3600 });
  await put('images', 'img-1', { src: 's3://bucket/1.png', id: 12345678901234567890n.toString() });
  await put('images', 'img-2', {});
  await put('reports', 'report-1', { month: '2026-10' }, { depends: ['img-1', 'img-2'] });
  await put('reports', 'report-2', { month: '2026-11' }, { depends: ['report-1'] });
  await pop('images', 'web-1', 1);
  await post('/jobs/img-1/start', { worker: 'web-1', pid: 99, node: 'web' });
  await post('/jobs/img-1/progress', { worker: 'web-1', percent: 40, note: 'resizing' });
  await request('PATCH', '/jobs/img-1/meta', { fields: { owner: 'alice' } });
  await put('done', 'done-1', { x: 1 });
  await pop('done', 'web-2', 1);
  await post('/jobs/done-1/complete', { worker: 'web-2', result: { pages: 7 } });
  await post('/queues/mail/recurring', { jid: 'nightly', class: 'Digest', data: { kind: 'all' },
    cron: '0 3 * * *', tz: 'Europe/Berlin' });
  await post('/queues/mail/recurring', { jid: 'minutely', class: 'Poll', data: {}, interval: 86400,
    offset: 3600 });
  await request('PUT', '/limits/gpu', { concurrency: 1 });
  await request('PUT', '/limits/domain:*', { rate: 1, per: 3600 });
  await put('crawl', 'gpu-1', {}, { limits: ['gpu'] });
  await put('crawl', 'gpu-2', {}, { limits: ['gpu'] });
  await pop('crawl', 'web-3', 1);
  await put('lonely', 'lonely-1');
  await request('PUT', '/endpoints/hooks', { url: 'http://127.0.0.1:9/jobs', queues: ['pushed'],
    concurrency: 4, headers: { 'X-Shop': 'main' } });
  await post('/jobs/mail-7/track');
  await post('/queues/reports/pause');
  return get('/queues');
}

// Every page of the console, with a text that it shows in this scene.
export const PAGES = {
  '#/': 'Needs attention',
  '#/queues': 'crawl',
  '#/queues/mail': 'Statistics',
  '#/queues/mail?state=failed': 'Connection timed out',
  '#/queues/images?state=running': 'web-1',
  '#/queues/reports?state=depends': 'report-2',
  '#/queues/done?state=complete': 'done-1',
  '#/queues/mail?state=scheduled': 'mail-later',
  '#/jobs/mail-broken': 'smtp-timeout',
  '#/jobs/img-1': 'resizing',
  '#/jobs/report-1': 'Dependencies',
  '#/jobs/done-1': 'Result',
  '#/jobs/gpu-2': 'Why it does not run',
  '#/failures': 'smtp-timeout',
  '#/failures/smtp-timeout': 'mail-broken-2',
  '#/workers': 'web-1',
  '#/workers/web-1': 'img-1',
  '#/recurring': 'nightly',
  '#/recurring/nightly': 'Europe/Berlin',
  '#/limits': 'domain:*',
  '#/limits/gpu': 'Held by',
  '#/endpoints': 'http://127.0.0.1:9/jobs',
  '#/tracked': 'mail-7',
  '#/tags': 'customer:0',
  '#/tags/mail': '60 jobs',
  '#/search': 'data.user.id:7',
  '#/search?q=tag:customer:1': 'mail-1',
  '#/server': 'Log and rewrites',
  '#/server?show=configuration': 'appendfsync',
  '#/server?show=options': 'heartbeat',
  '#/server?show=slow': 'Took',
  '#/server?show=clients': 'Last command',
};
