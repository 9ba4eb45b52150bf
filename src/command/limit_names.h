/*
 * Names of limits among the arguments of native commands.
 *
 * A name that ends in `*` is a pattern, and stands for a rule alone. `queue:<name>` is the limit of
 * all jobs of a queue, so a job does not name it.
 */
#ifndef COMMAND_LIMIT_NAMES_H
#define COMMAND_LIMIT_NAMES_H

#include <stdbool.h>

#include "util/str.h"

struct request;

#define LIMIT_QUEUE_PREFIX "queue:"

/* Returns whether a limit is that of a queue; if so, *ret_queue is the queue. */
static inline bool limit_is_of_queue(struct qless_str name, struct qless_str *ret_queue)
{
	const struct qless_str prefix = STR(LIMIT_QUEUE_PREFIX);

	if (!str_starts_with(name, prefix))
		return false;
	*ret_queue = str_make(name.ptr + prefix.len, name.len - prefix.len);
	return true;
}

static inline bool limit_is_pattern(struct qless_str name)
{
	return name.len != 0 && name.ptr[name.len - 1] == '*';
}

/* Checks the argument `name` of a command about one limit. Returns 0, or a negative code with the
 * error worded, as request_fail() does. */
int limit_check_argument(struct request *req, struct qless_str name, bool takes_patterns);

#endif
