/*
 * Push: the server takes jobs as a worker, and posts them to endpoints (command/endpoints.h).
 *
 * Each endpoint has a worker with the name `push:` and the name of the endpoint. While it has room,
 * it waits in the lines of its queues as a client of BPOP does, for as many jobs as it has room
 *for. So it costs nothing while there are no jobs. The commands of the worker are submitted
 *(submit.h): a request leaves when the hand-out of its job is durable, and room becomes free when
 *the outcome is.
 *
 *	TAKEN --> POSTED --> TELLING --> (the outcome is durable)
 *	  |                   ^   |
 *	  +-- is no JSON -----+   +--> DELAYED: nothing may change now
 *	                      ^             |
 *	                      +-------------+
 *
 * The lock of a job is renewed from when it is taken until its outcome is told, each time when half
 *of it has passed. Every command names the number of the hand-out. After a restart no worker renews
 *the locks of the last run, so they expire and count as attempts.
 *
 * A circuit breaker (push/circuit.h) leaves an endpoint alone that does not answer. It is no part
 *of the state: after a restart every endpoint gets jobs.
 *
 * Without endpoints there is nothing of this, not even libcurl.
 */
#ifndef SERVER_PUSH_H
#define SERVER_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "command/push.h"
#include "operation/operation.h"

struct buf;
struct push;
struct server;

/* Figures of all endpoints, since the start. */
struct push_figures {
	uint64_t endpoints;
	uint64_t open; /* endpoints that are left alone */
	uint64_t running;
	uint64_t sent;
	uint64_t completed;
	uint64_t retried;
	uint64_t failed;
};

extern const struct push_ops push_ops;

/* The state has been loaded: begin to take jobs for its endpoints. */
void push_begin(struct server *s);
/* The server stops: take no more jobs. */
void push_stop(struct server *s);
/* End all requests, and free everything. */
void push_done(struct server *s);

/* Operations were recorded that changed an endpoint, or flushed a database. */
void push_note_change(struct server *s, const struct operation *op);

static inline void push_note(struct server *s, const struct operation *op)
{
	if (operation_is_for_endpoint(op) || op->kind == OPERATION_FLUSH)
		push_note_change(s, op);
}

/* Let workers take jobs. Once in each turn, unless push_is_idle(). */
void push_run(struct server *s);
bool push_is_idle(const struct push *push);

/* Directives have changed. */
void push_apply_config(struct server *s);

void push_get_figures(const struct server *s, struct push_figures *ret);
/* Call `visit` for each endpoint. */
void push_each(struct server *s,
	       void (*visit)(void *arg, unsigned db, struct qless_str name,
			     const struct push_status *status),
	       void *arg);

#endif
