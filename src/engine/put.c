/*
 * Putting new jobs, and moving existing ones.
 */
#include <assert.h>
#include <math.h>

#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fail.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/numbering.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/tag.h"
#include "engine/terms.h"
#include "engine/unique.h"
#include "engine/worker.h"

#define DEFAULT_RETRIES 5
#define MICROSECONDS	1e6

/* Bytes of tags up to which a put does not look for the history of the job, because a search costs
 * more than the few tags of most jobs matter. The tags of a put replace those of the job. */
#define SMALL_TAG_BYTES ((size_t)4096)

/* Check the tags, and their size together with the history that the job has. */
static int check_tags(struct qless *q, const struct qless_put *put)
{
	const struct qless_job *job;
	size_t bytes = 0;

	if (limit_check_names(q, "tags", put->tags, put->tag_count) < 0 ||
	    limit_check_tags(q, put->tag_count) < 0)
		return engine_fail_during(q, QLESS_OP_ANY);
	for (size_t i = 0; i < put->tag_count; i++)
		bytes += put->tags[i].len;
	if (bytes <= SMALL_TAG_BYTES)
		return 0;
	job = job_find(q, put->jid);
	return limit_check_job_bytes(q, NULL, job != NULL ? job->history.len : 0, bytes);
}

/* Whether terms are a key of class and data, which is valid. */
static inline bool is_args_put(const struct qless_terms *terms)
{
	return terms_are_key(terms) && unique_is_args_key(terms->unique.key) &&
	       terms->unique.until != QLESS_UNTIL_SECONDS;
}

/* Check a job that is put together with `jobs` - 1 others. */
static int check_put(struct qless *q, enum qless_operation operation, const struct qless_put *put,
		     size_t jobs)
{
	if (limit_check_name(q, "worker", put->worker) < 0 ||
	    limit_check_name(q, "queue", put->queue) < 0 ||
	    limit_check_name(q, "jid", put->jid) < 0 ||
	    limit_check_name(q, "klass", put->klass) < 0 ||
	    limit_check_data(q, "data", put->data) < 0 ||
	    (put->has_tags && check_tags(q, put) < 0) ||
	    (put->has_limits && limit_check_limits(q, put->limits, put->limit_count) < 0) ||
	    (put->depend_count > 0 &&
	     (limit_check_dependencies(q, put->depend_count) < 0 ||
	      depends_check_more(q, put->jid, put->depends, put->depend_count, jobs) < 0)))
		return engine_fail_during(q, operation);
	if (put->terms != NULL && !is_args_put(put->terms) &&
	    terms_check(q, operation, put->terms) < 0)
		return q->error.last.code;
	if (!isfinite(put->delay))
		return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, "delay", put->delay);
	if (put->has_retries && !isfinite(put->retries))
		return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, "retries",
					  put->retries);
	if (put->has_retries && limit_check_retries(q, operation, put->retries) < 0)
		return engine_fail_during(q, operation);
	if (put->has_priority && !isfinite(put->priority))
		return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, "priority",
					  put->priority);
	return 0;
}

/* Take an existing job out of its list and from its worker. It is like a new job then. */
static void withdraw(struct qless *q, struct qless_job *job, struct qless_str new_worker)
{
	struct qless_str owner = job->worker != NULL ? intern_str(job->worker) : STR("");
	bool is_lost = owner.len > 0 && !str_equal(owner, new_worker);

	if (job->state == QLESS_FAILED)
		job_forgive(q, job);
	if (job->state == QLESS_RUNNING) {
		job_end_run(q, job, is_lost ? RUN_PUT : RUN_REPUT);
	} else {
		job_leave(q, job);
		if (owner.len > 0)
			worker_drop_job(q, job);
	}
	if (is_lost)
		event_lock_lost(q, job_jid(job), queue_name(job->queue), owner);
	job_set_worker(q, job, NULL);
	job_set_due(job, NAN);
	/* A job that depends on itself must not look complete. */
	job->state = QLESS_WAITING;
}

/* Give a job what the terms of its put say; NULL if it has none. */
static inline void apply_terms(struct qless *q, struct qless_job *job,
			       const struct qless_terms *terms)
{
	if (terms != NULL && !(job->flags & JOB_CARRIES) && terms_are_key(terms)) {
		unique_claim(q, job, &terms->unique);
		return;
	}
	if (terms != NULL || (job->flags & JOB_CARRIES))
		terms_apply_data(q, job, terms);
	if (terms != NULL) {
		terms_apply(q, job, terms);
		numbering_use(q, terms);
	}
}

