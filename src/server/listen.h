/*
 * Listening sockets.
 */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

struct buf;
struct event;
struct server;

struct listener {
	struct server *server;
	struct event *event;
	int fd;
	bool is_unix;
	bool is_tls;
	bool is_http;
	char *name; /* "127.0.0.1:7537", with "/tls", "/http" or "/https" appended for these, or the
		     * path of a Unix socket */
	dev_t unix_dev; /* identify the socket file, so that no other file is removed at the end */
	ino_t unix_ino;
};

struct listening {
	struct listener *listeners;
	int count;
	bool is_paused; /* no descriptors are left */
	bool is_warned; /* the log says that none are left; once each time */
	struct event *timer;
	bool is_trial; /* sockets are bound, and closed at once */
	int tried;
};

/* Bind to each address, also those of http-bind, and leave it again. A port that is in use counts
 * as free. The server needs no more than its `config`. Returns 0, or -1 with a reason. */
int listen_try_all(struct server *s, struct buf *ret_error);

/* Open all sockets that the configuration names. On failure, closes them all. */
int listen_open_all(struct server *s, struct buf *ret_error);
/* Stop accepting, and remove the Unix socket. */
void listen_close_all(struct server *s);

/* A descriptor has become free: accept again if that had stopped. */
void listen_resume(struct server *s);

#endif
