/*
 * Steps of the clock.
 *
 * A caller that takes the time from a clock calls qless_step_clock() when that clock was set, or
 * when the machine slept. Nobody could work or renew a lock in between, so locks keep the time that
 * was left. Recurring jobs do not make up for all of a long gap.
 *
 * Clients may bring times of their own, which the step does not concern. So a step moves only what
 * the old time explains: locks that cannot have been taken at the new time, and recurring jobs
 * whose last run was by the old time.
 */
#include <assert.h>
#include <math.h>

#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/schedule.h"
#include "engine/vec.h"
#include "engine/runtime.h"
#include "engine/worker.h"

struct step {
	struct qless *q;
	double from;
	double to;
};

static bool is_forward(const struct step *step)
{
	return step->to > step->from;
}

/* ---- locks ---- */

/* Pick the jobs whose locks were taken by the old time, and would expire at once or stay for as
 * long as the step. */
static void pick_locked(const struct step *step, struct queue *queue)
{
	struct qless *q = step->q;
	double longest = fmax(queue_lock_expiry(q, queue, 0), q->settings.grace_period);
	double first = is_forward(step) ? step->from : finite_add(step->to, longest);
	double last = finite_add(step->from, longest);
	struct skipnode *node = skiplist_first_gt(&queue->locks, first);

	job_vec_clear(&q->picked);
	for (; node != NULL && node->score <= last; node = skiplist_next(node))
		job_vec_push(&q->picked, job_from_node(node));
}

static void move_locks(const struct step *step, struct queue *queue)
{
	struct qless *q = step->q;
	double by = step->to - step->from;

	pick_locked(step, queue);
	for (size_t i = 0; i < q->picked.count; i++) {
		struct qless_job *job = q->picked.items[i];
		double expires = finite_add(job->node.score, by);

		assert(job->state == QLESS_RUNNING && job->queue == queue);
		job->expires = finite_add(job->expires, by);
		/* During the grace period, the worker no longer has the job. */
		if ((job->flags & JOB_GRACE) == 0)
			worker_hold_job(q, job->worker, job, job->expires);
		skiplist_remove(&queue->locks, &job->node);
		skiplist_batch_add(&q->batch, &job->node, expires);
		/* It may have expired by the old time without being reported. */
		if (expires <= step->to)
			queue_wake(q, queue);
		if (job->flags & JOB_LIMITED)
			slots_hold(q, job, expires);
		engine_changed(q);
	}
	skiplist_insert_batch(&queue->locks, &q->batch);
}

/* ---- recurring jobs ---- */

/* The number of runs up to `time`. */
static double runs_until(const struct qless_recur *recur, double time)
{
	double next = recur->node.score;

	return next <= time ? floor((time - next) / recur->interval) + 1 : 0;
}

/* How many runs the next one moves on, or back if negative. */
static double runs_to_move(const struct step *step, const struct qless_recur *recur)
{
	double next = recur->node.score;
	double runs;

	if (is_forward(step)) {
		runs = runs_until(recur, step->to) - runs_until(recur, step->from) -
		       QLESS_STEP_RUNS_MAX;
		return fmax(runs, 0);
	}
	if (next <= step->from || next > finite_add(step->from, recur->interval))
		return 0;
	return -floor((next - step->to) / recur->interval);
}

/* A step back by less than this leaves the ticks of schedules alone: they must not come twice
 * because a clock was a little ahead. */
#define BACK_SECONDS_MIN (3 * 3600)

/* When the next tick is after the step. */
static double step_schedule(const struct step *step, const struct qless_recur *recur)
{
	double next = recur->node.score, tick = step->to;
	int runs = 0;

	if (!is_forward(step)) {
		if (next <= step->from || step->from - step->to < BACK_SECONDS_MIN)
			return next;
		return fmin(next, schedule_next(recur->schedule, step->to));
	}
	/* A schedule that does not make up for all ticks makes up for one at most. */
	if (recur->schedule->missed != QLESS_MISSED_ALL || next <= step->from || next > step->to)
		return next;
	for (; runs < QLESS_STEP_RUNS_MAX && tick > next; runs++)
		tick = schedule_last(recur->schedule, next, runs == 0 ? tick : tick - 1);
	return tick;
}

/* When the next run is after the step. */
static double step_recurring(const struct step *step, const struct qless_recur *recur)
{
	if (recur->schedule != NULL)
		return step_schedule(step, recur);
	return finite_add(recur->node.score, runs_to_move(step, recur) * recur->interval);
}

static void move_recurring(const struct step *step, struct queue *queue)
{
	struct qless *q = step->q;
	struct skipnode *node = skiplist_first_ge(&queue->recurring, 0);
	struct skipnode *next;

	for (; node != NULL; node = next) {
		const struct qless_recur *recur = recur_from_node(node);
		double when = step_recurring(step, recur);

		next = skiplist_next(node);
		if (when == node->score)
			continue;
		skiplist_remove(&queue->recurring, node);
		skiplist_batch_add(&q->batch, node, when);
		if (recur->schedule != NULL)
			schedule_falls_due(q, recur->schedule, when);
		engine_changed(q);
	}
	skiplist_insert_batch(&queue->recurring, &q->batch);
}

/* ---- limits ---- */

/* Keep the time that was left. */
static double move_time(const struct step *step, double time)
{
	return time > step->from ? time + (step->to - step->from) : time;
}

/* Buckets fill, and holds end, after the time that was left. */
static void move_limits(const struct step *step)
{
	struct qless *q = step->q;
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		struct named_limit *limit = intern_from_node(node)->user;
		double tat, held_until;

		if (limit == NULL)
			continue;
		tat = move_time(step, limit->tat);
		held_until = move_time(step, limit->held_until);
		if (tat == limit->tat && held_until == limit->held_until)
			continue;
		limit->tat = tat;
		limit->held_until = held_until;
		engine_changed(q);
		named_limit_reopen(q, limit);
		named_limit_settle(q, limit, q->now);
	}
}

/* ---- all of it ---- */

static void step_queue(struct queue *queue, void *arg)
{
	const struct step *step = arg;

	move_locks(step, queue);
	move_recurring(step, queue);
	queue_falls_due(step->q, queue, queue_next_due_after(queue, step->q->due_taken));
}

/* Workers that were seen by the old time were seen just now. */
static void move_workers(struct qless *q, double now)
{
	struct skipnode *node;

	while ((node = skiplist_last(&q->workers)) != NULL && node->score > now) {
		skiplist_rescore(&q->workers, node, now);
		engine_changed(q);
	}
}

int qless_step_clock(struct qless *q, double now, double from)
{
	struct step step = { q, from, now };

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (!isfinite(from))
		return engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_NO_NUMBER, "from", from);
	if (now < from) {
		q->due_taken = fmin(q->due_taken, now);
		if (q->latest > now) {
			q->latest = now;
			engine_changed(q);
		}
		move_workers(q, now);
	}
	queue_each(q, step_queue, &step);
	runtime_step(q, from, now - from);
	move_limits(&step);
	return 0;
}
