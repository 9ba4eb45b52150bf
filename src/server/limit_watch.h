/*
 * Sweeps of limits: the server deletes rules whose time is over, and limits that nothing mentions
 * any more, by operations that the log records.
 *
 * The engine knows when the next sweep has something to do. That is looked up once a second, and
 * the alarm rings at that time. A rule that is set with a TTL below a second may go a second late.
 */
#ifndef SERVER_LIMIT_WATCH_H
#define SERVER_LIMIT_WATCH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct server;

struct limit_watch {
	double due; /* seconds, by the native clock: the next sweep; INFINITY if none is known */
	uint64_t swept; /* rules and limits so far */
};

void limit_watch_init(struct server *s);

/* Returns whether no sweep is known, so that the other functions have nothing to do. */
static inline bool limit_watch_is_idle(const struct limit_watch *watch)
{
	return watch->due == INFINITY;
}

/* Call this once a second. */
void limit_watch_tick(struct server *s);

/* Returns whether a sweep is due and can run. */
bool limit_watch_can_run(const struct server *s);
/* Sweep for a part of a millisecond if that is due. Once in each turn. */
void limit_watch_run(struct server *s);

#endif
