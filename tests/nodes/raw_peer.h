/*
 * The other end of a connection of a node, in the hand of a test: it sends what a node would not,
 * and does not answer when a node would.
 */
#ifndef TESTS_RAW_PEER_H
#define TESTS_RAW_PEER_H

#include "replication/frame.h"
#include "util/buf.h"

struct raw_peer {
	int fd; /* -1: closed */
	struct buf in;
	size_t taken; /* bytes of `in` that raw_read_frame() has returned */
};

/* Make a socket that listens on a free port of 127.0.0.1. */
int raw_listen(int *ret_port);

/* Connect to a node. */
struct raw_peer raw_connect(int port);
/* Accept a connection of a node, which must come. */
struct raw_peer raw_accept(int listener);
void raw_close(struct raw_peer *peer);

/* Send bytes, which the socket has room for. */
void raw_send(struct raw_peer *peer, const void *bytes, size_t len);
void raw_send_frame(struct raw_peer *peer, const struct frame *frame);
/* Send HELLO from one node to another, of the group of endpoint_options. */
void raw_send_hello(struct raw_peer *peer, uint64_t from, uint64_t to, enum frame_purpose purpose);
struct frame raw_make_hello(uint64_t from, uint64_t to);

/* Wait for a frame other than ALIVE. It is valid until the next call. */
struct frame raw_read_frame(struct raw_peer *peer);
/* Read what has arrived. Returns false at the end of the stream. */
bool raw_read(struct raw_peer *peer);
/* Returns whether the node has closed the connection. Discards what arrives before that. */
bool raw_is_closed(struct raw_peer *peer);

#endif
