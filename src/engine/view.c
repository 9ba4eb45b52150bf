#include "engine/view.h"

#include <assert.h>
#include <math.h>

#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/lists.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/run.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/worker.h"

/* Recurring jobs of a queue that view_due_tags() looks at. */
#define DUE_LOOKS 16

const struct skiplist *view_queue(const struct qless *q, struct qless_str name,
				  enum queue_list list)
{
	const struct queue *queue = queue_find(q, name);

	return queue != NULL ? &queue->lists[list] : NULL;
}

bool view_queue_order(const struct qless *q, struct qless_str name, enum queue_list list,
		      struct skipmerge *ret_order)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return false;
	ret_order->first = &queue->lists[list];
	ret_order->second = list == QUEUE_WORK ? &queue->limited : NULL;
	return true;
}

const struct skiplist *view_worker_jobs(const struct qless *q, struct qless_str name)
{
	const struct worker *worker = worker_find(q, name);

	return worker != NULL ? &worker->by_expiry : NULL;
}

const struct skiplist *view_tag_jobs(const struct qless *q, struct qless_str name)
{
	const struct tag *tag = tag_find(q, name);

	return tag != NULL ? &tag->jobs : NULL;
}

const struct skiplist *view_group(const struct qless *q, struct qless_str name)
{
	const struct group *group = group_find(q, name);

	return group != NULL ? &group->jobs : NULL;
}

const struct skiplist *view_queues(const struct qless *q)
{
	return &q->queues;
}

const struct skiplist *view_workers(const struct qless *q)
{
	return &q->workers;
}

const struct skiplist *view_completed(const struct qless *q)
{
	return &q->completed;
}

const struct skiplist *view_tracked(const struct qless *q)
{
	return &q->tracks;
}

const struct skiplist *view_tags(const struct qless *q)
{
	return &q->tags;
}

const struct skiplist *view_dependencies(const struct qless_job *job)
{
	return job_extra(job) != NULL ? job_extra(job)->dependencies : NULL;
}

const struct skiplist *view_dependents(const struct qless_job *job)
{
	return job_extra(job) != NULL ? job_extra(job)->dependents : NULL;
}

void view_job(const struct qless_job *job, struct view_job *ret_view)
{
	*ret_view = (struct view_job){
		.history_count = job->history.count,
		.due = job_due(job),
		.is_warned = (job->flags & JOB_GRACE) != 0,
		.failure_cleared = (job->flags & JOB_FAILURE_CLEARED) != 0,
	};
}

double view_job_due(const struct qless_job *job)
{
	return job->state == QLESS_SCHEDULED ? job->node.score : job_due(job);
}

static size_t count_slots(const struct qless_job *job)
{
	const struct limit_set *set = job_limits(job);

	return set != NULL && job->state == QLESS_RUNNING ? set->count : 0;
}

struct view_lists view_lists(const struct qless *q, struct qless_str jid)
{
	const struct qless_job *job = job_find(q, jid);
	const struct job_extra *extra = job != NULL ? job_extra(job) : NULL;

	if (job == NULL)
		return (struct view_lists){ 0 };
	if (extra == NULL)
		return (struct view_lists){ .slots = count_slots(job) };
	return (struct view_lists){
		.tags = extra->tags != NULL ? extra->tags->count : 0,
		.dependencies =
			extra->dependencies != NULL ? skiplist_count(extra->dependencies) : 0,
		.dependents = extra->dependents != NULL ? skiplist_count(extra->dependents) : 0,
		.slots = count_slots(job),
	};
}

size_t view_recur_tags(const struct qless *q, struct qless_str jid)
{
	const struct qless_recur *recur = qless_recur_get(q, jid);

	return recur != NULL ? recur->tag_count : 0;
}

size_t view_due_tags(const struct qless *q, double now, struct qless_str name, double count)
{
	const struct queue *queue = queue_find(q, name);
	const struct skipnode *node = queue != NULL ? skiplist_first(&queue->recurring) : NULL;
	double most = 0;

	for (int i = 0; i < DUE_LOOKS && node != NULL && node->score <= now; i++) {
		const struct qless_recur *recur = recur_from_node(node);

		most = fmax(most, recur_count_due(recur, now, count) * recur->tag_count);
		node = skiplist_next(node);
	}
	return (size_t)fmin(most, 1e15);
}

