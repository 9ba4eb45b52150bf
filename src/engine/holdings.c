/*
 * All locks of a worker at once: renewing them, and giving the jobs back.
 *
 * A caller that must not block does it in portions. Both calls end after a number of entries of the
 * worker's list, and the next call continues. An entry may be left from a run that has ended, see
 * struct holding. Both calls drop such entries, so that no later call looks at them again.
 *
 * A renewal goes from the lock that expires last to the one that expires first. A renewed lock
 * moves up the list, away from those that are left:
 *
 *	expiry  ──── left ──── cursor ──── renewed ────►
 */
#include <assert.h>
#include <math.h>

#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fail.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/lock.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/runtime.h"
#include "engine/terms.h"
#include "engine/vec.h"
#include "engine/worker.h"
#include "util/container.h"

static int check_max(struct qless *q, enum qless_operation operation, int64_t max)
{
	if (max >= 0)
		return 0;
	return engine_fail_number(q, operation, QLESS_WHY_NEGATIVE, "max", (double)max);
}

/* The job of an entry; NULL if its run has ended. */
static struct qless_job *job_of(const struct qless *q, const struct worker *worker,
				const struct holding *holding)
{
	struct qless_job *job = job_find(q, holding_jid(holding));
	bool is_held = job != NULL && job->state == QLESS_RUNNING && job->worker == worker->name;

	return is_held ? job : NULL;
}

static struct holding *holding_from(struct skipnode *node)
{
	return container_of(node, struct holding, node);
}

/* Collect the job of an entry, or drop the entry if its run has ended. */
static void pick(struct qless *q, struct worker *worker, struct holding *holding)
{
	struct qless_job *job = job_of(q, worker, holding);

	if (job != NULL) {
		job_vec_push(&q->picked, job);
		return;
	}
	worker_drop_holding(q, worker, holding);
	engine_changed(q);
}

/* ---- renewing ---- */

/* Collect the jobs of up to `max` locks. Returns the expiry of the last one, or `after` if there
 * are no more. */
static double pick_locks(struct qless *q, struct worker *worker,
			 const struct qless_renewal *renewal)
{
	struct skipnode *node = skiplist_last_le(&worker->by_expiry, renewal->until);
	double last = renewal->after;
	int64_t left = renewal->max;

	for (; left > 0 && node != NULL && node->score > renewal->after; left--) {
		struct skipnode *next = skiplist_prev(node);

		last = node->score;
		pick(q, worker, holding_from(node));
		node = next;
	}
	return left > 0 ? renewal->after : last;
}

/* Returns false if the run ends before a renewed lock would, or with the lock that the job has. */
static bool renew_job(struct qless *q, struct qless_job *job)
{
	double expires = runtime_cap(job, queue_lock_expiry(q, job->queue, q->now));

	if ((job->flags & JOB_CARRIES) && expires <= job->expires && !(job->flags & JOB_GRACE))
		return false;
	lock_renew(q, job, expires);
	engine_changed(q);
	return true;
}

int qless_worker_renew(struct qless *q, double now, const struct qless_renewal *renewal,
		       struct qless_renewed *ret_renewed)
{
	struct worker *worker;
	double last = renewal->after;
	size_t renewed = 0, i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (check_max(q, QLESS_OP_WORKER_RENEW, renewal->max) < 0)
		return engine_fail_during(q, QLESS_OP_WORKER_RENEW);
	worker = worker_find(q, renewal->worker);
	if (worker != NULL) {
		last = pick_locks(q, worker, renewal);
		for (i = 0; i < q->picked.count; i++)
			renewed += renew_job(q, q->picked.items[i]);
		if (renewed > 0)
			worker_seen(q, worker->name, now);
		else if (q->picked.count == 0)
			worker_release(q, worker);
	}
	*ret_renewed = (struct qless_renewed){ q->picked.count, last };
	return 0;
}

