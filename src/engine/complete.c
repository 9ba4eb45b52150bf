/*
 * Completing jobs, for good or to move on to another queue, and purging old completed jobs.
 */
#include <assert.h>
#include <math.h>

#include "engine/account.h"
#include "engine/depends.h"
#include "engine/ends.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/retain.h"
#include "engine/run.h"
#include "engine/stats.h"
#include "engine/terms.h"
#include "engine/unique.h"

/* Move the job on to the next queue. */
static enum qless_state advance(struct qless *q, struct qless_job *job, double now,
				const struct qless_complete *complete)
{
	struct queue *next = queue_need(q, *complete->next);

	assert(job->state == QLESS_RUNNING && !job->node.linked);
	event_advanced(q, job_jid(job), complete->queue, *complete->next);
	job_join(q, job, next, now);
	queue_know(q, next, now);
	if (complete->has_limits)
		job_set_limits(q, job, complete->limits, complete->limit_count);
	if (complete->terms != NULL)
		terms_apply(q, job, complete->terms);
	/* Otherwise the data is what it was. */
	if (complete->terms != NULL && complete->terms->is_raw)
		terms_apply_data(q, job, complete->terms);
	depends_add(q, job, complete->depends, complete->depend_count);
	if (complete->terms != NULL && complete->terms->has_at)
		return job_place_at(q, job, now, complete->terms->at);
	return job_place(q, job, now, complete->delay);
}

/* Returns whether another job holds the unique key that the job would have in its next queue. That
 * job gets what this one has, if the caller asks for it. */
static bool finds_holder(struct qless *q, const struct qless_job *job, double now,
			 const struct qless_complete *complete)
{
	const struct qless_terms *terms = complete->terms;
	struct qless_job *holder;

	if (terms == NULL || !terms->has_unique)
		return false;
	holder = unique_find_holder(q, terms->unique.key, now);
	if (holder == NULL || holder == job)
		return false;
	if (terms->unique.replace) {
		struct qless_terms given = *terms;

		given.is_raw = given.is_raw || job_is_raw(job);
		unique_replace(q, holder,
			       &(struct qless_put){ .data = job_data(job),
						    .delay = complete->delay,
						    .terms = &given },
			       now);
	}
	return true;
}

/* Prefetch the jobs that are purged next. Once jobs-history-count jobs are kept, each completion
 * purges one. The job after it has one more call to arrive from memory. */
static void prefetch_purge(const struct qless *q)
{
	const struct skipnode *node = skiplist_first(&q->completed);

	if (node == NULL)
		return;
	hash_prefetch(&q->jobs, job_from_node(node)->hash.hash);
	__builtin_prefetch(job_from_node(node)->parts);
	job_prefetch(skiplist_next(node));
}

static int purge_max(const struct qless_complete *complete)
{
	if (!complete->has_purge_max || complete->purge_max > QLESS_PURGE_MAX)
		return QLESS_PURGE_MAX;
	return complete->purge_max > 0 ? (int)complete->purge_max : 0;
}

/* Purge the oldest completed jobs that are not retained, up to `left`: those older than the option
 * jobs-history allows, then those in excess of jobs-history-count. A negative count of -n purges
 * the n oldest. */
static void purge(struct qless *q, double now, int left)
{
	double oldest = now - q->settings.jobs_history;
	double keep = q->settings.jobs_history_count;
	struct skipnode *node = retain_first_other(q, 0);
	uint32_t before = skiplist_count(&q->completed);
	double count, excess;

	while (left > 0 && node != NULL && node->score <= oldest) {
		struct qless_job *job = job_from_node(node);

		node = retain_next_other(q, node);
		job_leave(q, job);
		job_delete(q, job);
		left--;
	}
	count = (double)skiplist_count(&q->completed) - skiplist_count(&q->retained.list);
	excess = keep >= 0 ? count - keep : -keep;
	if (excess < left)
		left = excess >= 1 ? (int)excess : 0;
	node = left > 0 ? retain_first_other(q, -INFINITY) : NULL;
	for (; left > 0 && node != NULL; left--) {
		struct qless_job *job = job_from_node(node);

		node = retain_next_other(q, node);
		job_leave(q, job);
		job_delete(q, job);
	}
	assert(skiplist_count(&q->completed) <= before);
	if (skiplist_count(&q->completed) != before)
		prefetch_purge(q);
}

