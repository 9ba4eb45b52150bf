/*
 * The ticks of cron expressions: recurring jobs make their jobs when these are due, whether or not
 * a worker asks for jobs.
 */
#ifndef SERVER_TICKS_H
#define SERVER_TICKS_H

#include <math.h>
#include <stdbool.h>

#include "operation/operation.h"

struct server;

struct ticks {
	double next; /* when the next tick of all databases is due, or earlier; INFINITY: never */
};

void ticks_init(struct server *s);
/* Look at all databases in the next turn: their state was loaded, or the clock was set. */
void ticks_look(struct server *s);

/* Called with every operation that changed something. Only these kinds may bring a tick forward. */
static inline void ticks_note_change(struct ticks *ticks, const struct operation *op)
{
	if (op->kind >= OPERATION_RECUR && op->kind <= OPERATION_REPAIR)
		ticks->next = -INFINITY;
}

static inline bool ticks_are_idle(const struct ticks *ticks)
{
	return ticks->next == INFINITY;
}

/* Whether a tick is due and may make its job. The server sleeps otherwise. */
bool ticks_can_run(const struct server *s);
/* Make the jobs that are due, and ask for a turn at the next tick. Called in each turn unless
 * ticks_are_idle(). */
void ticks_run(struct server *s);

#endif
