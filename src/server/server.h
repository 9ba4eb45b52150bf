/*
 * The server: the libevent loop, its connections, and the commands that deal with them.
 *
 * One thread runs everything here. A turn of the loop reads what has arrived, runs a bounded number
 * of commands of each connection, sends the replies, and frees what died; server_run() documents
 * the order.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>

struct buf;
struct config;
struct loading_origin;
struct server;

/* Why server_run() came back. */
enum server_exit {
	SERVER_EXIT_STOPPED, /* a signal or SHUTDOWN asked for it */
	SERVER_EXIT_FAILED,  /* the state could not be loaded, or the loop failed; the log says why
			      */
};

/* Build a server that borrows `config` for its life and may change it (CONFIG SET). Opens the
 * listeners. On failure returns NULL and puts what went wrong into `error`. `config_file` is where
 * CONFIG REWRITE writes to, or NULL. */
struct server *server_new(struct config *config, const char *config_file, struct buf *error);
void server_free(struct server *s);

/* Load the state, serve until told to stop, and bring the log to its end. */
enum server_exit server_run(struct server *s, const struct loading_origin *origin);

/* One line that says where the server listens, for the log. */
void server_describe_listeners(const struct server *s, struct buf *out);

#endif
