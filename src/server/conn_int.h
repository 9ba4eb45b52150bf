/*
 * What the three files of a connection share, and nobody else sees.
 */
#ifndef SERVER_CONN_INT_H
#define SERVER_CONN_INT_H

#include <assert.h>

#include "server/conn.h"
#include "server/server_int.h"

/* Unsent output in bytes at which a connection that has not authenticated is closed. */
#define CONN_STRANGER_BYTES ((size_t)64 * 1024)

/* The only way in which the state of a connection changes. */
void conn_set_state(struct conn *c, enum conn_state state);

static inline void conn_mark_ready(struct conn *c)
{
	assert(c->state == CONN_OPEN);
	if (c->is_ready)
		return;
	c->is_ready = true;
	TAILQ_INSERT_TAIL(&c->client.server->conns.ready, c, ready);
}

static inline void conn_unmark_ready(struct conn *c)
{
	if (!c->is_ready)
		return;
	c->is_ready = false;
	TAILQ_REMOVE(&c->client.server->conns.ready, c, ready);
}

static inline void conn_mark_writable(struct conn *c)
{
	assert(c->state != CONN_DEAD);
	if (c->has_output)
		return;
	c->has_output = true;
	TAILQ_INSERT_TAIL(&c->client.server->conns.writable, c, writable);
}

static inline void conn_unmark_writable(struct conn *c)
{
	if (!c->has_output)
		return;
	c->has_output = false;
	TAILQ_REMOVE(&c->client.server->conns.writable, c, writable);
}

/* conn_input.c */

/* Begin to listen for events of the socket; by edges if they can be had. */
void conn_watch_socket(struct conn *c, bool edges);
/* Log that the peer does not speak the protocol. */
void conn_log_misfit(struct conn *c, const char *what, const char *reason);
/* Pass over what the peer still sends. Returns false at the end of that. */
bool conn_discard_input(struct conn *c, bool *ret_any);

/* conn_output.c */

/* Output was added; of struct client_ops. */
void conn_on_output(struct client *client);
/* Write what may leave, as far as the socket takes it. */
void conn_write(struct conn *c);
void conn_watch_writable(struct conn *c, bool on);
/* Have an event told again that was told already, and has not been dealt with. */
void conn_tell_again(struct event *event);
void conn_enforce_output_limits(struct conn *c);
bool conn_has_held_output(const struct conn *c);
/* Forget which output waits: it leaves at once, or never. */
void conn_forget_held(struct conn *c);

#endif