/* `after` is how much later than the first put of the call this one is. */
static void apply_put(struct qless *q, enum qless_operation operation, double now,
		      const struct qless_put *put, double after)
{
	uint32_t hash = engine_hash_hinted(q, put->jid, put->jid_hint);
	struct qless_job *job = job_find_hashed(q, put->jid, hash);
	bool is_new = job == NULL;
	struct queue *queue = queue_need(q, put->queue);

	event_put(q, put->jid, put->queue);
	assert(is_new || job->node.linked);
	if (is_new) {
		job = job_new_hashed(q, put->jid, hash, put->data);
		job->retries = DEFAULT_RETRIES;
	} else {
		if (put->depend_count > 0)
			depends_keep_only(q, job, put->depends, put->depend_count);
		withdraw(q, job, put->worker);
		job_set_data(q, job, put->data);
		/* A put states the unique key anew, and a requeue only if it has one. */
		if ((job->flags & JOB_CARRIES) && operation == QLESS_OP_PUT)
			unique_drop(q, job);
	}
	job_set_klass(q, job, put->klass);
	job_join(q, job, queue, now);
	if (put->has_tags)
		job_set_tags(q, job, put->tags, put->tag_count, now);
	else
		job_refresh_tags(q, job, now);
	if (put->has_limits)
		job_set_limits(q, job, put->limits, put->limit_count);
	apply_terms(q, job, put->terms);
	if (put->has_priority)
		job->priority = put->priority;
	if (put->has_retries)
		job->retries = put->retries;
	job->remaining = job->retries;
	job->expires = 0;
	job->time = now;
	depends_add(q, job, put->depends, put->depend_count);
	if (put->terms != NULL && put->terms->has_at)
		job_place_at(q, job, now, finite_add(put->terms->at, after));
	else
		job_place(q, job, now, put->delay);
	queue_know(q, queue, now);
	event_tracked(q, job, "ql:put");
	engine_changed(q);
}

/* Returns whether another job holds the unique key of a put. That job gets what the put has, if the
 * put asks for it. */
static bool finds_holder(struct qless *q, double now, const struct qless_put *put, size_t index)
{
	struct qless_job *holder = unique_find_for_put(q, &put->terms->unique);

	if (holder == NULL || str_equal(job_jid(holder), put->jid))
		return false;
	unique_forget_hint(q);
	put_refuse(q, index, job_jid(holder));
	if (put->terms->unique.replace)
		unique_replace(q, holder, put, now);
	return true;
}

/* Returns whether the terms of a put that is valid let it create nothing. `index` is its number
 * among the puts of the call. */
static bool creates_nothing(struct qless *q, double now, const struct qless_put *put, size_t index)
{
	if (put->terms == NULL)
		return false;
	if (put->terms->is_new && job_find(q, put->jid) != NULL) {
		put_refuse(q, index, str_make(NULL, 0));
		return true;
	}
	return put->terms->has_unique && finds_holder(q, now, put, index);
}

int qless_put(struct qless *q, double now, const struct qless_put *put)
{
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_put(q, QLESS_OP_PUT, put, 1);
	if (rc < 0)
		return rc;
	if (!creates_nothing(q, now, put, 0))
		apply_put(q, QLESS_OP_PUT, now, put, 0);
	return 0;
}

int qless_put_many(struct qless *q, double now, const struct qless_put *puts, size_t count,
		   double *ret_until)
{
	size_t tags = 0, dependencies = 0;
	size_t i;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_jobs(q, (int64_t)count) < 0)
		return engine_fail_during(q, QLESS_OP_PUT);
	for (i = 0; i < count; i++) {
		rc = check_put(q, QLESS_OP_PUT, &puts[i], count);
		if (rc < 0)
			return rc;
		tags += puts[i].has_tags ? puts[i].tag_count : 0;
		dependencies += puts[i].depend_count;
	}
	if (limit_check_call(q, count, tags, dependencies) < 0)
		return engine_fail_during(q, QLESS_OP_PUT);
	*ret_until = now;
	for (i = 0; i < count; i++) {
		double after = (double)i / MICROSECONDS;

		q->now = finite_add(now, after);
		if (!creates_nothing(q, q->now, &puts[i], i))
			apply_put(q, QLESS_OP_PUT, q->now, &puts[i], after);
		*ret_until = q->now;
	}
	return 0;
}

int qless_requeue(struct qless *q, double now, const struct qless_put *put)
{
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (job_find(q, put->jid) == NULL)
		return engine_fail_job(q, QLESS_OP_REQUEUE, QLESS_WHY_NO_JOB, put->jid, STR(""));
	rc = check_put(q, QLESS_OP_REQUEUE, put, 1);
	if (rc < 0)
		return rc;
	if (!creates_nothing(q, now, put, 0))
		apply_put(q, QLESS_OP_REQUEUE, now, put, 0);
	return 0;
}