size_t view_purgeable(const struct qless *q, double now)
{
	double oldest = now - q->settings.jobs_history;
	double keep = q->settings.jobs_history_count;
	const struct skiplist *retained = &q->retained.list;
	double count = (double)skiplist_count(&q->completed) - skiplist_count(retained);
	double excess = keep >= 0 ? fmax(count - keep, 0) : fmin(-keep, count);
	const struct skipnode *first = skiplist_first(&q->completed);

	if (first != NULL && first->score <= oldest)
		excess = fmax(excess, (double)skiplist_count_range(&q->completed, 0, oldest) -
					      skiplist_count_range(retained, 0, oldest));
	return (size_t)excess;
}

bool view_has_lists(const struct qless *q)
{
	return skiplist_count(&q->tags) != 0 || q->depending_count != 0 ||
	       hash_count(&q->limit_sets) != 0;
}

bool view_is_paused(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	return queue != NULL && queue->paused;
}

/* ---- finding the members of lists ---- */

const struct skipnode *view_find_job(const struct qless *q, const struct skiplist *list,
				     struct qless_str jid)
{
	const struct qless_job *job = job_find(q, jid);
	const struct skiplist *own;

	if (job == NULL)
		return NULL;
	own = job_list(q, job);
	if (job->queue != NULL && own == &job->queue->limited)
		own = &job->queue->work;
	return own == list ? &job->node : NULL;
}

const struct skipnode *view_find_recur(const struct qless *q, const struct skiplist *list,
				       struct qless_str jid)
{
	const struct qless_recur *recur = qless_recur_get(q, jid);

	return recur != NULL && &recur->queue->recurring == list ? &recur->node : NULL;
}

const struct skipnode *view_find_worker_job(const struct qless *q, struct qless_str name,
					    struct qless_str jid)
{
	const struct worker *worker = worker_find(q, name);

	return worker != NULL ? worker_find_job(worker, jid) : NULL;
}

const struct skipnode *view_find_tag_job(const struct qless *q, struct qless_str name,
					 struct qless_str jid)
{
	const struct qless_job *job = job_find(q, jid);
	const struct tag *tag = tag_find(q, name);

	return job != NULL && tag != NULL ? job_find_tag(job, tag) : NULL;
}

static const struct skipnode *node_if_linked(const struct skipnode *node)
{
	return node->linked ? node : NULL;
}

const struct skipnode *view_find_queue(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	return queue != NULL ? node_if_linked(&queue->node) : NULL;
}

const struct skipnode *view_find_worker(const struct qless *q, struct qless_str name)
{
	const struct worker *worker = worker_find(q, name);

	return worker != NULL ? node_if_linked(&worker->node) : NULL;
}

const struct skipnode *view_find_tracked(const struct qless *q, struct qless_str jid)
{
	const struct tracked *tracked = tracked_find(q, jid);

	return tracked != NULL ? &tracked->node : NULL;
}

const struct skipnode *view_find_tag(const struct qless *q, struct qless_str name)
{
	const struct tag *tag = tag_find(q, name);

	return tag != NULL ? &tag->node : NULL;
}

/* ---- everything there is ---- */

static const struct hash *hash_of(const struct qless *q, enum view_table table)
{
	switch (table) {
	case VIEW_JOBS:
		return &q->jobs;
	case VIEW_RECURS:
		return &q->recurs;
	case VIEW_QUEUES:
		return &q->queue_names.hash;
	case VIEW_WORKERS:
		return &q->worker_names.hash;
	case VIEW_GROUPS:
		return &q->group_names.hash;
	case VIEW_TAGS:
		return &q->tag_names.hash;
	case VIEW_TABLES:
		break;
	}
	assert(0);
	return NULL;
}

struct scan {
	const struct hash *hash;
	bool is_interned;
	view_name_fn *visit;
	void *arg;
};

static struct scan scan_of(const struct qless *q, enum view_table table, view_name_fn *visit,
			   void *arg)
{
	return (struct scan){ hash_of(q, table), table >= VIEW_QUEUES, visit, arg };
}

