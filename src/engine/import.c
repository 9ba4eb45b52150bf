/*
 * Filling an engine from elsewhere. Each piece ends up where the calls that usually make it would
 * leave it.
 */
#include "engine/import.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/run.h"
#include "engine/state_int.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/mem.h"

void import_begin(struct import *import, struct qless *engine)
{
	assert(hash_count(&engine->jobs) == 0 && hash_count(&engine->recurs) == 0);
	*import = (struct import){ .engine = engine, .limits = *qless_get_limits(engine) };
	import->max_history = engine->settings.max_job_history;
	qless_set_limits(engine, NULL);
}

void import_keep_histories(struct import *import)
{
	import->max_history = import->engine->settings.max_job_history;
	import->engine->settings.max_job_history = 0;
}

size_t import_end(struct import *import, double now)
{
	struct qless *q = import->engine;
	struct hash_iter it;
	struct hash_node *node;
	size_t settled = 0;

	q->now = now;
	HASH_FOREACH(node, &it, &q->jobs)
		settled += depends_settle(q, container_of(node, struct qless_job, hash));
	q->settings.max_job_history = import->max_history;
	q->latest = -INFINITY;
	qless_set_limits(q, &import->limits);
	return settled;
}

void import_tracked(struct import *import, struct qless_str jid, double time)
{
	if (tracked_find(import->engine, jid) == NULL)
		tracked_add(import->engine, jid, time);
}

/* ---- jobs ---- */

static void set_worker(struct qless *q, struct qless_job *job, struct qless_str name)
{
	struct intern *worker = intern_get(&q->worker_names, name);

	job_set_worker(q, job, worker);
	intern_unref(&q->worker_names, worker);
}

static void set_failure(struct qless *q, struct qless_job *job, const struct qless_failure *from)
{
	struct intern *group = intern_get(&q->group_names, from->group);
	struct intern *worker =
		from->worker.len > 0 ? intern_get(&q->worker_names, from->worker) : NULL;

	job_set_failure(q, job, group, from->message, from->when, worker);
	intern_unref(&q->group_names, group);
	intern_unref(&q->worker_names, worker);
}

static void place(struct qless *q, struct qless_job *job, double score)
{
	assert(job->state != QLESS_FAILED ||
	       (job_extra(job) != NULL && job_extra(job)->failure != NULL));
	if (job->state == QLESS_FAILED) {
		score = fmax(score, 1);
		q->failure_number = fmax(q->failure_number, score);
	}
	job_restore(q, job, score);
}

struct qless_job *import_job(struct import *import, const struct import_job *from)
{
	const struct qless_job_info *info = &from->info;
	bool is_over = info->state == QLESS_FAILED || info->state == QLESS_COMPLETE;
	struct qless *q = import->engine;
	struct qless_job *job;

	if (job_find(q, info->jid) != NULL)
		return NULL;
	job = job_new(q, info->jid, info->data);
	job_set_klass(q, job, info->klass);
	job->state = (uint8_t)info->state;
	job->priority = info->priority;
	job->retries = info->retries;
	job->remaining = info->remaining;
	job->time = info->state == QLESS_COMPLETE ? from->score : info->time;
	job->expires = is_over ? 0 : info->expires;
	if (info->state == QLESS_RUNNING && !from->is_warned)
		job->expires = from->score;
	if (!is_over && (info->worker.len > 0 || info->state == QLESS_RUNNING))
		set_worker(q, job, info->worker);
	if (info->state != QLESS_COMPLETE)
		job_set_queue(q, job, queue_need(q, info->queue));
	if (info->has_failure)
		set_failure(q, job, &info->failure);
	else if (from->failure_cleared)
		job->flags |= JOB_FAILURE_CLEARED;
	if (from->is_warned && info->state == QLESS_RUNNING)
		job->flags |= JOB_GRACE;
	if (info->spawned_from.ptr != NULL)
		job_need_extra(job)->spawned_from = intern_get(&q->names, info->spawned_from);
	if (info->state == QLESS_DEPENDS)
		job_set_due(job, from->due);
	if (from->tag_count > 0)
		job_set_tags(q, job, from->tags, from->tag_count, info->time);
	place(q, job, from->score);
	engine_changed(q);
	return job;
}

static void append_failed(struct qless *q, struct qless_job *job, const struct qless_event *event)
{
	struct intern *group = intern_get(&q->group_names, event->group);
	struct intern *worker = event->kind == QLESS_EVENT_FAILED
					? intern_get(&q->worker_names, event->worker)
					: NULL;

	history_append_failed(q, &job->history, event->when, group, worker);
	intern_unref(&q->group_names, group);
	intern_unref(&q->worker_names, worker);
}

void import_event(struct import *import, struct qless_job *job, const struct qless_event *event)
{
	struct qless *q = import->engine;
	struct queue queue; /* only its name is used; the queue may be gone */
	struct intern *name;

	switch (event->kind) {
	case QLESS_EVENT_PUT:
		queue.name = intern_get(&q->queue_names, event->queue);
		history_append_put(q, &job->history, event->when, &queue);
		intern_unref(&q->queue_names, queue.name);
		break;
	case QLESS_EVENT_POPPED:
		name = intern_get(&q->worker_names, event->worker);
		history_append_popped(q, &job->history, event->when, name);
		intern_unref(&q->worker_names, name);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		history_append_plain(q, &job->history, event->when, event->kind);
		break;
	case QLESS_EVENT_FAILED:
	case QLESS_EVENT_EXHAUSTED:
		append_failed(q, job, event);
		break;
	case QLESS_EVENT_LOG:
		if (history_has_room(&job->history, event->what,
				     event->item.ptr != NULL ? &event->item : NULL))
			history_append_log(q, &job->history, event->when, event->what,
					   event->item.ptr != NULL ? &event->item : NULL);
		break;
	}
}

