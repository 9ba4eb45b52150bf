/*
 * The sockets on which connections arrive.
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
	char *name;	/* "127.0.0.1:7537", with "/tls" behind it, or the path of a Unix socket */
	dev_t unix_dev; /* which file the path was, so that no other is removed at the end */
	ino_t unix_ino;
};

struct listening {
	struct listener *listeners;
	int count;
	bool is_paused; /* out of descriptors */
	bool is_warned; /* the log says so; once for each time that there are too few */
	struct event *timer;
};

/* Open everything the configuration asks for; on failure nothing stays open. */
int listen_open_all(struct server *s, struct buf *ret_error);
/* Accept no more, and remove the Unix socket. */
void listen_close_all(struct server *s);

/* A descriptor has become free: accept again if that had stopped. */
void listen_resume(struct server *s);

#endif
