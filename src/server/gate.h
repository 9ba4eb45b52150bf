/*
 * The gate: callbacks that wait until the log is durable up to a record.
 *
 * The replies of a connection and the answer of an internal client must not leave before the log
 * holds every change that they tell of. They ask the gate for a call once the log is durable up to
 * a sequence number, which takes constant time. The gate knows neither the log nor its users. The
 * end of each turn tells it how far the log has come (recording.c).
 *
 * Sequence numbers only grow, so the list of waits is always sorted by them.
 */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum gate_outcome {
	GATE_DURABLE, /* the log is durable up to the sequence number */
	GATE_LOST,    /* the log failed before that; the records may be lost */
};

/* Called at the end of a turn. It may add and cancel waits. It must not run commands: their
 * records would be written after the replies of this turn have left. */
typedef void gate_fn(void *arg, enum gate_outcome outcome);

/* One wait, in the caller's storage. All zero while it does not wait. */
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
	uint64_t pending; /* the sequence number that the output of this turn waits for; 0: none */
	bool is_calling;
};

void gate_init(struct gate *g);

/* Call `fn` once the log is durable up to `sequence`, or has failed. Never calls it immediately.
 * `sequence` is not below that of any other wait, and `w` does not wait yet. */
void gate_when(struct gate *g, struct gate_wait *w, uint64_t sequence, gate_fn *fn, void *arg);

/* Cancel a wait. Does nothing if `w` does not wait. */
void gate_cancel(struct gate *g, struct gate_wait *w);

/* The log has written the records of the turn: `last` is the newest one, and the log is durable
 * up to `durable`. Calls no callbacks. */
void gate_advance(struct gate *g, uint64_t durable, uint64_t last);

/* Let the output of this turn leave at once. For a turn that recorded nothing that could be
 * lost. */
void gate_open(struct gate *g);

/* Call the callbacks whose records have become durable, in order. Waits that a callback adds
 * stay until the next release. */
void gate_release(struct gate *g);

/* The log has failed: tell all waits. */
void gate_fail(struct gate *g);

/* Returns the sequence number that the output of this turn waits for, or 0 if it may leave at
 * once. */
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
