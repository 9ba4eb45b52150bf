/*
 * The circuit breaker of an endpoint: an endpoint that does not answer is left alone.
 *
 *	           some failures in a row                the pause is over
 *	CLOSED ------------------------------> OPEN ---------------------------> HALF_OPEN
 *	   ^                                    ^                                 |   |
 *	   |                                    +------ the probe fails ----------+   |
 *	   +---------------------------- the probe succeeds --------------------------+
 *
 * While the circuit is open, no job is taken. While it is half open, one job is a probe, and no
 * other is taken before its answer. Each pause is twice as long as the one before it.
 *
 * An endpoint may also ask for a pause itself, with 429 or 503 and Retry-After. That opens the
 * circuit for as long as it says.
 *
 * Times are in seconds of any clock that only goes forward.
 */
#ifndef PUSH_CIRCUIT_H
#define PUSH_CIRCUIT_H

#include <stdbool.h>

enum circuit_state {
	CIRCUIT_CLOSED,
	CIRCUIT_OPEN,
	CIRCUIT_HALF_OPEN,
};

struct circuit {
	enum circuit_state state;
	unsigned failures; /* in a row */
	unsigned opened;   /* times, since the last success */
	double until;	   /* end of the pause, while it is open */
	bool is_probing;   /* half open, and the probe is under way */
};

struct circuit_rules {
	unsigned failures; /* in a row, that open the circuit */
	double pause_s;	   /* the first one */
	double max_pause_s;
};

void circuit_init(struct circuit *c);

/* Returns how many requests may begin now, up to `free`. A circuit whose pause is over becomes half
 * open. */
unsigned circuit_room(struct circuit *c, double now, unsigned room);
/* A request that circuit_room() has allowed begins. */
void circuit_begin(struct circuit *c);
/* A request ended without telling anything of the endpoint. */
void circuit_cancel(struct circuit *c);
/* A request was answered well. */
void circuit_succeed(struct circuit *c);
/* A request was not answered, or badly. */
void circuit_fail(struct circuit *c, double now, const struct circuit_rules *rules);
/* The endpoint asks for a pause. */
void circuit_hold(struct circuit *c, double now, double seconds);

/* The name of a state: "closed", "open" or "half-open". */
const char *circuit_state_name(enum circuit_state state);

#endif
