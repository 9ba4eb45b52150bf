/*
 * Notices arguments that have probably changed places: the queue of a native PUT or POP does not
 * exist, and a queue has the name of the worker. Both commands take a worker and a queue, in
 * different orders.
 *
 * The command runs as it was sent. The environment keeps the notice for people.
 */
#ifndef COMMAND_SWAPPED_H
#define COMMAND_SWAPPED_H

#include <stdint.h>

#include "command/request.h"
#include "engine/view.h"

/* Returns the number of queues before a put, for swapped_note_put(). */
static inline uint32_t swapped_count_queues(const struct request *req)
{
	return skiplist_count(view_queues(req->engine));
}

/* The put made a queue. */
void swapped_note_new_queue(const struct request *req, struct qless_str worker,
			    struct qless_str queue);

/* Call this after a put that succeeded. The first two arguments from `names` are worker and queue.
 */
static inline void swapped_note_put(const struct request *req, uint32_t queues_before, size_t names)
{
	if (swapped_count_queues(req) != queues_before)
		swapped_note_new_queue(req, req->args[names], req->args[names + 1]);
}

/* Call this after a pop that found no job. */
void swapped_note_pop(const struct request *req, struct qless_str queue, struct qless_str worker);

#endif
