/*
 * Presence: workers that are attached to a connection.
 *
 * The server renews the locks of an attached worker, so the worker needs no heartbeats. Its
 * connection tells whether it lives. When the connection ends, in whatever way, the worker may
 * attach again within its grace period. Otherwise the server releases all of its jobs.
 *
 *	                attach
 *	   +--------------------------------+
 *	   v                                |
 *	ATTACHED --(the connection ends)--> LEFT --(the grace period ends)--> RELEASING --> (gone)
 *	   |                                |
 *	   +------------ detach ------------+--> (gone, its jobs stay)
 *
 * A worker is known by its database and its name. It belongs to the connection that attached it
 * last. A worker that leaves without a job is gone at once, because nothing is to be released.
 *
 * Presence is not state: the log does not have it, and after a restart no worker is attached. Then
 * locks expire as usual unless the worker attaches again. Renewals and releases are state. They are
 * operations on all jobs of a worker (engine/holdings.c), in portions that share each turn with
 * the clients.
 *
 * Renewals:
 * - A lock is renewed when half of its lease has passed, together with all locks of the worker that
 *   would expire before its new expiry, or little later. So a worker with many jobs costs a few
 *   records in each half of its shortest lease, and nothing is renewed too late.
 * - A heap has the workers by when the next renewal is due. A pop enters its worker, and a renewal
 *   that finds no job removes it. So a worker without jobs costs nothing, and nothing is polled.
 * - A worker that left keeps its locks until its grace period ends.
 * - A server that stood still for longer than a lease renews before it runs the next command, so
 *   that no other worker gets a job whose lock has expired meanwhile.
 * - Only locks that were valid when the worker attached are renewed. What an earlier process of the
 *   same name has lost stays lost.
 *
 * While nothing may change (environment_may_change()), nothing is renewed or released. A grace
 * period that ends while all commands are paused begins again afterwards, because its worker could
 * not attach.
 */
#ifndef SERVER_PRESENCE_H
#define SERVER_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "command/attach.h"
#include "operation/operation.h"
#include "server/client.h"
#include "util/hash.h"
#include "util/heap.h"
#include "util/str.h"

struct server;

struct presence {
	struct hash *by_name; /* the workers of each database */
	unsigned databases;   /* the number of databases */
	struct hash exclusives;
	size_t count;	      /* of all workers in by_name */
	struct heap renewals; /* by the time of the next renewal, in seconds of the native clock */
	struct heap ends;     /* by the end of the grace period, in monotonic microseconds */
	struct attached_list releasing;
	int64_t late_ns; /* monotonic time at which the next renewal is late */
	bool is_held;	 /* something was due while all commands were paused */
};

extern const struct attach_ops presence_attach_ops;

void presence_init(struct server *s);
void presence_done(struct server *s);
/* Forget all workers. None has a connection any more. */
void presence_forget_all(struct server *s);

/* An operation was recorded: plan renewals if it gave a job to an attached worker. */
void presence_note_change(struct server *s, const struct operation *op);

static inline void presence_note(struct server *s, const struct presence *p,
				 const struct operation *op)
{
	if (p->count != 0 && (op->kind == OPERATION_POP || op->kind == OPERATION_HEARTBEAT ||
			      op->kind == OPERATION_HEARTBEAT_MANY))
		presence_note_change(s, op);
}

/* A worker begins to wait for queues. Returns whether it is attached; then it listens to them. */
bool presence_listens(struct server *s, unsigned db, struct qless_str worker,
		      const struct qless_str *queues, size_t count);

/* The connection of the client has ended: its workers have left. */
void presence_end_client(struct client *c);

/* The rights of a user have changed: workers that it may no longer attach leave. */
void presence_check_user(struct server *s, const struct user *user);

/* An event for a worker: push it to the connection of the worker if that speaks RESP3. For struct
 * qless_hooks; `arg` is the server. */
void presence_tell(void *arg, const struct qless *engine, struct qless_str worker,
		   struct qless_str event, struct qless_str jid);

/* The native clock was set from one time to another, in seconds. */
void presence_step_clock(struct server *s, double from, double to);

/* Returns whether no worker is attached, and none that was has jobs. */
static inline bool presence_is_empty(const struct presence *p)
{
	return p->count == 0;
}
/* Returns whether a lock may have expired because the server stood still, or all commands were
 * paused, when its renewal was due. */
static inline bool presence_is_late(const struct presence *p, int64_t mono_ns)
{
	return mono_ns >= p->late_ns;
}
/* Renew the locks that are late, before a command finds them expired. */
void presence_catch_up(struct server *s);
/* Returns whether something can be renewed or released without anything new. */
bool presence_can_run(const struct server *s);
/* Renew and release some of what is due, and set the alarm. Once in each turn, unless
 * presence_is_empty(). */
void presence_run(struct server *s);

#endif
