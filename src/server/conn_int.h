/*
 * The interface between conn.c, conn_input.c and conn_output.c.
 */
#ifndef SERVER_CONN_INT_H
#define SERVER_CONN_INT_H

#include <assert.h>

#include "server/conn.h"
#include "server/server_int.h"

/* Bytes of unsent output above which a connection that has not authenticated is closed. */
#define CONN_STRANGER_BYTES ((size_t)64 * 1024)

/* Changes the state. Nothing else does. */
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

static inline void conn_unmark_writable(struct conn *c)
{
	if (c->output_list == NULL)
		return;
	TAILQ_REMOVE(c->output_list, c, writable);
	c->output_list = NULL;
}

static inline void conn_move_output(struct conn *c, struct conn_list *list)
{
	conn_unmark_writable(c);
	c->output_list = list;
	TAILQ_INSERT_TAIL(list, c, writable);
}

static inline void conn_mark_writable(struct conn *c)
{
	assert(c->state != CONN_DEAD);
	if (c->output_list == NULL)
		conn_move_output(c, &c->client.server->conns.writable);
	/* Late output leaves together with new output. */
	else if (c->output_list == &c->client.server->conns.late)
		conn_move_output(c, &c->client.server->conns.served);
}

/* Count the memory of a connection again if it has changed. */
static inline void conn_count_memory(struct conn *c)
{
	size_t bytes = sizeof *c + c->in.cap + c->client.out.allocated +
		       c->client.messages.allocated + c->client.attached_bytes;

	if (c->client.waiting != NULL)
		bytes += waiting_memory(c->client.waiting);
	if (c->http != NULL)
		bytes += http_conn_memory(c);

	if (bytes != c->counted.bytes || c->client.txn != NULL)
		client_memory_update(c);
}

/* conn_input.c */

/* Begin to listen for events of the socket; by edges if they can be had. */
void conn_watch_socket(struct conn *c, bool edges);
/* Log that the peer does not speak the protocol. */
void conn_log_misfit(struct conn *c, const char *what, const char *reason);
/* Read and discard what the peer sends. Returns false at the end of the stream. */
bool conn_discard_input(struct conn *c, bool *ret_any);

/* conn_output.c */

/* For struct client_ops: output was added. */
void conn_on_output(struct client *client);
size_t conn_output_room(struct client *client);
void conn_on_output_exceeded(struct client *client, const char *limit);
/* Write the output that may leave, as far as the socket takes it. */
void conn_write(struct conn *c);
void conn_watch_writable(struct conn *c, bool on);
/* Have the loop report an event again that it has reported already. */
void conn_tell_again(struct event *event);
void conn_enforce_output_limits(struct conn *c);
bool conn_has_held_output(const struct conn *c);
/* Forget which output waits for the log. */
void conn_forget_held(struct conn *c);

#endif
