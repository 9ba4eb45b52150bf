/*
 * Connections: their states, what they read and what they still have to write.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "server/server_int.h"

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

/* Whatever writes to c->writer calls this afterwards: it has the output sent at the end of the turn
 * and enforces the limits. A connection over its limits is closed at the end of the turn, too. */
void conn_output_grew(struct conn *c);

/* A writer for something that is no reply, such as a message of a channel: it is sent whatever
 * CLIENT REPLY says, and never within a reply. conn_output_grew() has to follow. */
void conn_message_begin(struct conn *c, struct resp_writer *ret_writer);
/* The command that was run has written all of its reply: what came meanwhile stands behind it. */
void conn_reply_end(struct conn *c);

/* Run what waits in the buffer of a connection on the list of the ready, and read on if there may
 * be more. */
void conn_run_ready(struct conn *c);
/* Let a held connection go on. */
void conn_release(struct conn *c);
/* Write what can be written. */
void conn_flush(struct conn *c);
/* It has output that may leave; the end of the turn writes it. */
void conn_mark_writable(struct conn *c);
void conn_free(struct conn *c);

/* Once a second: idle time, output over the soft limit, memory that is no longer needed. */
void conn_check(struct conn *c);

/* Show it, or no longer, every command that is run. */
void conn_set_monitor(struct conn *c, bool on);

enum conn_class conn_class(const struct conn *c);
const char *conn_class_name(enum conn_class class);
size_t conn_memory(const struct conn *c);

/* The limits of requests for this connection, as it is authenticated or not. */
const struct resp_limits *conn_limits(const struct conn *c);

static inline struct conn *conn_of(const struct call *call)
{
	return (struct conn *)((char *)call->session - offsetof(struct conn, session));
}

static inline struct server *server_of(const struct call *call)
{
	return conn_of(call)->server;
}

#endif
