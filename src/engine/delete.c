/*
 * Deleting jobs that are complete or failed.
 */
#include <assert.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fail.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/run.h"

/* A job that waits for a failed one cannot be deleted with it, because it is not finished itself.
 */
static int check_finished(struct qless *q, struct qless_str jid, const struct qless_job *job)
{
	struct qless_str dependent;
	const void *cursor = NULL;

	if (job->state != QLESS_COMPLETE && job->state != QLESS_FAILED)
		return engine_fail_job(q, QLESS_OP_JOB_DELETE, QLESS_WHY_NOT_FINISHED, jid,
				       qless_state_text(job->state));
	if (qless_job_next_dependent(job, &cursor, &dependent))
		return engine_fail_job(q, QLESS_OP_JOB_DELETE, QLESS_WHY_DEPENDENT, jid, dependent);
	return 0;
}

static int check_all(struct qless *q, const struct qless_str *jids, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct qless_job *job = job_find(q, jids[i]);

		if (job != NULL)
			rc = check_finished(q, jids[i], job);
	}
	return rc;
}

static void delete_job(struct qless *q, struct qless_job *job)
{
	struct qless_str queue = job->queue != NULL ? queue_name(job->queue) : STR("");

	assert(job->state == QLESS_COMPLETE || job->state == QLESS_FAILED);
	event_deleted(q, job_jid(job), job->queue != NULL ? &queue : NULL);
	if (job->state == QLESS_FAILED)
		job_forgive(q, job);
	job_leave(q, job);
	job_delete(q, job);
	engine_changed(q);
}

int qless_job_delete(struct qless *q, double now, const struct qless_str *jids, size_t count,
		     uint64_t *ret_count)
{
	uint64_t deleted = 0;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_jobs(q, (int64_t)count) < 0)
		return engine_fail_during(q, QLESS_OP_JOB_DELETE);
	rc = check_all(q, jids, count);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		struct qless_job *job = job_find(q, jids[i]);

		if (job == NULL)
			continue;
		delete_job(q, job);
		deleted++;
	}
	*ret_count = deleted;
	return 0;
}
