/*
 * Reports of workers about a job while they have it, and the fields of the application.
 */
#include <math.h>

#include "engine/account.h"
#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/runtime.h"
#include "engine/worker.h"

#define PERCENT_MAX 100

/* ---- runs ---- */

int qless_job_start(struct qless *q, double now, const struct qless_start *start)
{
	struct qless_job *job;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (start->pid < 0)
		return engine_fail_number(q, QLESS_OP_JOB_START, QLESS_WHY_NEGATIVE, "pid",
					  (double)start->pid);
	if (limit_check_note(q, "node", start->node) < 0)
		return engine_fail_during(q, QLESS_OP_JOB_START);
	job = job_find(q, start->jid);
	rc = job_check_owner(q, QLESS_OP_JOB_START, start->jid, job, start->worker);
	if (rc < 0)
		return rc;
	if (runtime_is_over(job, now))
		return runtime_refuse(q, QLESS_OP_JOB_START, job);
	account_start(q, job, now, start->pid, start->node);
	runtime_note_start(q, job);
	worker_seen(q, job->worker, now);
	engine_changed(q);
	return 0;
}

static int check_progress(struct qless *q, const struct qless_progress *progress)
{
	if (!isfinite(progress->percent))
		return engine_fail_number(q, QLESS_OP_JOB_PROGRESS, QLESS_WHY_NO_NUMBER, "percent",
					  progress->percent);
	if (progress->percent < 0 || progress->percent > PERCENT_MAX)
		return engine_fail(q, (struct qless_error){ .operation = QLESS_OP_JOB_PROGRESS,
							    .reason = QLESS_WHY_RANGE,
							    .argument = "percent",
							    .detail = STR("from 0 to 100"),
							    .number = progress->percent });
	if (progress->note != NULL && limit_check_note(q, "note", *progress->note) < 0)
		return engine_fail_during(q, QLESS_OP_JOB_PROGRESS);
	return 0;
}

int qless_job_progress(struct qless *q, double now, const struct qless_progress *progress)
{
	struct qless_job *job;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_progress(q, progress);
	if (rc < 0)
		return rc;
	job = job_find(q, progress->jid);
	rc = job_check_owner(q, QLESS_OP_JOB_PROGRESS, progress->jid, job, progress->worker);
	if (rc < 0)
		return rc;
	account_set_progress(job, progress->percent, progress->note);
	worker_seen(q, job->worker, now);
	event_progress(q, progress->jid, queue_name(job->queue), progress->percent, progress->note);
	engine_changed(q);
	return 0;
}

/* ---- fields of the application ---- */

/* Whether a later pair of the call sets the same field. */
static bool is_set_again(const struct qless_meta *meta, size_t i)
{
	for (size_t later = i + 2; later < 2 * meta->pair_count; later += 2) {
		if (str_equal(meta->pairs[later], meta->pairs[i]))
			return true;
	}
	return false;
}

/* The fields that a job would have. A new name that a call sets twice counts twice. The value that
 * a field has goes once. */
static int check_room(struct qless *q, const struct qless_job *job, const struct qless_meta *meta)
{
	const struct job_account *account = job_account(job);
	size_t fields = account != NULL ? account->meta_count : 0;
	size_t bytes = account != NULL ? account->meta_bytes : 0;

	if (meta->pair_count == 0)
		return 0;
	/* This bounds the cost of the loop, too. */
	if (meta->pair_count > q->limits.max_meta_fields)
		return engine_fail_number(q, QLESS_OP_JOB_META, QLESS_WHY_META_FIELDS, NULL,
					  (double)q->limits.max_meta_fields);
	for (size_t i = 0; i < 2 * meta->pair_count; i += 2) {
		const struct meta_field *old = account_find_meta(account, meta->pairs[i]);

		if (old != NULL && is_set_again(meta, i))
			continue;
		bytes += meta->pairs[i].len + meta->pairs[i + 1].len;
		if (old != NULL)
			bytes -= old->name.len + old->value.len;
		else
			fields++;
	}
	if (fields > q->limits.max_meta_fields)
		return engine_fail_number(q, QLESS_OP_JOB_META, QLESS_WHY_META_FIELDS, NULL,
					  (double)q->limits.max_meta_fields);
	if (bytes > q->limits.max_meta_bytes)
		return engine_fail_number(q, QLESS_OP_JOB_META, QLESS_WHY_META_BYTES, NULL,
					  (double)q->limits.max_meta_bytes);
	return 0;
}

static int check_names(struct qless *q, const struct qless_meta *meta)
{
	for (size_t i = 0; i < 2 * meta->pair_count; i += 2) {
		if (limit_check_name(q, "field", meta->pairs[i]) < 0)
			return engine_fail_during(q, QLESS_OP_JOB_META);
	}
	return 0;
}

int qless_job_meta(struct qless *q, double now, const struct qless_meta *meta, uint64_t *ret_count)
{
	struct qless_job *job;
	uint64_t count = 0;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_names(q, meta);
	if (rc < 0)
		return rc;
	job = job_find(q, meta->jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_JOB_META, QLESS_WHY_NO_JOB, meta->jid, STR(""));
	rc = check_room(q, job, meta);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < 2 * meta->pair_count; i += 2)
		count += account_set_meta(job, meta->pairs[i], meta->pairs[i + 1]);
	for (size_t i = 0; i < meta->removed_count; i++)
		count += account_remove_meta(job, meta->removed[i]);
	job_release_account(q, job);
	if (meta->pair_count != 0 || count != 0)
		engine_changed(q);
	*ret_count = count;
	return 0;
}
