/*
 * Memory in use, its peak, and the limit maxmemory.
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

/* Returns the most memory that was ever seen in use, including now. */
size_t memory_watch_peak(struct server *s);

/* Returns whether more memory is in use than `max_bytes`, where 0 is no limit. `apart_bytes` of it
 * do not count. Nothing is evicted: commands that need memory are refused. */
static inline bool memory_watch_is_over(const struct memory_watch *m, size_t max_bytes,
					size_t apart_bytes)
{
	return max_bytes != 0 && memory_gauge_read(&m->gauge) > max_bytes &&
	       memory_gauge_read(&m->gauge) > max_bytes + apart_bytes;
}

#endif
