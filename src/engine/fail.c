/*
 * Failures: groups of failed jobs, newest first.
 */
#include "engine/fail.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/account.h"
#include "engine/ends.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/failed_history.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/limit.h"
#include "engine/lock.h"
#include "engine/page.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/stats.h"
#include "engine/terms.h"
#include "engine/vec.h"
#include "util/mem.h"
#include "util/num.h"

#define EXHAUSTED_GROUP_PREFIX "failed-retries-"
#define INVALID_GROUP_PREFIX   "invalid-retries-"

struct group *group_find(const struct qless *q, struct qless_str name)
{
	struct intern *found = intern_find(&q->group_names, name);

	return found != NULL ? found->user : NULL;
}

void group_release(struct qless *q, struct group *group)
{
	assert(group->name->user == group);
	if (skiplist_count(&group->jobs) > 0)
		return;
	assert(q->group_count > 0);
	heap_remove(&q->failures, &group->oldest);
	skiplist_done(&group->jobs);
	group->name->user = NULL;
	intern_unref(&q->group_names, group->name);
	free(group);
	q->group_count--;
}

struct group *group_need(struct qless *q, struct intern *name)
{
	struct group *group = name->user;

	if (group != NULL)
		return group;
	assert(intern_find(&q->group_names, intern_str(name)) == name);
	group = mem_alloc(sizeof(*group));
	group->name = intern_ref(name);
	skiplist_init(&group->jobs, job_member);
	heap_node_init(&group->oldest);
	heap_insert(&q->failures, &group->oldest, INFINITY);
	name->user = group;
	q->group_count++;
	return group;
}

void job_forgive(struct qless *q, struct qless_job *job)
{
	assert(job->state == QLESS_FAILED);
	stats_uncount(q, job->queue, job_extra(job)->failure->when, COUNTER_FAILED);
}

/* Place a job whose run has ended, and whose failure is recorded, as the newest of its group. */
static void settle(struct qless *q, struct qless_job *job)
{
	assert(job->state == QLESS_RUNNING && !job->node.linked);
	assert(job_extra(job) != NULL && job_extra(job)->failure != NULL);
	job_set_worker(q, job, NULL);
	job->expires = 0;
	q->failure_number += 1;
	failed_history_add(q, group_need(q, job_extra(job)->failure->group), q->failure_number);
	job_place_as(q, job, QLESS_FAILED, q->failure_number);
	job_count_fail(q, job);
	stats_count_failure(q, job->queue, q->now);
	engine_changed(q);
	job_tell_end(q, job, false);
}

void job_exhaust(struct qless *q, struct qless_job *job, const struct qless_str *group_text,
		 const struct qless_str *message)
{
	struct qless_str queue = queue_name(job->queue);
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct intern *group;

	assert(job->state == QLESS_RUNNING && !job->node.linked && job->remaining < 0);
	if (group_text == NULL) {
		buf_append_str(&text, STR(EXHAUSTED_GROUP_PREFIX));
		buf_append_str(&text, queue);
		group = intern_get(&q->group_names, buf_str(&text));
	} else {
		group = intern_get(&q->group_names, *group_text);
	}
	history_append_failed(q, &job->history, q->now, group, NULL);
	if (message != NULL) {
		job_set_failure(q, job, group, *message, floor(q->now), job->worker);
	} else {
		buf_clear(&text);
		buf_append_str(&text, STR("Job exhausted retries in queue \""));
		buf_append_str(&text, queue);
		buf_append_char(&text, '"');
		job_set_failure(q, job, group, buf_str(&text), q->now, NULL);
	}
	intern_unref(&q->group_names, group);
	buf_done(&text);
	settle(q, job);
	event_tracked(q, job, "ql:failed");
}

void job_fail_invalid(struct qless *q, struct qless_job *job)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct intern *group;
	char number[NUM_MAX];

	assert(job->state == QLESS_RUNNING && !job->node.linked);
	buf_append_str(&text, STR(INVALID_GROUP_PREFIX));
	buf_append_str(&text, queue_name(job->queue));
	group = intern_get(&q->group_names, buf_str(&text));
	buf_clear(&text);
	buf_append_str(&text, STR("The job has a number of retries that cannot be counted down: "));
	buf_append(&text, number, num_format_g14(number, job->remaining));
	history_append_failed(q, &job->history, q->now, group, NULL);
	job_set_failure(q, job, group, buf_str(&text), q->now, NULL);
	intern_unref(&q->group_names, group);
	buf_done(&text);
	settle(q, job);
	event_tracked(q, job, "ql:failed");
}

