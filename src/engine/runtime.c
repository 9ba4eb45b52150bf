#include "engine/runtime.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/carried.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fail.h"
#include "engine/history.h"
#include "engine/klass.h"
#include "engine/lock.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/stats.h"
#include "engine/terms.h"
#include "engine/vec.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/num.h"

#define TIMED_OUT_GROUP "timed-out"

double runtime_ends(const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);

	return terms != NULL ? terms->run.key : INFINITY;
}

/* Whether the time to start the job ends before its runtime. */
static bool must_start(const struct job_terms *terms)
{
	return terms->to_start > 0 && (terms->allowed <= 0 || terms->to_start < terms->allowed);
}

static double seconds_of(const struct job_terms *terms)
{
	return must_start(terms) ? terms->to_start : terms->allowed;
}

void runtime_find_start(const struct qless_job *job, double *ret_by, double *ret_seconds)
{
	const struct job_terms *terms = job_terms(job);

	if (terms == NULL || !heap_has(&terms->run) || !must_start(terms))
		return;
	*ret_by = terms->run.key;
	*ret_seconds = terms->to_start;
}

void runtime_restore(struct qless *q, struct qless_job *job, double ends, double allowed,
		     double to_start)
{
	struct job_terms *terms = job_need_terms(job);

	assert(job->state == QLESS_RUNNING && !heap_has(&terms->run));
	terms->job = job;
	terms->allowed = allowed;
	terms->to_start = to_start;
	heap_insert(&q->runs, &terms->run, ends);
}

/* Let the lock of a running job, or its grace period, end no later than its run. */
static void cap_lock(struct qless *q, struct qless_job *job)
{
	double ends = runtime_ends(job);

	if (job->node.score <= ends)
		return;
	skiplist_rescore(&job->queue->locks, &job->node, ends);
	if (!(job->flags & JOB_GRACE)) {
		job->expires = ends;
		worker_hold_job(q, job->worker, job, ends);
	}
	if (job->flags & JOB_LIMITED)
		slots_hold(q, job, ends);
	queue_falls_due(q, job->queue, ends);
}

void runtime_begin(struct qless *q, struct qless_job *job, double now)
{
	const struct job_terms *terms = job_terms(job);
	double allowed = terms != NULL && terms->runtime > 0 ? terms->runtime : job->queue->runtime;
	double to_start = job->queue->start_timeout;
	double ends = finite_add(now, allowed > 0 ? allowed : to_start);

	if (allowed <= 0 && to_start <= 0)
		return;
	if (to_start > 0)
		ends = fmin(ends, finite_add(now, to_start));
	runtime_restore(q, job, ends, allowed, to_start);
	cap_lock(q, job);
}

void runtime_note_start(struct qless *q, struct qless_job *job)
{
	struct job_terms *terms = job_terms(job);

	if (terms == NULL || !heap_has(&terms->run) || terms->to_start <= 0)
		return;
	if (terms->allowed <= 0)
		runtime_end(q, job);
	else if (must_start(terms))
		heap_rekey(&q->runs, &terms->run,
			   finite_add(terms->run.key, terms->allowed - terms->to_start));
	/* Without a runtime, the terms may be gone. */
	terms = job_terms(job);
	if (terms != NULL)
		terms->to_start = 0;
	lock_renew(q, job, runtime_cap(job, queue_lock_expiry(q, job->queue, q->now)));
}

int runtime_refuse(struct qless *q, enum qless_operation operation, const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);

	return engine_fail(q,
			   (struct qless_error){ .operation = operation,
						 .reason = must_start(terms) ? QLESS_WHY_NO_START
									     : QLESS_WHY_OVERTIME,
						 .jid = job_jid(job),
						 .number = seconds_of(terms) });
}

void runtime_end(struct qless *q, struct qless_job *job)
{
	struct job_terms *terms = job_terms(job);

	if (terms == NULL || !heap_has(&terms->run))
		return;
	heap_remove(&q->runs, &terms->run);
	terms->allowed = terms->to_start = 0;
	job_release_terms(q, job);
}

