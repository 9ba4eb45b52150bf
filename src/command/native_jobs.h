/*
 * The lists of JOBS that only native commands have: waiting, failed and complete jobs of a queue.
 */
#ifndef COMMAND_NATIVE_JOBS_H
#define COMMAND_NATIVE_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

struct request;

/* Returns whether the arguments of a native JOBS ask for such a list. `complete` with a queue is
 * one, and `complete` with an offset, or with nothing, is not: a number is an offset. */
bool native_jobs_has_list(const struct qless_str *args, size_t nargs);
/* Handles JOBS if it has. */
int native_jobs(struct request *req);

#endif
