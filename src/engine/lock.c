/*
 * Locks: renewing them, and what happens when a lock expires.
 *
 * The first pop that finds an expired lock warns the worker and gives a grace period. The first pop
 * after the grace period takes the job away. Only a pop does either.
 */
#include "engine/lock.h"

#include <assert.h>
#include <math.h>

#include "engine/carried.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fail.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/runtime.h"
#include "engine/stats.h"
#include "engine/terms.h"
#include "engine/vec.h"
#include "engine/worker.h"

bool lock_is_expired(const struct skipnode *node, double now)
{
	return node != NULL && node->score <= now;
}

static bool will_be_taken(const struct qless *q, const struct qless_job *job)
{
	return (job->flags & JOB_GRACE) != 0 || q->settings.grace_period <= 0;
}

bool retries_are_whole(double retries)
{
	/* Whether "%.17g" prints it without an exponent. Redis does not take "-0" for an integer
	 * either. */
	return retries == floor(retries) && fabs(retries) < 1e17 &&
	       !(retries == 0 && signbit(retries));
}

/* Warn the worker that its lock expired. */
static void warn(struct qless *q, struct queue *queue, struct qless_job *job, double now)
{
	assert(job->state == QLESS_RUNNING && job->node.linked && job->node.score <= now);
	event_tracked(q, job, "ql:stalled");
	history_append_plain(q, &job->history, now, QLESS_EVENT_TIMED_OUT);
	job->flags |= JOB_GRACE;
	event_lock_lost(q, job_jid(job), queue_name(queue), intern_str(job->worker));
	stats_count(q, queue, now, COUNTER_RETRIES);
}

/* Take the job from its worker. Returns true if it is to be handed out again. */
static bool take_away(struct qless *q, struct qless_job *job)
{
	bool can_count = retries_are_whole(job->remaining);
	struct intern *worker;

	job_count(q, job, METER_LOSE);
	job_end_run(q, job, RUN_LOST);
	if (can_count)
		job->remaining -= 1;
	if (can_count && job->remaining >= 0)
		return true;
	worker = intern_ref(job->worker);
	/* A job with invalid retries must not stop its queue, so it fails on its own. In 0.1.0 the
	 * whole pop failed, so the pops in an old log never met such a job. */
	if (can_count)
		job_exhaust(q, job, NULL, NULL);
	else
		job_fail_invalid(q, job);
	event_failed(q, job_jid(job), queue_name(job->queue),
		     intern_str(job_extra(job)->failure->group),
		     failure_message(job_extra(job)->failure), intern_str(worker));
	intern_unref(&q->worker_names, worker);
	return false;
}

void lock_expire_holder(struct qless *q, struct qless_job *job, double now)
{
	struct queue *queue = job->queue;
	double grace_ends = runtime_cap(job, finite_add(now, q->settings.grace_period));
	bool taken = will_be_taken(q, job);

	if (runtime_is_over(job, now)) {
		if (runtime_lose(q, job))
			job_wait_again(q, job);
		return;
	}
	worker_drop_job(q, job);
	if (!(job->flags & JOB_GRACE) || q->settings.grace_period <= 0)
		warn(q, queue, job, now);
	if (!taken) {
		skiplist_rescore(&queue->locks, &job->node, grace_ends);
		if (job->flags & JOB_LIMITED)
			slots_hold(q, job, grace_ends);
		queue_falls_due(q, queue, grace_ends);
	} else if (take_away(q, job)) {
		job_wait_again(q, job);
	}
	engine_changed(q);
}

bool lock_expire_any(struct qless *q, struct queue *queue, double now, int64_t max)
{
	struct skipnode *node = skiplist_first(&queue->locks), *next;

	for (; max > 0 && lock_is_expired(node, now); max--, node = next) {
		next = skiplist_next(node);
		lock_expire_holder(q, job_from_node(node), now);
	}
	return !lock_is_expired(node, now);
}

/* Let a job, whose worker was warned, return to the locks with this expiry. */
static void add_to_batch(struct qless *q, struct qless_job *job, double expires)
{
	skiplist_batch_add(&q->batch, &job->node, expires);
	queue_falls_due(q, job->queue, expires);
}

void lock_expire(struct qless *q, struct queue *queue, double now, int64_t max,
		 struct job_vec *ret_jobs)
{
	struct skipnode *node = skiplist_first(&queue->locks);
	double grace_ends = finite_add(now, q->settings.grace_period);
	size_t i;

