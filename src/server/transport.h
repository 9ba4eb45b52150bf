/*
 * The transport of a connection: the calls through which it uses a socket. There is a plain
 * transport and an encrypted one (tls_session.h).
 */
#ifndef SERVER_TRANSPORT_H
#define SERVER_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct transport;

/* Results of calls that moved no bytes. */
enum transport_result {
	TRANSPORT_WANT_READ = -1,
	TRANSPORT_WANT_WRITE = -2,
	TRANSPORT_FAILED = -3,	/* the connection is gone; transport_error() says why */
	TRANSPORT_FOREIGN = -4, /* handshake: the peer speaks another protocol */
};

struct transport_ops {
	const char *name;
	/* Make a step of the handshake. Returns 0 when it is complete, or an enum
	 * transport_result. NULL if the transport has no handshake. */
	int (*handshake)(struct transport *t);
	/* Returns the number of bytes read, 0 at the end of the stream, or an enum
	 * transport_result. */
	ssize_t (*read)(struct transport *t, char *to, size_t size);
	/* Returns the number of bytes written, or an enum transport_result other than
	 * TRANSPORT_WANT_READ. From one call to the next, the output may only grow. */
	ssize_t (*write)(struct transport *t, const struct iovec *iov, int count);
	/* Announce the end to the peer. Returns 0 or an enum transport_result. NULL if
	 * shutdown() announces it. */
	int (*end)(struct transport *t);
	/* Nothing more is written: the peer reads the end of the stream after the rest. */
	void (*shutdown)(struct transport *t);
	/* Returns whether the peer's kernel has received all output. */
	bool (*is_delivered)(const struct transport *t);
	/* Free the transport. The caller closes the descriptor. */
	void (*done)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	int fd;
	/* There may be bytes, or the end, that no event will announce. For example after a read
	 * that filled its buffer. */
	bool has_more;
	const char *error; /* see transport_error() */
	void *state;	   /* private state of the transport */
};

void transport_init_plain(struct transport *t, int fd);

/* Returns why the last call failed. */
const char *transport_error(const struct transport *t);

/* The shutdown and is_delivered calls of every transport over a socket. */
void transport_shutdown_socket(struct transport *t);
bool transport_socket_is_delivered(const struct transport *t);

#endif