/* Names without an object are skipped. */
static void visit_node(struct hash_node *node, void *arg)
{
	const struct scan *scan = arg;

	if (!scan->is_interned || intern_from_node(node)->user != NULL)
		scan->visit(scan->arg, scan->hash->key(node));
}

void view_each(const struct qless *q, enum view_table table, view_name_fn *visit, void *arg)
{
	struct scan scan = scan_of(q, table, visit, arg);
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, scan.hash)
		visit_node(node, &scan);
}

uint32_t view_scan(const struct qless *q, enum view_table table, uint32_t cursor,
		   view_name_fn *visit, void *arg)
{
	struct scan scan = scan_of(q, table, visit, arg);

	return hash_scan(scan.hash, cursor, visit_node, &scan);
}

struct job_scan {
	void (*visit)(void *arg, const struct qless_job *job);
	void *arg;
};

static void visit_job(struct hash_node *node, void *arg)
{
	const struct job_scan *scan = arg;

	scan->visit(scan->arg, container_of(node, const struct qless_job, hash));
}

uint32_t view_scan_jobs(const struct qless *q, uint32_t cursor,
			void (*visit)(void *arg, const struct qless_job *job), void *arg)
{
	struct job_scan scan = { visit, arg };

	return hash_scan(&q->jobs, cursor, visit_job, &scan);
}

void view_counts(const struct qless *q, struct view_counts *ret_counts)
{
	*ret_counts = (struct view_counts){
		.jobs = hash_count(&q->jobs),
		.depending = q->depending_count,
		.depended_on = q->depended_count,
		.recurs = hash_count(&q->recurs),
		.busy_workers = q->busy_count,
		.groups = q->group_count,
		.tags = skiplist_count(&q->tags),
		.paused_queues = q->paused_count,
	};
}

/* ---- statistics ---- */

static struct view_series view_of_series(const struct series *series)
{
	return (struct view_series){
		.count = series->count,
		.mean = series->mean,
		.vk = series->vk,
		.bucket_count = series->bucket_count,
		.buckets = series->buckets,
	};
}

static void view_of_day(const struct stats_day *day, struct view_day *ret_day)
{
	int i;

	*ret_day = (struct view_day){
		.day = day->day,
		.wait = view_of_series(&day->wait),
		.run = view_of_series(&day->run),
	};
	for (i = 0; i < VIEW_COUNTERS; i++) {
		ret_day->counters[i] = day->counters[i];
		ret_day->counted[i] = day->counted[i];
		ret_day->any_counted |= day->counted[i];
	}
}

bool view_stats_day(const struct qless *q, struct qless_str name, size_t i,
		    struct view_day *ret_day)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL || i >= queue->day_count)
		return false;
	view_of_day(&queue->days[i], ret_day);
	return true;
}

bool view_find_stats_day(const struct qless *q, struct qless_str name, double day,
			 struct view_day *ret_day)
{
	const struct queue *queue = queue_find(q, name);
	const struct stats_day *found = queue != NULL ? stats_find(queue, day) : NULL;

	if (found == NULL || found->day != day)
		return false;
	view_of_day(found, ret_day);
	return true;
}

struct view_bucket view_bucket(const struct view_series *series, size_t i)
{
	const struct bucket *bucket = (const struct bucket *)series->buckets + i;

	return (struct view_bucket){ (char)bucket->unit, bucket->value, bucket->count };
}

/* ---- monitoring ---- */

static bool has_counted(const struct meter *meter)
{
	for (int event = 0; event < METER_EVENTS; event++) {
		if (meter->counts[event] != 0)
			return true;
	}
	return false;
}

void view_each_class(const struct qless *q, view_class_fn *visit, void *arg)
{
	const struct klasses *klasses = &q->klasses;

	for (size_t i = 0; i < klasses->count; i++) {
		const struct klass *klass = klasses->items[i];

		visit(arg, &(struct view_class_figures){ intern_str(klass->name), &klass->meter });
	}
	if (has_counted(&klasses->other))
		visit(arg, &(struct view_class_figures){ STR(METER_OTHER), &klasses->other });
}

