/*
 * How much memory is allocated, how much it was at most, and whether that is beyond maxmemory.
 */
#ifndef SERVER_MEMORY_WATCH_H
#define SERVER_MEMORY_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/memory.h"

struct server;

struct memory_watch {
	struct memory_gauge gauge;
	bool is_full; /* the log says that maxmemory has been reached */
	size_t startup_bytes;
	size_t peak_bytes;
};

/* Call this once a second: follows the peak, and logs when maxmemory is crossed. */
void memory_watch_tick(struct server *s);

/* The most memory that was ever seen allocated, including now. */
size_t memory_watch_peak(struct server *s);

/* Returns whether more is allocated than `max_bytes`, which is 0 for no limit. Everything counts,
 * also what waits to be sent: nothing is evicted, so a refused command never adds to the rest. */
static inline bool memory_watch_is_over(const struct memory_watch *m, size_t max_bytes)
{
	return max_bytes != 0 && memory_gauge_read(&m->gauge) > max_bytes;
}

#endif
