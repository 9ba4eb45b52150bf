/*
 * Sweeps of finished jobs: the server deletes the oldest failed ones that the options
 * failed-history and failed-history-count do not keep, and complete ones that are no longer
 * retained. It deletes each by an operation that the log records.
 *
 * The engine knows which job is next. That is looked up once a second, so a job may stay a second
 * longer.
 */
#ifndef SERVER_SWEEP_WATCH_H
#define SERVER_SWEEP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct server;

enum sweep {
	SWEEP_FAILED,
	SWEEP_RETAINED,
	SWEEPS,
};

struct sweep_watch {
	bool is_due;
	uint64_t swept[SWEEPS]; /* jobs so far */
};

void sweep_watch_init(struct server *s);

/* Returns whether no job is to be deleted, so that the other functions have nothing to do. */
static inline bool sweep_watch_is_idle(const struct sweep_watch *watch)
{
	return !watch->is_due;
}

/* Call this once a second. */
void sweep_watch_tick(struct server *s);

/* Returns whether jobs are to be deleted, and can be. */
bool sweep_watch_can_run(const struct server *s);
/* Delete jobs for a part of a millisecond. Once in each turn. */
void sweep_watch_run(struct server *s);

#endif
