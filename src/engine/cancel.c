/*
 * Cancelling: jobs that are deleted before they are complete.
 */
#include "engine/engine_int.h"

#include <assert.h>

#include "engine/depends.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fail.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/track.h"
#include "engine/worker.h"

/* Check that the jobs together do not have too many dependencies. */
static int check_dependencies(struct qless *q, const struct qless_str *jids, size_t count)
{
	size_t dependencies = 0;
	size_t i;

	if (count <= 1 || q->depending_count == 0)
		return 0;
	for (i = 0; i < count; i++) {
		const struct qless_job *job = job_find(q, jids[i]);

		dependencies += job != NULL ? depends_count(job) : 0;
	}
	return limit_check_call(q, count, 0, dependencies);
}

/* Check that every job that depends on one of the jobs is among them too. The jobs are marked with
 * JOB_CHOSEN. */
static int check_cancel(struct qless *q, const struct qless_str *jids, size_t count)
{
	struct qless_str dependent;
	const void *cursor;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct qless_job *job = job_find(q, jids[i]);

		cursor = NULL;
		while (job != NULL && qless_job_next_dependent(job, &cursor, &dependent)) {
			if (!(job_find(q, dependent)->flags & JOB_CHOSEN))
				return engine_fail_job(q, QLESS_OP_CANCEL, QLESS_WHY_DEPENDENT,
						       jids[i], dependent);
		}
	}
	return 0;
}

static void choose(struct qless *q, const struct qless_str *jids, size_t count, bool chosen)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct qless_job *job = job_find(q, jids[i]);

		if (job == NULL)
			continue;
		if (chosen)
			job->flags |= JOB_CHOSEN;
		else
			job->flags &= (uint8_t)~JOB_CHOSEN;
	}
}

static void cancel(struct qless *q, struct qless_job *job)
{
	struct qless_str queue = queue_name(job->queue);
	struct qless_str worker = job->worker != NULL ? intern_str(job->worker) : STR("");

	assert(job->state != QLESS_COMPLETE && !(job->flags & JOB_CHOSEN));
	event_canceled(q, job_jid(job), &queue, &worker);
	if (job->state == QLESS_FAILED)
		job_forgive(q, job);
	else
		job_count_end(q, job, METER_TO_CANCEL);
	if (job->state == QLESS_RUNNING) {
		job_end_run(q, job, RUN_CANCELED);
	} else {
		job_leave(q, job);
		if (worker.len > 0)
			worker_drop_job(q, job);
	}
	event_tracked(q, job, "ql:canceled");
	job_delete(q, job);
	engine_changed(q);
}

int qless_cancel(struct qless *q, double now, const struct qless_str *jids, size_t count)
{
	size_t i;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_published(q, "jids", jids, count) < 0 ||
	    limit_check_jobs(q, (int64_t)count) < 0 || check_dependencies(q, jids, count) < 0)
		return engine_fail_during(q, QLESS_OP_CANCEL);
	choose(q, jids, count, true);
	rc = check_cancel(q, jids, count);
	choose(q, jids, count, false);
	if (rc < 0)
		return rc;
	for (i = 0; i < count; i++) {
		struct qless_job *job = job_find(q, jids[i]);

		if (job != NULL) {
			if (job->state != QLESS_COMPLETE)
				cancel(q, job);
			continue;
		}
		event_canceled(q, jids[i], NULL, NULL);
		if (tracked_find(q, jids[i]) != NULL)
			event_jid(q, "ql:canceled", jids[i]);
	}
	return 0;
}
