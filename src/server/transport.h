/*
 * How the bytes of a connection travel. The code of connections speaks to a socket through these
 * few calls alone, so that an encrypted transport can stand beside the plain one.
 */
#ifndef SERVER_TRANSPORT_H
#define SERVER_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct transport;

/* What a call that moved nothing was waiting for. */
enum transport_result {
	TRANSPORT_WANT_READ = -1,
	TRANSPORT_WANT_WRITE = -2,
	TRANSPORT_FAILED = -3,	/* the connection is gone; transport_error() says why */
	TRANSPORT_FOREIGN = -4, /* of a handshake: the peer does not speak this at all */
};

struct transport_ops {
	const char *name;
	/* What has to be agreed upon before anything can be read or written: 0 when it is, or an
	 * enum transport_result. NULL if there is no such thing. */
	int (*handshake)(struct transport *t);
	/* Bytes read, 0 at the end of the stream, or an enum transport_result. */
	ssize_t (*read)(struct transport *t, char *to, size_t size);
	/* Bytes written, or an enum transport_result other than TRANSPORT_WANT_READ. What waits to
	 * be written may only grow from one call to the next. */
	ssize_t (*write)(struct transport *t, const struct iovec *iov, int count);
	/* Tell the peer that all has been written: 0, or an enum transport_result. NULL if
	 * shutdown() tells it. */
	int (*end)(struct transport *t);
	/* Nothing more will be written; the peer reads the end of the stream behind the rest. */
	void (*shutdown)(struct transport *t);
	/* The peer's side has all that was written. */
	bool (*is_delivered)(const struct transport *t);
	/* Gives back what init took; the descriptor is closed by the caller. */
	void (*done)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	int fd;
	/* There may be something left to read, bytes or the end, of which no event of the
	 * descriptor is going to tell: as after a read that stopped at its size. */
	bool has_more;
	const char *error; /* see transport_error() */
	void *state;	   /* the transport's own */
};

void transport_init_plain(struct transport *t, int fd);

/* Why the last call failed. */
const char *transport_error(const struct transport *t);

/* What every transport over a socket does to shut down, and to see what was delivered. */
void transport_shutdown_socket(struct transport *t);
bool transport_socket_is_delivered(const struct transport *t);

#endif