static int check_fail(struct qless *q, const struct qless_fail *fail)
{
	if (limit_check_name(q, "group", fail->group) < 0 ||
	    limit_check_data(q, "message", fail->message) < 0 ||
	    (fail->data != NULL && limit_check_data(q, "data", *fail->data) < 0) ||
	    (fail->error != NULL && limit_check_result(q, "error", *fail->error) < 0))
		return engine_fail_during(q, QLESS_OP_FAIL);
	return 0;
}

/* End the run of a job. The worker is the one that reports the failure. */
static void fail_run(struct qless *q, struct qless_job *job, struct qless_str group_text,
		     struct qless_str message, struct intern *worker)
{
	struct intern *group;

	job_end_run(q, job, RUN_FAILED);
	group = intern_get(&q->group_names, group_text);
	history_append_failed(q, &job->history, q->now, group, worker);
	job_set_failure(q, job, group, message, floor(q->now), worker);
	intern_unref(&q->group_names, group);
}

int qless_fail_with(struct qless *q, double now, const struct qless_fail *fail)
{
	struct qless_job *job;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_fail(q, fail);
	if (rc < 0)
		return rc;
	job = job_find(q, fail->jid);
	rc = job_check_owner(q, QLESS_OP_FAIL, fail->jid, job, fail->worker);
	if (rc < 0)
		return rc;

	event_failed(q, fail->jid, queue_name(job->queue), fail->group, fail->message,
		     fail->worker);
	event_tracked(q, job, "ql:failed");
	if (fail->data != NULL)
		job_set_data(q, job, *fail->data);
	fail_run(q, job, fail->group, fail->message, job->worker);
	if (fail->error != NULL)
		account_set_error(q, job, fail->error);
	settle(q, job);
	return 0;
}

int qless_fail(struct qless *q, double now, struct qless_str jid, struct qless_str worker,
	       struct qless_str group, struct qless_str message, const struct qless_str *data)
{
	return qless_fail_with(q, now,
			       &(struct qless_fail){ .jid = jid,
						     .worker = worker,
						     .group = group,
						     .message = message,
						     .data = data });
}

int qless_abort(struct qless *q, double now, const struct qless_abort *abort)
{
	struct intern *supervisor;
	struct qless_job *job;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_name(q, "supervisor", abort->supervisor) < 0 ||
	    limit_check_name(q, "group", abort->group) < 0 ||
	    limit_check_data(q, "message", abort->message) < 0)
		return engine_fail_during(q, QLESS_OP_JOB_ABORT);
	job = job_find(q, abort->jid);
	rc = job_check_running(q, QLESS_OP_JOB_ABORT, abort->jid, job);
	if (rc < 0)
		return rc;

	event_lock_lost(q, abort->jid, queue_name(job->queue), intern_str(job->worker));
	event_failed(q, abort->jid, queue_name(job->queue), abort->group, abort->message,
		     abort->supervisor);
	event_tracked(q, job, "ql:failed");
	supervisor = intern_get(&q->worker_names, abort->supervisor);
	fail_run(q, job, abort->group, abort->message, supervisor);
	intern_unref(&q->worker_names, supervisor);
	settle(q, job);
	return 0;
}

static int check_retry(struct qless *q, const struct qless_retry *retry)
{
	if ((retry->group != NULL && limit_check_name(q, "group", *retry->group) < 0) ||
	    (retry->message != NULL && limit_check_data(q, "message", *retry->message) < 0))
		return engine_fail_during(q, QLESS_OP_RETRY);
	if (!isfinite(retry->delay))
		return engine_fail_number(q, QLESS_OP_RETRY, QLESS_WHY_NO_NUMBER, "delay",
					  retry->delay);
	return 0;
}

/* Return the job to its queue, or to the one that was named. */
static void give_back(struct qless *q, struct qless_job *job, double now,
		      const struct qless_retry *retry)
{
	struct intern *group;

	assert(job->state == QLESS_RUNNING && !job->node.linked && job->remaining >= 0);
	if (!str_equal(queue_name(job->queue), retry->queue)) {
		struct queue *queue = queue_need(q, retry->queue);

		job_set_queue(q, job, queue);
		queue_know(q, queue, now);
	}
	job_place(q, job, now, retry->backs_off ? job_backoff(job) : retry->delay);
	if (retry->group != NULL && retry->message != NULL) {
		group = intern_get(&q->group_names, *retry->group);
		job_set_failure(q, job, group, *retry->message, floor(now), job->worker);
		intern_unref(&q->group_names, group);
	}
	engine_changed(q);
}

