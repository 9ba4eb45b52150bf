/*
 * Fencing: the option LOCK of native commands about a running job.
 *
 * Each hand-out of a job has a number, which the worker sees as `lock` in the job. A worker that
 * sends the number cannot act on a later hand-out of the same job, even if the name of the worker
 * is the same.
 */
#ifndef COMMAND_FENCE_H
#define COMMAND_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "command/request.h"
#include "qless.h"
#include "util/str.h"

struct fence {
	bool is_set;
	uint64_t number;
	struct qless_str *args; /* the arguments without the option, from malloc(), or NULL */
};

/* Takes `LOCK <number>` from the arguments: one of the options that begin at argument `first`, or
 * at the end if `first` is 0. Writes an error and returns false if the number is invalid. The
 * caller calls fence_done() in any case. */
bool fence_take(struct fence *fence, struct request *req, size_t first);
void fence_done(struct fence *fence);

/* Returns whether the first argument is a job with this hand-out. Otherwise writes an error. */
bool fence_check(const struct fence *fence, struct request *req, enum qless_operation operation);

#endif