void runtime_step(struct qless *q, double from, double by)
{
	job_vec_clear(&q->picked);
	for (size_t i = 0; i < q->runs.count; i++) {
		struct heap_node *node = q->runs.nodes[i];

		if (node->key > from)
			job_vec_push(&q->picked, container_of(node, struct job_terms, run)->job);
	}
	for (size_t i = 0; i < q->picked.count; i++) {
		struct qless_job *job = q->picked.items[i];
		struct job_terms *terms = job_terms(job);

		heap_rekey(&q->runs, &terms->run, finite_add(terms->run.key, by));
		cap_lock(q, job);
		engine_changed(q);
	}
}

/* ---- runs that are over ---- */

/* Tell the worker, unless it was warned when its lock expired. */
static void warn(struct qless *q, struct qless_job *job)
{
	if (job->flags & JOB_GRACE)
		return;
	event_tracked(q, job, "ql:stalled");
	history_append_plain(q, &job->history, q->now, QLESS_EVENT_TIMED_OUT);
	event_lock_lost(q, job_jid(job), queue_name(job->queue), intern_str(job->worker));
	stats_count(q, job->queue, q->now, COUNTER_RETRIES);
}

/* Fail a job without retries left, whose run has ended. */
static void give_up(struct qless *q, struct qless_job *job, double seconds, bool is_unstarted)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str group = STR(TIMED_OUT_GROUP), message;
	struct intern *worker = intern_ref(job->worker);
	char number[NUM_MAX];

	buf_append_str(&text, is_unstarted ? STR("The worker did not start the job within ")
					   : STR("The run took longer than "));
	buf_append(&text, number, num_format_g14(number, seconds));
	buf_append_str(&text, STR(" seconds"));
	message = buf_str(&text);
	if (retries_are_whole(job->remaining))
		job_exhaust(q, job, is_unstarted ? NULL : &group, &message);
	else
		job_fail_invalid(q, job);
	buf_done(&text);
	event_failed(q, job_jid(job), queue_name(job->queue),
		     intern_str(job_extra(job)->failure->group),
		     failure_message(job_extra(job)->failure), intern_str(worker));
	intern_unref(&q->worker_names, worker);
}

bool runtime_lose(struct qless *q, struct qless_job *job)
{
	bool is_unstarted = must_start(job_terms(job));
	double seconds = seconds_of(job_terms(job));
	bool can_count = retries_are_whole(job->remaining);
	double delay;

	warn(q, job);
	job_count(q, job, METER_LOSE);
	job_end_run(q, job, RUN_LOST);
	engine_changed(q);
	if (can_count)
		job->remaining -= 1;
	if (!can_count || job->remaining < 0) {
		give_up(q, job, seconds, is_unstarted);
		return false;
	}
	/* A job that was not started is as one whose lock was lost. */
	delay = is_unstarted ? 0 : job_backoff(job);
	if (delay <= 0)
		return true;
	job_set_worker(q, job, NULL);
	job->expires = 0;
	job_place_as(q, job, QLESS_SCHEDULED, finite_add(q->now, delay));
	return false;
}

double qless_next_overtime(const struct qless *q, struct qless_str *ret_jid)
{
	const struct heap_node *node = heap_first(&q->runs);

	if (node == NULL)
		return INFINITY;
	if (ret_jid != NULL)
		*ret_jid = job_jid(container_of(node, const struct job_terms, run)->job);
	return node->key;
}

int qless_overtime(struct qless *q, double now, struct qless_str jid, bool *ret_ended)
{
	struct qless_job *job;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	job = job_find(q, jid);
	*ret_ended = job != NULL && job->state == QLESS_RUNNING && runtime_is_over(job, now);
	if (*ret_ended && runtime_lose(q, job))
		job_wait_again(q, job);
	return 0;
}

/* ---- checks ---- */

bool runtime_is_sound(const struct qless *q, const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);

	if (terms == NULL || !heap_has(&terms->run))
		return true;
	return job->state == QLESS_RUNNING && terms->job == job &&
	       (terms->allowed > 0 || terms->to_start > 0) && terms->run.place < q->runs.count &&
	       q->runs.nodes[terms->run.place] == &terms->run && job->node.score <= terms->run.key;
}