size_t view_queue_count(const struct qless *q)
{
	return hash_count(&q->queue_names.hash);
}

/* Usually there are none, and the first lock tells. */
static uint64_t count_stalled(const struct queue *queue, double now)
{
	const struct skipnode *first = skiplist_first(&queue->locks);

	if (first == NULL || first->score > now)
		return 0;
	return skiplist_count_range(&queue->locks, 0, now);
}

static void read_queue(const struct queue *queue, double now, struct view_queue_figures *ret)
{
	*ret = (struct view_queue_figures){
		.name = queue_name(queue),
		.stalled = count_stalled(queue, now),
		/* A job names its queue until it is complete, and is in one of its lists or
		 * failed. */
		.failed = queue->job_count,
		.paused = queue->paused,
		.meter = &queue->meter,
	};
	for (int i = 0; i < QUEUE_LISTS; i++) {
		ret->listed[i] = i == QUEUE_WORK ? queue_count_waiting(queue)
						 : skiplist_count(&queue->lists[i]);
		if (queue_list_has_jobs((enum queue_list)i))
			ret->failed -= ret->listed[i];
	}
	ret->running -= ret->stalled;
}

uint64_t view_hash_seed(const struct qless *q)
{
	return q->hooks.hash_seed;
}

bool view_queue_figures(const struct qless *q, double now, struct qless_str name,
			struct view_queue_figures *ret_figures)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return false;
	read_queue(queue, now, ret_figures);
	return true;
}

struct figures_visit {
	double now;
	view_queue_fn *visit;
	void *arg;
};

static void visit_figures(struct queue *queue, void *arg)
{
	const struct figures_visit *v = arg;
	struct view_queue_figures figures;

	read_queue(queue, v->now, &figures);
	v->visit(v->arg, &figures);
}

void view_each_queue(const struct qless *q, double now, view_queue_fn *visit, void *arg)
{
	struct figures_visit v = { now, visit, arg };

	queue_each(q, visit_figures, &v);
}

size_t view_queues_with_work(const struct qless *q, size_t cursor, size_t max, view_name_fn *visit,
			     void *arg)
{
	const struct queue_vec *all = &q->all_queues;

	for (; cursor < all->count && max > 0; cursor++, max--) {
		const struct queue *queue = all->items[cursor];

		if (queue_count_waiting(queue) != 0)
			visit(arg, queue_name(queue));
	}
	return cursor < all->count ? cursor : 0;
}

/* More than the score of a job loses by its age. */
#define AGE_SCORE_MAX 0.5

static double oldest_in(const struct skiplist *work)
{
	const struct skipnode *node = skiplist_first(work);
	double oldest = INFINITY;

	if (node == NULL)
		return oldest;
	node = skiplist_last_le(work, job_from_node(node)->priority);
	if (node != NULL)
		oldest = job_from_node(node)->time;
	node = skiplist_last(work);
	for (int i = 0; i < VIEW_PRIORITIES && node != NULL; i++) {
		const struct qless_job *job = job_from_node(node);

		oldest = fmin(oldest, job->time);
		node = skiplist_last_lt(work, isinf(node->score) ? node->score
								 : job->priority - AGE_SCORE_MAX);
	}
	return oldest;
}

double view_oldest_waiting(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL || queue_count_waiting(queue) == 0)
		return NAN;
	return fmin(oldest_in(&queue->work), oldest_in(&queue->limited));
}

static void add_parts(struct queue *queue, void *arg)
{
	struct view_queue_parts *parts = arg;
	struct view_day day;
	uint32_t i;

	for (i = 0; i < QUEUE_LISTS; i++)
		parts->lists += i == QUEUE_WORK ? queue_count_waiting(queue) > 0
						: skiplist_count(&queue->lists[i]) > 0;
	for (i = 0; i < queue->day_count; i++) {
		view_of_day(&queue->days[i], &day);
		parts->waits += day.wait.count > 0;
		parts->runs += day.run.count > 0;
		parts->counters += day.any_counted;
	}
}

void view_count_parts(const struct qless *q, struct view_queue_parts *ret_parts)
{
	*ret_parts = (struct view_queue_parts){ 0 };
	queue_each(q, add_parts, ret_parts);
}
