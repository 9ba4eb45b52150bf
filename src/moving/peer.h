/*
 * A connection to a Redis or a qlessd, for reading keys and writing them.
 *
 * Requests are sent in batches of a configured size. After the first failure every call fails, and
 * peer_error() returns its cause.
 */
#ifndef MOVING_PEER_H
#define MOVING_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/settings.h"
#include "moving/keys.h"

#define PEER_BATCH_MAX	     100000
#define PEER_BATCH_DEFAULT   1000
#define PEER_TIMEOUT_DEFAULT 60

struct peer_options {
	struct client_settings server;
	unsigned batch;
};

struct peer;

/* Sets the defaults, with this port. */
void peer_options_init(struct peer_options *options, int port);
void peer_options_done(struct peer_options *options);

/* Sets the time limit for each reply, and for connecting. */
void peer_options_set_timeout(struct peer_options *options, unsigned seconds);

/* Never returns NULL; peer_error() tells whether connecting failed. Borrows the options. */
struct peer *peer_open(const struct peer_options *options);
void peer_close(struct peer *peer);

/* NULL if nothing has failed. */
const char *peer_error(const struct peer *peer);

/* The number of keys in the database. */
bool peer_count_keys(struct peer *peer, uint64_t *ret_count);

/* Returns whether the database has limits or rules of limits, which qless does not know. False for
 * a peer without such commands. */
bool peer_has_limits(struct peer *peer);

/* Called with a reply that is a text. */
typedef void peer_text_fn(void *arg, struct qless_str text);

/* Ask the same command about each name. Other replies, such as errors, are ignored. */
bool peer_ask_each(struct peer *peer, struct qless_str command, const struct qless_str *names,
		   size_t count, peer_text_fn *each, void *arg);

/* Called with each key; takes ownership of it. */
typedef void peer_key_fn(void *arg, struct key *key);
/* Called after each batch. */
typedef void peer_progress_fn(void *arg, uint64_t keys);

/* Read all keys that begin with "ql:". SCAN may return a key twice, but it is passed on once. A key
 * that is removed in between is skipped. */
bool peer_read(struct peer *peer, peer_key_fn *each, peer_progress_fn *progress, void *arg);

/* Write a key. It is sent with its batch; peer_flush() sends the last batch. */
bool peer_write(struct peer *peer, const struct key *key);
bool peer_flush(struct peer *peer);

#endif