int qless_retry(struct qless *q, double now, const struct qless_retry *retry, double *ret_remaining)
{
	struct qless_job *job;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_retry(q, retry);
	if (rc < 0)
		return rc;
	job = job_find(q, retry->jid);
	rc = job_check_owner(q, QLESS_OP_RETRY, retry->jid, job, retry->worker);
	if (rc < 0)
		return rc;
	/* The name of its own queue was checked when the queue was made. */
	if (!str_equal(queue_name(job->queue), retry->queue) &&
	    limit_check_name(q, "queue", retry->queue) < 0)
		return engine_fail_during(q, QLESS_OP_RETRY);
	if (!retries_are_whole(job->remaining))
		return engine_fail_job(q, QLESS_OP_RETRY, QLESS_WHY_RETRIES, retry->jid, STR(""));

	job->remaining -= 1;
	if (job->remaining < 0) {
		job_end_run(q, job, RUN_GIVEN_UP);
		job_exhaust(q, job, retry->group, retry->message);
	} else {
		job_count(q, job, METER_RETRY);
		job_end_run(q, job, RUN_RETURNED);
		give_back(q, job, now, retry);
	}
	*ret_remaining = job->remaining;
	return 0;
}

void qless_failures(struct qless *q, struct qless_list *ret_groups, const uint64_t **ret_counts)
{
	struct hash_iter it;
	struct hash_node *node;
	size_t i;

	str_vec_clear(&q->list);
	HASH_FOREACH(node, &it, &q->group_names.hash) {
		struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			str_vec_push(&q->list, intern_str(name));
	}
	str_vec_sort(&q->list);
	q->group_counts =
		mem_realloc_array(q->group_counts, q->list.count + 1, sizeof(*q->group_counts));
	for (i = 0; i < q->list.count; i++)
		q->group_counts[i] = skiplist_count(&group_find(q, q->list.items[i])->jobs);
	*ret_groups = (struct qless_list){ q->list.items, q->list.count, q->list.count };
	*ret_counts = q->group_counts;
}

void qless_failed(struct qless *q, struct qless_str name, int64_t offset, int64_t count,
		  struct qless_list *ret_jids)
{
	const struct group *group = group_find(q, name);
	uint32_t total = group != NULL ? skiplist_count(&group->jobs) : 0;
	uint64_t first;
	uint64_t left;

	str_vec_clear(&q->list);
	if (page_range(total, offset, count, &first, &left)) {
		struct skipnode *node = skiplist_at(&group->jobs, total - 1 - (uint32_t)first);

		for (; left > 0; left--, node = skiplist_prev(node))
			str_vec_push(&q->list, job_member(node));
	}
	*ret_jids = (struct qless_list){ q->list.items, q->list.count, total };
}

int qless_unfail(struct qless *q, double now, struct qless_str queue_text,
		 struct qless_str group_text, int64_t count, uint64_t *ret_count)
{
	struct group *group;
	struct queue *queue;
	struct skipnode *node;
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_name(q, "queue", queue_text) < 0)
		return engine_fail_during(q, QLESS_OP_UNFAIL);
	if (count < 0)
		return engine_fail_number(q, QLESS_OP_UNFAIL, QLESS_WHY_NEGATIVE, "count",
					  (double)count);
	if (limit_check_jobs(q, count) < 0)
		return engine_fail_during(q, QLESS_OP_UNFAIL);
	group = group_find(q, group_text);
	*ret_count = 0;
	if (group == NULL || count == 0)
		return 0;

	node = skiplist_first(&group->jobs);
	for (; count > 0 && node != NULL; count--, node = skiplist_next(node))
		job_vec_push(&q->picked, job_from_node(node));
	queue = queue_need(q, queue_text);
	for (i = 0; i < q->picked.count; i++) {
		struct qless_job *job = q->picked.items[i];

		assert(job->state == QLESS_FAILED);
		job_leave(q, job);
		job_join(q, job, queue, now);
		job->remaining = job->retries;
		job->expires = 0;
		job_batch_as(q, job, QLESS_WAITING, job_work_score(job, now));
		engine_changed(q);
	}
	job_place_batch(q, queue, QLESS_WAITING);
	*ret_count = q->picked.count;
	return 0;
}
