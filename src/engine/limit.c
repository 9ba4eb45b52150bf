/*
 * Limits of what calls may store or ask for.
 *
 * They are checked where something would be stored, never where it is only looked up. A job that
 * was stored under wider limits, or comes from the log, remains usable.
 */
#include "engine/limit.h"

#include <assert.h>
#include <math.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/lock.h"
#include "engine/tag.h"
#include "util/json.h"

static size_t clamp(size_t value, size_t max)
{
	return value == 0 || value > max ? max : value;
}

void qless_set_limits(struct qless *q, const struct qless_limits *limits)
{
	static const struct qless_limits widest = { 0 };

	if (limits == NULL)
		limits = &widest;
	q->limits = (struct qless_limits){
		.is_strict = limits->is_strict,
		.max_name_bytes = clamp(limits->max_name_bytes, QLESS_MAX_NAME_BYTES),
		.max_data_bytes = clamp(limits->max_data_bytes, QLESS_MAX_TEXT_BYTES),
		.max_tags = clamp(limits->max_tags, QLESS_MAX_TAGS),
		.max_job_bytes = clamp(limits->max_job_bytes, QLESS_MAX_JOB_BYTES),
		.max_dependencies = clamp(limits->max_dependencies, QLESS_MAX_DEPENDENCIES),
		.max_dependency_steps = clamp(limits->max_dependency_steps, QLESS_MAX_STEPS),
		.max_jobs = clamp(limits->max_jobs, QLESS_MAX_JOBS),
		.max_dependents = clamp(limits->max_dependents, QLESS_MAX_DEPENDENTS),
		.max_limits = clamp(limits->max_limits, QLESS_MAX_LIMITS),
		.max_class_indexes = clamp(limits->max_class_indexes, QLESS_MAX_CLASS_INDEXES),
		.max_result_bytes = clamp(limits->max_result_bytes, QLESS_MAX_TEXT_BYTES),
		.max_note_bytes = clamp(limits->max_note_bytes, QLESS_MAX_TEXT_BYTES),
		.max_meta_fields = clamp(limits->max_meta_fields, QLESS_MAX_META_FIELDS),
		.max_meta_bytes = clamp(limits->max_meta_bytes, QLESS_MAX_TEXT_BYTES),
	};
	assert(q->limits.max_name_bytes > 0 && q->limits.max_jobs > 0);
}

const struct qless_limits *qless_get_limits(const struct qless *q)
{
	return &q->limits;
}

static int check_bytes(struct qless *q, enum qless_reason why, const char *argument,
		       struct qless_str s, size_t max)
{
	if (s.len <= max)
		return 0;
	return engine_fail_number(q, QLESS_OP_ANY, why, argument, (double)max);
}

int limit_check_result(struct qless *q, const char *argument, struct qless_str text)
{
	return check_bytes(q, QLESS_WHY_RESULT_BYTES, argument, text, q->limits.max_result_bytes);
}

int limit_check_note(struct qless *q, const char *argument, struct qless_str text)
{
	return check_bytes(q, QLESS_WHY_NOTE_BYTES, argument, text, q->limits.max_note_bytes);
}

/* The name is quoted as in JSON, with an escape for each invalid byte. */
static int fail_not_utf8(struct qless *q, const char *argument, struct qless_str name)
{
	struct buf quoted = BUF_INIT(BUF_NO_MAX);
	int rc;

	json_append_string(&quoted, name);
	rc = engine_fail_text(q, QLESS_OP_ANY, QLESS_WHY_NOT_UTF8, argument, buf_str(&quoted));
	buf_done(&quoted);
	return rc;
}

int limit_refuse_name(struct qless *q, const char *argument, struct qless_str name)
{
	if (name.len > q->limits.max_name_bytes)
		return engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_NAME_BYTES, argument,
					  (double)q->limits.max_name_bytes);
	return fail_not_utf8(q, argument, name);
}

int limit_check_names(struct qless *q, const char *argument, const struct qless_str *names,
		      size_t count)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < count; i++)
		rc = limit_check_name(q, argument, names[i]);
	return rc;
}

int limit_refuse_data(struct qless *q, const char *argument)
{
	return engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_DATA_BYTES, argument,
				  (double)q->limits.max_data_bytes);
}

static int check_count(struct qless *q, enum qless_reason why, double count, size_t max)
{
	if (count <= (double)max)
		return 0;
	return engine_fail_number(q, QLESS_OP_ANY, why, NULL, (double)max);
}

int limit_check_tags(struct qless *q, uint64_t count)
{
	return check_count(q, QLESS_WHY_TAGS, (double)count, q->limits.max_tags);
}

int limit_check_dependencies(struct qless *q, uint64_t count)
{
	return check_count(q, QLESS_WHY_DEPENDENCIES, (double)count, q->limits.max_dependencies);
}

/* The bytes of the tags of a job. A number that is too high will do if it is within `enough`, and
 * is found without looking at each tag. */
static size_t tag_bytes(const struct qless_job *job, size_t enough)
{
	struct qless_str tag;
	size_t cursor = 0, bytes = 0;

	if (job_extra(job) == NULL || job_extra(job)->tags == NULL)
		return 0;
	if (job_extra(job)->tags->count <= enough / QLESS_MAX_NAME_BYTES)
		return enough;
	while (qless_job_next_tag(job, &cursor, &tag))
		bytes += tag.len;
	return bytes;
}

int limit_check_job_bytes(struct qless *q, const struct qless_job *job, size_t history, size_t tags)
{
	size_t max = q->limits.max_job_bytes;

	if (history + tags <= max &&
	    (job == NULL || tag_bytes(job, max - history - tags) <= max - history - tags))
		return 0;
	return engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_JOB_BYTES, NULL, (double)max);
}

int limit_check_tag_bytes(struct qless *q, const struct qless_str *tags, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += tags[i].len;
	return limit_check_job_bytes(q, NULL, 0, bytes);
}

int limit_check_retries(struct qless *q, enum qless_operation operation, double retries)
{
	if (!q->limits.is_strict || (retries_are_whole(retries) && fabs(retries) <= NUMBER_MAX))
		return 0;
	return engine_fail(q, (struct qless_error){
				      .operation = operation,
				      .reason = QLESS_WHY_RANGE,
				      .argument = "retries",
				      .detail = STR("a whole number from -1e+15 to 1e+15"),
				      .number = retries,
			      });
}

int limit_check_jobs(struct qless *q, int64_t count)
{
	return check_count(q, QLESS_WHY_JOBS, (double)count, q->limits.max_jobs);
}

int limit_check_call(struct qless *q, size_t jobs, size_t tags, size_t dependencies)
{
	int rc;

	/* One job has limits of its own. */
	if (jobs <= 1)
		return 0;
	rc = check_count(q, QLESS_WHY_CALL_TAGS, (double)tags, q->limits.max_jobs);
	if (rc == 0)
		rc = check_count(q, QLESS_WHY_CALL_DEPENDENCIES, (double)dependencies,
				 q->limits.max_dependencies);
	return rc;
}

int limit_check_published(struct qless *q, const char *argument, const struct qless_str *names,
			  size_t count)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < count; i++)
		rc = check_bytes(q, QLESS_WHY_NAME_BYTES, argument, names[i], QLESS_MAX_NAME_BYTES);
	return rc;
}
