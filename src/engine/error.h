/*
 * Errors as data: what a failed call leaves for qless_last_error().
 *
 * The engine words no errors for clients. Programs have their own words for each operation and
 * reason, and error_append() fills them in.
 */
#ifndef ENGINE_ERROR_H
#define ENGINE_ERROR_H

#include "qless.h"
#include "util/buf.h"

struct engine_error {
	struct qless_error last; /* its slices are in `kept` */
	struct buf kept;
	struct buf text; /* of qless_error_text() */
};

void engine_error_init(struct engine_error *e);
void engine_error_done(struct engine_error *e);

/* Each records an error and returns its code, which follows from the reason. */
int engine_fail(struct qless *q, struct qless_error error);
/* About a job. QLESS_REASONS describes `detail`. */
int engine_fail_job(struct qless *q, enum qless_operation operation, enum qless_reason why,
		    struct qless_str jid, struct qless_str detail);
/* About an argument and its number, or the limit that it exceeds. */
int engine_fail_number(struct qless *q, enum qless_operation operation, enum qless_reason why,
		       const char *argument, double number);
/* About an argument that is text. */
int engine_fail_text(struct qless *q, enum qless_operation operation, enum qless_reason why,
		     const char *argument, struct qless_str text);

/* Add the operation to an error that a shared check has recorded. */
int engine_fail_during(struct qless *q, enum qless_operation operation);

/* Append a template to `out`, with %j, %d, %a, %n and %v replaced as in QLESS_REASONS. */
void error_append(struct buf *out, const char *template, const struct qless_error *error);

#endif