/* Locks of runs that will soon be over which a search for a lock to renew passes over. */
#define CAPPED_MAX 1000

/* Whether the lock lasts as long as its run may, so that a renewal does nothing. */
static bool is_capped(const struct qless_job *job)
{
	return (job->flags & JOB_CARRIES) && job->expires >= runtime_ends(job);
}

/* The first lock from a node on that a renewal would extend or drop. */
static struct skipnode *first_renewable(const struct qless *q, const struct worker *worker,
					struct skipnode *node)
{
	for (int looked = 0; looked < CAPPED_MAX && node != NULL; looked++) {
		const struct qless_job *job = job_of(q, worker, holding_from(node));

		if (job == NULL || !is_capped(job))
			break;
		node = skiplist_next(node);
	}
	return node;
}

bool qless_worker_first_lock(const struct qless *q, struct qless_str name, double after,
			     double *ret_expires, double *ret_lease)
{
	const struct worker *worker = worker_find(q, name);
	struct skipnode *node =
		worker != NULL ? skiplist_first_gt(&worker->by_expiry, after) : NULL;
	const struct qless_job *job;

	node = first_renewable(q, worker, node);
	if (node == NULL)
		return false;
	job = job_of(q, worker, holding_from(node));
	*ret_expires = node->score;
	*ret_lease = job != NULL ? queue_lock_expiry(q, job->queue, 0) : 0;
	return true;
}

/* ---- giving back ---- */

/* Collect the jobs of up to `max` entries. Returns whether there are more entries. */
static bool pick_held(struct qless *q, struct worker *worker, int64_t max)
{
	struct skipnode *node = skiplist_first(&worker->by_expiry);

	for (; max > 0 && node != NULL; max--) {
		struct skipnode *next = skiplist_next(node);

		pick(q, worker, holding_from(node));
		node = next;
	}
	return node != NULL;
}

/* Use up a retry. Returns false if the job has failed. */
static bool use_retry(struct qless *q, struct qless_job *job)
{
	bool can_count = retries_are_whole(job->remaining);

	if (can_count)
		job->remaining -= 1;
	if (can_count && job->remaining >= 0)
		return true;
	job_end_run(q, job, RUN_GIVEN_UP);
	if (can_count)
		job_exhaust(q, job, NULL, NULL);
	else
		job_fail_invalid(q, job);
	return false;
}

/* The job waits again, as old as its hand-out: a job that waits longer goes first. If it used up a
 * retry, it may have to back off. */
static void give_back(struct qless *q, struct qless_job *job, bool counts)
{
	double delay;

	event_lock_lost(q, job_jid(job), queue_name(job->queue), intern_str(job->worker));
	history_append_log(q, &job->history, q->now, STR("released"), NULL);
	engine_changed(q);
	if (counts && !use_retry(q, job))
		return;
	job_end_run(q, job, RUN_RETURNED);
	delay = counts ? job_backoff(job) : 0;
	if (delay <= 0) {
		job_wait_again(q, job);
		return;
	}
	job_set_worker(q, job, NULL);
	job->expires = 0;
	job_place_as(q, job, QLESS_SCHEDULED, finite_add(q->now, delay));
}

int qless_worker_release(struct qless *q, double now, const struct qless_release *release,
			 struct qless_released *ret_released)
{
	struct worker *worker;
	bool more = false;
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (check_max(q, QLESS_OP_WORKER_RELEASE, release->max) < 0)
		return engine_fail_during(q, QLESS_OP_WORKER_RELEASE);
	worker = worker_find(q, release->worker);
	if (worker != NULL) {
		more = pick_held(q, worker, release->max);
		/* The end of the last run frees a worker that nothing else keeps. */
		if (q->picked.count == 0)
			worker_release(q, worker);
		for (i = 0; i < q->picked.count; i++)
			give_back(q, q->picked.items[i], release->counts);
	}
	*ret_released = (struct qless_released){ q->picked.count, more };
	return 0;
}
