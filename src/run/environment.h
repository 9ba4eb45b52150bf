/*
 * The environment of a program: that of qless-run without what is not for programs, and variables
 * about the job.
 */
#ifndef RUN_ENVIRONMENT_H
#define RUN_ENVIRONMENT_H

#include <stddef.h>

#include "run/job.h"

/* Bytes of a value that is passed on. A string of the environment has at most 128 KiB on Linux. */
#define ENVIRONMENT_VALUE_MAX ((size_t)64 * 1024)
/* Bytes of a value if the variables together are too long for the system. */
#define ENVIRONMENT_VALUE_SMALL 256

struct environment {
	char **variables; /* ends with NULL */
	size_t count, cap;
	size_t inherited; /* these come first, and belong to the process */
};

/* `from` is environ(7), which the environment borrows. Drops QLESS_*, the password of the server,
 * and what a service manager tells only this process. */
void environment_init(struct environment *e, char **from);
void environment_done(struct environment *e);

/* Replace the variables about a job. A value with a NUL byte, or with more than `value_max` bytes,
 * is left out, and QLESS_OMITTED has the names of such variables with blanks between them. `job` is
 * NULL for a program that runs several jobs; then `scratch` may be NULL, too. */
void environment_set_job(struct environment *e, const struct job *job, const char *scratch,
			 struct qless_str worker, size_t value_max);

/* The value of a variable about the job, or NULL. For tests. */
const char *environment_get(const struct environment *e, const char *name);

#endif
