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
/* Make a server inside another program, with a log in the directory `dir` of `config`. It has no
 * listeners, handles no signals, forks no processes, and changes nothing else of the process. It
 * serves in the thread that makes it. */
struct server *server_new_inside(struct config *config, struct buf *error);
void server_free(struct server *s);

/* Load the state, serve until the server stops, and close the log. */
enum server_exit server_run(struct server *s, const struct loading_origin *origin);

/* The two steps of server_run(). server_load() returns -1 if the state cannot be loaded, or
 * the server was stopped. */
int server_load(struct server *s, const struct loading_origin *origin);
enum server_exit server_serve(struct server *s);

/* For a server inside another program, from any thread until server_free(): take a connection, one
 * end of a pair of non-blocking sockets. Returns -1, and leaves the socket alone, if the server
 * stops. */
int server_take_socket(struct server *s, int fd);
/* Let server_serve() stop the server. */
void server_ask_to_stop(struct server *s);
/* After server_serve(): returns whether the log could not be written to its end. A warning in the
 * event log says why. */
bool server_lost_records(const struct server *s);
/* In a child of the process, which has no copy of the thread: close the copies of the lock of the
 * directory and of the log, without any other effect. */
void server_abandon(struct server *s);

/* Append the addresses that the server listens on, in one line. */
void server_describe_listeners(const struct server *s, struct buf *out);

#endif
