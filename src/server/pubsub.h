/*
 * Channels, patterns and their subscribers. All databases share them.
 */
#ifndef SERVER_PUBSUB_H
#define SERVER_PUBSUB_H

#include "server/client.h"
#include "util/hash.h"

enum pubsub_kind {
	PUBSUB_CHANNEL,
	PUBSUB_PATTERN,
};

/* A channel or pattern with at least one subscriber. */
struct channel {
	struct hash_node node;
	enum pubsub_kind kind;
	unsigned count; /* number of subscriptions */
	struct subscription_list subscriptions;
	TAILQ_ENTRY(channel) link; /* for patterns: see pattern_index.h */
	struct qless_str name;
	char text[];
};

TAILQ_HEAD(pattern_list, channel);

struct subscription {
	struct hash_node node;
	struct client *client;
	struct channel *channel;
	TAILQ_ENTRY(subscription) by_channel;
	TAILQ_ENTRY(subscription) by_client;
	size_t key_len;
	char key[]; /* the client's id, the kind and the name, for lookup by hash */
};

struct pubsub *pubsub_new(uint64_t hash_seed);
/* Call this after all clients have ended. */
void pubsub_free(struct pubsub *p);

/* Checks no limits. Returns false if the client is subscribed already. A pattern has at most
 * GLOB_MAX_BYTES. */
bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct qless_str name);
/* Returns false if the client is not subscribed. */
bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct qless_str name);
bool pubsub_is_subscribed(const struct client *c, enum pubsub_kind kind, struct qless_str name);
/* End all subscriptions of a client. */
void pubsub_forget(struct client *c);

/* Send a message to all subscribers. Returns the number of subscriptions it matched. */
unsigned pubsub_publish(struct server *s, struct qless_str channel, struct qless_str payload);

/* Returns the channel of that name, or NULL if it has no subscribers. */
const struct channel *pubsub_find(const struct pubsub *p, struct qless_str name);
/* Visits some channels, and returns the cursor for the next call, as in hash_scan(). Patterns are
 * not visited. */
typedef void pubsub_visit_fn(const struct channel *channel, void *arg);
uint32_t pubsub_scan_channels(const struct pubsub *p, uint32_t cursor, pubsub_visit_fn *visit,
			      void *arg);
/* Returns whether there are no subscriptions. */
bool pubsub_is_empty(const struct pubsub *p);
unsigned pubsub_channel_count(const struct pubsub *p);
unsigned pubsub_pattern_count(const struct pubsub *p);
/* If the pattern has no subscribers: the number of patterns with the same literal beginning.
 * Otherwise 0, because one more subscriber adds no pattern. */
unsigned pubsub_similar_patterns(const struct pubsub *p, struct qless_str pattern);

#endif
