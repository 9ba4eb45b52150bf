/*
 * Limits of what calls may store or ask for.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"
#include "engine/engine_int.h"
#include "util/utf8.h"

/* Record the error for a name that limit_check_name() does not accept. */
int limit_refuse_name(struct qless *q, const char *argument, struct qless_str name);

/* Record the error for data that is too long. */
int limit_refuse_data(struct qless *q, const char *argument);

/* The largest number, of either sign, that options and retries may be: seconds and counts up to it
 * are exact, and sums of two of them are still times. */
#define NUMBER_MAX 1e15

/* Each check returns 0, or an error code with the error recorded; engine_fail_during() adds the
 * operation. `argument` is the plural for a list. A name must be UTF-8 if limits are strict. */
static inline int limit_check_name(struct qless *q, const char *argument, struct qless_str name)
{
	if (name.len <= q->limits.max_name_bytes && (!q->limits.is_strict || utf8_is_valid(name)))
		return 0;
	return limit_refuse_name(q, argument, name);
}

int limit_check_names(struct qless *q, const char *argument, const struct qless_str *names,
		      size_t count);
static inline int limit_check_data(struct qless *q, const char *argument, struct qless_str data)
{
	return data.len <= q->limits.max_data_bytes ? 0 : limit_refuse_data(q, argument);
}

/* A result, the text of an error, a note or a node. */
int limit_check_result(struct qless *q, const char *argument, struct qless_str text);
int limit_check_note(struct qless *q, const char *argument, struct qless_str text);
/* The number of tags or dependencies of one job. */
int limit_check_tags(struct qless *q, uint64_t count);
int limit_check_dependencies(struct qless *q, uint64_t count);
/* The bytes that the history of a job and tags would have, together with the tags of the job, which
 * may be NULL. */
int limit_check_job_bytes(struct qless *q, const struct qless_job *job, size_t history,
			  size_t tags);
/* The bytes of all tags of a job. */
int limit_check_tag_bytes(struct qless *q, const struct qless_str *tags, size_t count);
/* If limits are strict, retries must be a whole number that can be counted down. */
int limit_check_retries(struct qless *q, enum qless_operation operation, double retries);
/* The number of jobs in one call. */
int limit_check_jobs(struct qless *q, int64_t count);
/* The number of tags and dependencies that several jobs of one call have together. */
int limit_check_call(struct qless *q, size_t jobs, size_t tags, size_t dependencies);
/* For names that are published but not stored. */
int limit_check_published(struct qless *q, const char *argument, const struct qless_str *names,
			  size_t count);

#endif