/* Not inlined, so that other jobs pay one test. */
static __attribute__((noinline, cold)) void delete_at_once(struct qless *q, struct qless_job *job)
{
	event_deleted(q, job_jid(job), NULL);
	job_leave(q, job);
	job_delete(q, job);
}

/* Complete the job for good. It may be purged or deleted at once. */
static enum qless_state finish(struct qless *q, struct qless_job *job, double now,
			       const struct qless_complete *complete)
{
	double retain = retain_seconds(job);

	event_completed(q, job_jid(job), queue_name(job->queue));
	job_count_end(q, job, METER_TO_COMPLETE);
	job_set_queue(q, job, NULL);
	job_place_as(q, job, QLESS_COMPLETE, now);
	if (__builtin_expect(retain > 0, 0))
		retain_begin(q, job, retain);
	else
		retain_note_other(q, now);
	job_tell_end(q, job, false);
	depends_satisfy(q, job, now);
	assert(job_extra(job) == NULL || job_extra(job)->dependents == NULL);
	if (__builtin_expect(retain <= 0, 0))
		delete_at_once(q, job);
	purge(q, now, purge_max(complete));
	return QLESS_COMPLETE;
}

int qless_complete(struct qless *q, double now, const struct qless_complete *complete,
		   enum qless_state *ret_state)
{
	struct qless_job *job;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_data(q, "data", complete->data) < 0 ||
	    (complete->result != NULL && limit_check_result(q, "result", *complete->result) < 0) ||
	    (complete->next != NULL && limit_check_name(q, "next", *complete->next) < 0) ||
	    (complete->has_limits &&
	     limit_check_limits(q, complete->limits, complete->limit_count) < 0) ||
	    (complete->depend_count != 0 &&
	     (limit_check_dependencies(q, complete->depend_count) < 0 ||
	      depends_check_more(q, complete->jid, complete->depends, complete->depend_count, 1) <
		      0)))
		return engine_fail_during(q, QLESS_OP_COMPLETE);
	if (complete->terms != NULL && terms_check(q, QLESS_OP_COMPLETE, complete->terms) < 0)
		return q->error.last.code;
	if (!isfinite(complete->delay))
		return engine_fail_number(q, QLESS_OP_COMPLETE, QLESS_WHY_NO_NUMBER, "delay",
					  complete->delay);
	job = job_find_hashed(q, complete->jid,
			      engine_hash_hinted(q, complete->jid, complete->jid_hint));
	rc = job_check_owner(q, QLESS_OP_COMPLETE, complete->jid, job, complete->worker);
	if (rc < 0)
		return rc;
	if (!str_equal(queue_name(job->queue), complete->queue))
		return engine_fail_job(q, QLESS_OP_COMPLETE, QLESS_WHY_QUEUE, complete->jid,
				       queue_name(job->queue));

	history_append_plain(q, &job->history, now, QLESS_EVENT_DONE);
	job_set_data(q, job, complete->data);
	stats_record_run(q, job->queue, now, now - job->time);
	job_count_run(q, job, now - job->time);
	job->time = now;
	job_end_run(q, job, RUN_COMPLETED);
	event_tracked(q, job, "ql:completed");
	job_set_worker(q, job, NULL);
	job_clear_failure(q, job);
	job->flags |= JOB_FAILURE_CLEARED;
	if (complete->result != NULL || (job->flags & JOB_CARRIES))
		account_set_result(q, job, complete->result);
	job_set_due(job, NAN);
	job->expires = 0;
	job->remaining = job->retries;
	/* If another job holds the key, it does what this one would do in its next queue. */
	*ret_state = complete->next != NULL && !finds_holder(q, job, now, complete)
			     ? advance(q, job, now, complete)
			     : finish(q, job, now, complete);
	engine_changed(q);
	return 0;
}
