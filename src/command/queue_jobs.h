/*
 * The jobs of a small queue, found in its own lists instead of in the table of all jobs.
 *
 * These lists are sorted by scores that change, so a client cannot walk through them over several
 * calls. They serve where one call lists everything.
 */
#ifndef COMMAND_QUEUE_JOBS_H
#define COMMAND_QUEUE_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"

struct request;

struct queue_jobs {
	const struct qless_job **items; /* valid until the engine changes */
	size_t count;
};

/* Finds the jobs of the queue that the first argument names and that are in one of the states, see
 * job_states.h. Returns false if more than `max` jobs would have to be looked at, or if only the
 * table tells which they are. Otherwise the caller frees the items. */
bool queue_jobs_find(struct request *req, unsigned states, size_t max, struct queue_jobs *ret);

#endif
