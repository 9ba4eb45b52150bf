/*
 * A Redis, or a qlessd, at the other end of a connection: reading its keys, and writing some.
 *
 * Requests go out in batches, each as long as asked for. The first failure ends it: every call
 * after that fails, and peer_error() says what it was.
 */
#ifndef MOVING_PEER_H
#define MOVING_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "moving/keys.h"

#define PEER_BATCH_MAX	     100000
#define PEER_BATCH_DEFAULT   1000
#define PEER_TIMEOUT_DEFAULT 60

struct peer_options {
	const char *host; /* a name, or the path of a socket if `port` is 0 */
	int port;
	const char *user;     /* NULL: none */
	const char *password; /* NULL: none */
	unsigned db;
	unsigned batch;
	unsigned timeout_seconds; /* for each read or write */
};

struct peer;

/* "host", "host:port", "[v6]:port" or the path of a socket. False if it is none of these. What
 * names no port is at the one that is in the options. The host is in `text`, which is written to.
 */
bool peer_parse_address(char *text, struct peer_options *options);

/* Never NULL; peer_error() says if there is no connection. Borrows the options' strings. */
struct peer *peer_open(const struct peer_options *options);
void peer_close(struct peer *peer);

/* NULL as long as all is well. */
const char *peer_error(const struct peer *peer);

/* How many keys its database has. */
bool peer_count_keys(struct peer *peer, uint64_t *ret_count);

/* Called with each key, which is the callee's, and may be dropped. */
typedef void peer_key_fn(void *arg, struct key *key);
/* Called after each batch. */
typedef void peer_progress_fn(void *arg, uint64_t keys);

/* Read all keys that begin with "ql:". A key that is found twice, as SCAN may do, is given once. A
 * key that vanishes in between is not given. */
bool peer_read(struct peer *peer, peer_key_fn *each, peer_progress_fn *progress, void *arg);

/* Write a key; it is sent with some batch, peer_flush() sends the last. */
bool peer_write(struct peer *peer, const struct key *key);
bool peer_flush(struct peer *peer);

#endif
