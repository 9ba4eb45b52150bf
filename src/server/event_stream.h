/*
 * Events over HTTP: each connection that sent GET /v1/events is a reader of the ring.
 *
 * The ring is filled while there is a port for HTTP. At the end of a turn, readers get the events
 * that they have not seen. An answer is held back until everything recorded by then is durable, as
 * all output is, so no reader learns of a state that a crash can undo.
 *
 * A reader whose connection takes nothing gets no more, and is late. So its output is small.
 * If there is more to send than a turn has time for, later turns go on. While a reader is late,
 * the ring keeps EVENT_STREAM_STRETCH times its size. When it drops an event that a reader still
 * needs, the connection is closed.
 */
#ifndef SERVER_EVENT_STREAM_H
#define SERVER_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "http/request.h"
#include "server/dispatch.h"
#include "server/event_ring.h"
#include "util/buf.h"

struct conn;
struct event_stream;
struct server;

#define EVENT_STREAM_STRETCH 8

TAILQ_HEAD(event_stream_list, event_stream);

struct event_streams {
	bool is_on; /* there is a port for HTTP */
	struct event_ring ring;
	struct event_stream_list current; /* readers that have seen all events before `seen` */
	struct event_stream_list late;
	uint64_t seen;
	size_t count;
	uint64_t cut; /* readers that were too slow */
	/* Messages from `batch_first` to the one before `batch_end`, as readers without conditions
	 * get them. */
	struct buf batch;
	uint64_t batch_first;
	uint64_t batch_end;
};

/* Begins to fill the ring if there is a port for HTTP. */
void event_streams_init(struct server *s);
/* Call this after all connections have ended. */
void event_streams_done(struct server *s);

/* Whether the path is that of events. */
bool event_stream_has(const struct http_target *target);
/* Answers a request for events: returns DISPATCH_WAIT once the answer has begun. */
enum dispatch_result event_stream_run(struct conn *c, const struct http_request *r);

/* Call this once a second: shows readers that the connection lives, and ends those whose user may
 * no longer follow events. */
void event_streams_tick(struct server *s);

/* Whether readers must be looked at before the end of the turn. */
static inline bool event_streams_are_idle(const struct event_streams *streams)
{
	return !streams->is_on ||
	       (streams->seen == streams->ring.next && TAILQ_EMPTY(&streams->late));
}

/* Sends events. Call this at the end of a turn unless they are idle. */
void event_streams_run(struct server *s);
/* Whether there is something to send at once. */
bool event_streams_can_run(const struct server *s);

#endif
