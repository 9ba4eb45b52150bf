/*
 * A connection to the server in an event loop, which is made again when it is lost.
 */
#ifndef RUN_LINK_H
#define RUN_LINK_H

#include <event2/event.h>
#include <stdbool.h>

#include "client/backoff.h"
#include "client/connection.h"

struct link;

struct link_events {
	/* The connection has logged in. */
	void (*ready)(void *arg);
	/* A reply, or a push of the server. */
	void (*replied)(void *arg, const struct client_reply *reply);
	/* The connection is lost, and with it the replies to all requests. It is made again after a
	 * pause, unless the owner closes the link. */
	void (*lost)(void *arg, const char *error, bool is_refused);
};

struct link {
	/* Private. */
	struct event_base *base;
	const struct client_settings *settings;
	const struct link_events *events;
	void *arg;
	struct connection *connection; /* NULL while there is none */
	struct event *io, *pause;
	struct backoff backoff;
	bool is_open, is_ready, is_ending;
};

/* Borrows the settings and the events. The link is closed. */
void link_init(struct link *l, struct event_base *base, const struct client_settings *settings,
	       const struct link_events *events, void *arg);
void link_done(struct link *l);

/* Connect now, and again whenever the connection is lost. Does nothing if the link is open. */
void link_open(struct link *l);
/* Close the connection without a word. No event follows. */
void link_close(struct link *l);

/* Close the sending direction, after which the server runs no request that waits. A reply that is
 * on its way still arrives. Then the connection is lost, and is not made again. */
void link_end(struct link *l);

/* Treat the connection as lost, because the server is silent. */
void link_break(struct link *l, const char *error);

static inline bool link_is_open(const struct link *l)
{
	return l->is_open;
}

static inline bool link_is_ready(const struct link *l)
{
	return l->is_ready;
}

/* The link must be ready. */
void link_send(struct link *l, const struct qless_str *argv, size_t argc);

#endif
