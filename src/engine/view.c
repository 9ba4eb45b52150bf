#include "engine/view.h"

#include "engine/engine_int.h"

const struct skiplist *view_queue(const struct qless *q, struct qless_str name,
				  enum view_queue_list list)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return NULL;
	switch (list) {
	case VIEW_WORK:
		return &queue->work;
	case VIEW_LOCKS:
		return &queue->locks;
	case VIEW_SCHEDULED:
		return &queue->scheduled;
	case VIEW_DEPENDS:
		return &queue->depends;
	case VIEW_RECUR:
		return &queue->recurring;
	}
	return NULL;
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
	return job->extra != NULL ? job->extra->dependencies : NULL;
}

const struct skiplist *view_dependents(const struct qless_job *job)
{
	return job->extra != NULL ? job->extra->dependents : NULL;
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

bool view_is_paused(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	return queue != NULL && queue->paused;
}

static void each_key(const struct hash *table, view_name_fn *visit, void *arg)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, table)
		visit(arg, table->key(node));
}

static void each_object(const struct intern_table *table, view_name_fn *visit, void *arg)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &table->hash) {
		struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			visit(arg, intern_str(name));
	}
}

void view_each_job(const struct qless *q, view_name_fn *visit, void *arg)
{
	each_key(&q->jobs, visit, arg);
}

void view_each_recur(const struct qless *q, view_name_fn *visit, void *arg)
{
	each_key(&q->recurs, visit, arg);
}

void view_each_queue(const struct qless *q, view_name_fn *visit, void *arg)
{
	each_object(&q->queue_names, visit, arg);
}

void view_each_worker(const struct qless *q, view_name_fn *visit, void *arg)
{
	each_object(&q->worker_names, visit, arg);
}

void view_each_tag(const struct qless *q, view_name_fn *visit, void *arg)
{
	each_object(&q->tag_names, visit, arg);
}

void view_each_group(const struct qless *q, view_name_fn *visit, void *arg)
{
	each_object(&q->group_names, visit, arg);
}

struct scan {
	view_name_fn *visit;
	void *arg;
};

static void visit_job(struct hash_node *node, void *arg)
{
	const struct scan *scan = arg;

	scan->visit(scan->arg, job_key(node));
}

uint32_t view_scan_jobs(const struct qless *q, uint32_t cursor, view_name_fn *visit, void *arg)
{
	struct scan scan = { visit, arg };

	return hash_scan(&q->jobs, cursor, visit_job, &scan);
}

uint64_t view_job_count(const struct qless *q)
{
	return hash_count(&q->jobs);
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
