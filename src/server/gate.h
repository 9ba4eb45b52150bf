/*
 * The gate: what waits until the log is durable up to a record.
 *
 * A connection's replies, the answer of an internal client, and later a push to somebody else must
 * not leave before the log holds everything that they tell of. Each asks the gate to call it once
 * the log is durable up to a sequence number, which costs constant time. The gate knows neither the
 * log nor its users: the end of each turn tells it how far the log has come (turn.c).
 *
 * Sequence numbers only grow, so waits are in the order of their sequence numbers by themselves.
 */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum gate_outcome {
	GATE_DURABLE, /* the log is durable up to the sequence number */
	GATE_LOST,    /* the log failed: nobody knows when the records will be durable, if ever */
};

/* Called at the end of a turn. It may add and cancel waits, but runs no commands: what they record
 * would not be written before the replies of this turn leave. */
typedef void gate_fn(void *arg, enum gate_outcome outcome);

/* One wait, in storage of the caller; all zero while nothing waits. */
struct gate_wait {
	gate_fn *fn; /* NULL: nothing waits */
	void *arg;
	uint64_t sequence;
	uint64_t number; /* in the order of gate_when() */
	TAILQ_ENTRY(gate_wait) link;
};

TAILQ_HEAD(gate_waits, gate_wait);

struct gate {
	struct gate_waits waits; /* in the order of their sequence numbers */
	uint64_t next_number;
	uint64_t durable;
	uint64_t pending; /* what the output of this turn waits for; 0 if it may leave */
	bool is_calling;
};

void gate_init(struct gate *g);

/* Call `fn` once the log is durable up to `sequence`, or has failed. Never called from in here.
 * `sequence` is not below that of any other wait, and `w` does not wait yet. */
void gate_when(struct gate *g, struct gate_wait *w, uint64_t sequence, gate_fn *fn, void *arg);

/* Forget a wait. Does nothing if `w` does not wait. */
void gate_cancel(struct gate *g, struct gate_wait *w);

/* The records of the turn have been written: `last` is the newest one, and the log is durable up to
 * `durable`. Calls nothing. */
void gate_advance(struct gate *g, uint64_t durable, uint64_t last);

/* The output of this turn tells of nothing that is not durable, whatever the log does. */
void gate_open(struct gate *g);

/* Call, in their order, everybody whose records have become durable. Waits that are added meanwhile
 * are not looked at before the next time. */
void gate_release(struct gate *g);

/* The log has failed: tell everybody who waits. */
void gate_fail(struct gate *g);

/* The sequence number that the output of this turn waits for, or 0 if it may leave at once. */
static inline uint64_t gate_pending(const struct gate *g)
{
	return g->pending;
}

static inline bool gate_is_waiting(const struct gate_wait *w)
{
	return w->fn != NULL;
}

static inline bool gate_is_empty(const struct gate *g)
{
	return TAILQ_EMPTY(&g->waits);
}

#endif
