/*
 * Connections: their states, what they read and what they still have to write.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "server/server_int.h"

/* Why a connection is closed whose output was held when the log failed. */
#define CONN_OUTPUT_LOST "what it was to be told could not be made durable"

/* Serve a connected socket from now on; takes `peer` and `local`, both from malloc(). */
struct conn *conn_new(struct server *s, int fd, bool is_unix, char *peer, char *local);

/* It is to be encrypted, and begins with a handshake. False if that cannot be; it is dead then. */
bool conn_begin_tls(struct conn *c);

/* Connections by their ids: the table of a server, and the one of that id or NULL. The dead are not
 * found. */
void conn_init_ids(struct server *s);
struct conn *conn_find(const struct server *s, uint64_t id);

/* Close at once, at the end of this turn. `reason` goes to the log unless it is NULL. Does nothing
 * to the dead. */
void conn_kill(struct conn *c, const char *reason);
/* Run no more requests; close when what has been said so far has left. */
void conn_finish(struct conn *c);

/* Run what waits in the buffer of a connection on the list of the ready, and read on if there may
 * be more. */
void conn_run_ready(struct conn *c);
/* Let a held connection go on. */
void conn_release(struct conn *c);
/* Write what can be written. */
void conn_flush(struct conn *c);
/*
 * At the end of a turn: what the connection was told in it leaves as soon as all that was recorded
 * by then is durable. So no client learns of a state that a crash can undo, whoever has brought it
 * about.
 */
void conn_hold_output(struct conn *c);
void conn_free(struct conn *c);

/* Once a second: idle time, output over the soft limit, memory that is no longer needed. */
void conn_check(struct conn *c);

enum conn_class conn_class(const struct conn *c);
const char *conn_class_name(enum conn_class class);
size_t conn_memory(const struct conn *c);

/* The limits of requests for this connection, as it is authenticated or not. */
const struct resp_limits *conn_limits(const struct conn *c);

/* The connection of a client that is one. */
static inline struct conn *conn_of(const struct client *client)
{
	return (struct conn *)((char *)(uintptr_t)client - offsetof(struct conn, client));
}

#endif