	job_vec_clear(&q->picked);
	for (; max > 0 && lock_is_expired(node, now); max--, node = skiplist_next(node))
		job_vec_push(&q->picked, job_from_node(node));
	if (q->picked.count == 0)
		return;
	for (i = 0; i < q->picked.count; i++) {
		struct qless_job *job = q->picked.items[i];
		bool taken = will_be_taken(q, job);

		assert(job->state == QLESS_RUNNING && job->queue == queue && job->worker != NULL);
		if (job->flags & JOB_LIMITED) {
			lock_expire_holder(q, job, now);
			continue;
		}
		if (runtime_is_over(job, now)) {
			if (runtime_lose(q, job))
				job_vec_push(ret_jobs, job);
			continue;
		}
		worker_drop_job(q, job);
		/* Without a grace period every expiry warns, also after a warning under an earlier
		 * one. */
		if (!(job->flags & JOB_GRACE) || q->settings.grace_period <= 0)
			warn(q, queue, job, now);
		if (!taken) {
			skiplist_remove(&queue->locks, &job->node);
			add_to_batch(q, job, runtime_cap(job, grace_ends));
		} else if (take_away(q, job)) {
			job_vec_push(ret_jobs, job);
		}
		engine_changed(q);
	}
	skiplist_insert_batch(&queue->locks, &q->batch);
}

void lock_renew(struct qless *q, struct qless_job *job, double expires)
{
	assert(job->state == QLESS_RUNNING && job->node.linked);
	job->expires = expires;
	job->flags &= (uint8_t)~JOB_GRACE;
	worker_hold_job(q, job->worker, job, expires);
	skiplist_rescore(&job->queue->locks, &job->node, expires);
	if (job->flags & JOB_LIMITED)
		slots_hold(q, job, expires);
	queue_falls_due(q, job->queue, expires);
}

int qless_heartbeat(struct qless *q, double now, struct qless_str jid, struct qless_str worker,
		    const struct qless_str *data, double *ret_expires)
{
	struct qless_job *job;
	double expires;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (data != NULL && limit_check_data(q, "data", *data) < 0)
		return engine_fail_during(q, QLESS_OP_HEARTBEAT);
	job = job_find(q, jid);
	rc = job_check_running(q, QLESS_OP_HEARTBEAT, jid, job);
	if (rc < 0)
		return rc;
	/* A worker without a name can hold jobs but cannot renew their locks. */
	if (worker.len == 0 || !str_equal(intern_str(job->worker), worker))
		return engine_fail_job(q, QLESS_OP_HEARTBEAT, QLESS_WHY_WORKER, jid,
				       intern_str(job->worker));
	if (runtime_is_over(job, now))
		return runtime_refuse(q, QLESS_OP_HEARTBEAT, job);

	expires = runtime_cap(job, queue_lock_expiry(q, job->queue, now));
	job->expires = expires;
	job->flags &= (uint8_t)~JOB_GRACE;
	if (data != NULL)
		job_set_data(q, job, *data);
	worker_hold_job(q, job->worker, job, expires);
	worker_seen(q, job->worker, now);
	assert(job->node.linked && !(job->flags & JOB_GRACE));
	skiplist_rescore(&job->queue->locks, &job->node, expires);
	if (job->flags & JOB_LIMITED)
		slots_hold(q, job, expires);
	queue_falls_due(q, job->queue, expires);
	engine_changed(q);
	*ret_expires = expires;
	return 0;
}

int qless_check_lock(struct qless *q, enum qless_operation operation, struct qless_str jid,
		     uint64_t number)
{
	const struct qless_job *job = job_find(q, jid);
	int rc = job_check_running(q, operation, jid, job);

	if (rc < 0 || job_lock(job) == number)
		return rc;
	return engine_fail(q, (struct qless_error){ .operation = operation,
						    .reason = QLESS_WHY_LOCK,
						    .jid = jid,
						    .number = (double)job_lock(job) });
}

/* Check that all jids are of running jobs. */
static int check_running(struct qless *q, const struct qless_str *jids, size_t count)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < count; i++)
		rc = job_check_running(q, QLESS_OP_TIMEOUT, jids[i], job_find(q, jids[i]));
	return rc;
}

int qless_timeout(struct qless *q, double now, const struct qless_str *jids, size_t count)
{
	size_t i;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_jobs(q, (int64_t)count) < 0)
		return engine_fail_during(q, QLESS_OP_TIMEOUT);
	rc = check_running(q, jids, count);
	if (rc < 0)
		return rc;
	for (i = 0; i < count; i++) {
		struct qless_job *job = job_find(q, jids[i]);

		if (job->state != QLESS_RUNNING)
			continue; /* the jid was given twice */
		history_append_plain(q, &job->history, now, QLESS_EVENT_TIMED_OUT);
		job_count(q, job, METER_LOSE);
		job_end_run(q, job, RUN_TIMED_OUT);
		job->expires = 0;
		job_place_as(q, job, QLESS_STALLED, INFINITY);
		event_lock_lost(q, jids[i], queue_name(job->queue), intern_str(job->worker));
		engine_changed(q);
	}
	return 0;
}
