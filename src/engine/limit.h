/*
 * Limits of what calls may store or ask for.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"

/* Each returns 0, or QLESS_ELIMIT with an error recorded, whose operation engine_fail_during()
 * adds. The argument of a list is its plural. */
int limit_check_name(struct qless *q, const char *argument, struct qless_str name);
int limit_check_names(struct qless *q, const char *argument, const struct qless_str *names,
		      size_t count);
int limit_check_data(struct qless *q, const char *argument, struct qless_str data);
/* So many of one job. */
int limit_check_tags(struct qless *q, uint64_t count);
int limit_check_dependencies(struct qless *q, uint64_t count);
/* So many in one call. */
int limit_check_jobs(struct qless *q, int64_t count);
/* For names that are not stored but published. */
int limit_check_published(struct qless *q, const char *argument, const struct qless_str *names,
			  size_t count);

#endif
