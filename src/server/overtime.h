/*
 * Runs that are over: a job that runs longer than its runtime is taken from its worker, whether or
 * not another worker asks for jobs.
 */
#ifndef SERVER_OVERTIME_H
#define SERVER_OVERTIME_H

#include <math.h>
#include <stdbool.h>

#include "operation/operation.h"

struct server;

struct overtime {
	double next; /* when the next run of all databases is over, or earlier; INFINITY: never */
};

void overtime_init(struct server *s);
/* Look at all databases in the next turn: their state was loaded. */
void overtime_look(struct server *s);

/* Called with every operation that changed something. Only these kinds may bring the end of a run
 * forward. */
void overtime_look_at(struct server *s, unsigned db);
static inline void overtime_note_change(struct server *s, struct overtime *overtime,
					const struct operation *op)
{
	if (op->kind == OPERATION_POP)
		overtime_look_at(s, op->db);
	else if (op->kind == OPERATION_STEP_CLOCK || op->kind == OPERATION_REPAIR ||
		 op->kind == OPERATION_RESOLVE)
		overtime->next = -INFINITY;
}

static inline bool overtime_is_idle(const struct overtime *overtime)
{
	return overtime->next == INFINITY;
}

/* Whether a run is over and may be ended. The server sleeps otherwise. */
bool overtime_can_run(const struct server *s);
/* End the runs that are over, and ask for a turn at the end of the next one. Called in each turn
 * unless overtime_is_idle(). */
void overtime_run(struct server *s);

#endif
