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
	TRANSPORT_FAILED = -3, /* the connection is gone; errno says why */
};

struct transport_ops {
	const char *name;
	/* Bytes read, 0 at the end of the stream, or an enum transport_result. */
	ssize_t (*read)(struct transport *t, char *to, size_t size);
	/* Bytes written, or an enum transport_result. */
	ssize_t (*write)(struct transport *t, const struct iovec *iov, int count);
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
	void *state; /* the transport's own */
};

void transport_init_plain(struct transport *t, int fd);

#endif
