/*
 * The addresses of the console, and the page of each.
 */
import { endpoints } from './pages/endpoints.js';
import { failureGroup, failures } from './pages/failures.js';
import { job } from './pages/job.js';
import { limit, limits } from './pages/limits.js';
import { overview } from './pages/overview.js';
import { queue } from './pages/queue.js';
import { queues } from './pages/queues.js';
import { recurring, recurringJob } from './pages/recurring.js';
import { search } from './pages/search.js';
import { server } from './pages/server.js';
import { tag, tags } from './pages/tags.js';
import { tracked } from './pages/tracked.js';
import { worker, workers } from './pages/workers.js';

export const routes = [
  ['', overview],
  ['queues', queues],
  ['queues/:name', queue],
  ['jobs/:name', job],
  ['failures', failures],
  ['failures/:name', failureGroup],
  ['workers', workers],
  ['workers/:name', worker],
  ['recurring', recurring],
  ['recurring/:name', recurringJob],
  ['limits', limits],
  ['limits/:name', limit],
  ['endpoints', endpoints],
  ['tracked', tracked],
  ['tags', tags],
  ['tags/:name', tag],
  ['search', search],
  ['server', server],
];
