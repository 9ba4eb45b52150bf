/*
 * The server: the libevent loop, its connections, and the commands that deal with them.
 *
 * One thread runs everything here. A turn of the loop reads what has arrived, runs a bounded number
 * of commands of each connection, sends the replies, and frees dead connections. turn.h documents
 * the order.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>

struct buf;
struct config;
struct config_source;
struct loading_origin;
struct server;

/* Why server_run() returned. */
enum server_exit {
	SERVER_EXIT_STOPPED,	 /* a signal or SHUTDOWN */
	SERVER_EXIT_NOT_STARTED, /* the state cannot be loaded; the log says why */
	SERVER_EXIT_FAILED,	 /* the event loop failed; the log says why */
};

/* Make a server, and open its listeners. It borrows `config` for its life and may change it
 * (CONFIG SET). It keeps what `source` points to, and its file is the one that CONFIG REWRITE
 * writes. Returns NULL with a reason in `ret_error` on failure. */
struct server *server_new(struct config *config, const struct config_source *source,
			  struct buf *error);
void server_free(struct server *s);

/* Load the state, serve until the server stops, and close the log. */
enum server_exit server_run(struct server *s, const struct loading_origin *origin);

/* Append the addresses that the server listens on, in one line. */
void server_describe_listeners(const struct server *s, struct buf *out);

#endif