bool import_tag_time(struct import *import, struct qless_str tag_text, struct qless_str jid,
		     double time)
{
	const struct tag *tag = tag_find(import->engine, tag_text);
	struct qless_job *job = job_find(import->engine, jid);
	const struct skipnode *node;

	if (tag == NULL || job == NULL)
		return false;
	node = job_find_tag(job, tag);
	if (node == NULL)
		return false;
	skiplist_rescore((struct skiplist *)(uintptr_t)&tag->jobs,
			 (struct skipnode *)(uintptr_t)node, time);
	return true;
}

bool import_dependency(struct import *import, struct qless_str jid, struct qless_str on)
{
	struct qless_job *job = job_find(import->engine, jid);
	const struct qless_job *other = job_find(import->engine, on);

	if (job == NULL || other == NULL || job->state != QLESS_DEPENDS ||
	    other->state == QLESS_COMPLETE)
		return false;
	depends_add(import->engine, job, &on, 1);
	return true;
}

/* ---- what jobs hang on ---- */

void import_queue(struct import *import, struct qless_str name, double time)
{
	struct qless *q = import->engine;
	struct queue *queue = queue_need(q, name);

	if (queue->node.linked)
		skiplist_rescore(&q->queues, &queue->node, time);
	else
		skiplist_insert(&q->queues, &queue->node, time);
}

void import_paused(struct import *import, struct qless_str name)
{
	struct queue *queue = queue_need(import->engine, name);

	if (!queue->paused)
		import->engine->paused_count++;
	queue->paused = true;
}

void import_worker(struct import *import, struct qless_str name, double time)
{
	struct intern *worker = intern_get(&import->engine->worker_names, name);

	worker_seen(import->engine, worker, time);
	intern_unref(&import->engine->worker_names, worker);
}

bool import_holding(struct import *import, struct qless_str worker, struct qless_str jid,
		    double expires)
{
	struct intern *name = intern_get(&import->engine->worker_names, worker);
	const struct qless_job *job = job_find(import->engine, jid);
	bool fits = job == NULL || job->state != QLESS_RUNNING || job->worker != name ||
		    job->expires == expires;

	worker_hold(import->engine, name, jid, fits ? expires : job->expires);
	intern_unref(&import->engine->worker_names, name);
	return fits;
}

bool import_recur(struct import *import, const struct qless_recur_put *put, uint64_t made,
		  double next)
{
	struct qless *q = import->engine;
	struct qless_recur *recur;
	bool was_known;

	if (qless_recur_get(q, put->jid) != NULL)
		return false;
	was_known = queue_find(q, put->queue) != NULL && queue_find(q, put->queue)->node.linked;
	if (qless_recur(q, next, put) < 0)
		return false;
	recur = (struct qless_recur *)(uintptr_t)qless_recur_get(q, put->jid);
	recur->count = made;
	recur_set_next(q, recur, next);
	/* The call makes the queue known. The list of queues says whether it was. */
	if (!was_known && recur->queue->node.linked)
		skiplist_remove(&q->queues, &recur->queue->node);
	return true;
}

/* ---- statistics ---- */

static int compare_buckets(const void *a, const void *b)
{
	const struct view_bucket *x = a;
	const struct view_bucket *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

bool import_series(struct import *import, struct qless_str queue, double day, bool is_wait,
		   const struct import_series *from)
{
	struct series series = { .count = from->count, .mean = from->mean, .vk = from->vk };
	struct stats_day *to;
	bool good = day == stats_day_start(day) && from->count > 0 && stats_is_series(&series);

	if (from->bucket_count > 0)
		qsort(from->buckets, from->bucket_count, sizeof(*from->buckets), compare_buckets);
	for (size_t i = 0; i < from->bucket_count && good; i++) {
		struct bucket bucket = { from->buckets[i].unit, from->buckets[i].value,
					 from->buckets[i].count };

		good = stats_is_bucket(&bucket) &&
		       (i == 0 || stats_follows(&bucket, &series.buckets[i - 1]));
		stats_add_bucket(&series, &bucket);
	}
	if (!good || stats_sum(&series) > series.count) {
		free(series.buckets);
		return false;
	}
	to = stats_need_day(queue_need(import->engine, queue), day);
	if (is_wait) {
		free(to->wait.buckets);
		to->wait = series;
	} else {
		free(to->run.buckets);
		to->run = series;
	}
	return true;
}

bool import_counter(struct import *import, struct qless_str queue, double day,
		    enum view_counter counter, int64_t value)
{
	static const enum counter counters[VIEW_COUNTERS] = {
		[VIEW_RETRIES] = COUNTER_RETRIES,
		[VIEW_FAILURES] = COUNTER_FAILURES,
		[VIEW_FAILED] = COUNTER_FAILED,
	};
	struct stats_day *to;

	/* Counters must not overflow later. A counter that only grows is never negative. */
	if (day != stats_day_start(day) || fabs((double)value) >= STATE_INTEGER_MAX ||
	    (value < 0 && counter != VIEW_FAILED))
		return false;
	to = stats_need_day(queue_need(import->engine, queue), day);
	to->counters[counters[counter]] = value;
	to->counted[counters[counter]] = true;
	/* A job cannot have failed without a failure. */
	if (to->counters[COUNTER_FAILED] > to->counters[COUNTER_FAILURES]) {
		to->counters[COUNTER_FAILED] = to->counters[COUNTER_FAILURES];
		return false;
	}
	return true;
}
