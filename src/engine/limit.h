/*
 * Limits of what calls may store or ask for.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"

/* Each check returns 0, or QLESS_ELIMIT with an error recorded; engine_fail_during() adds the
 * operation. `argument` is the plural for a list. */
int limit_check_name(struct qless *q, const char *argument, struct qless_str name);
int limit_check_names(struct qless *q, const char *argument, const struct qless_str *names,
		      size_t count);
int limit_check_data(struct qless *q, const char *argument, struct qless_str data);
/* The number of tags or dependencies of one job. */
int limit_check_tags(struct qless *q, uint64_t count);
int limit_check_dependencies(struct qless *q, uint64_t count);
/* The number of jobs in one call. */
int limit_check_jobs(struct qless *q, int64_t count);
/* The number of tags and dependencies that several jobs of one call have together. */
int limit_check_call(struct qless *q, size_t jobs, size_t tags, size_t dependencies);
/* For names that are published but not stored. */
int limit_check_published(struct qless *q, const char *argument, const struct qless_str *names,
			  size_t count);

#endif
