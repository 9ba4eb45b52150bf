/*
 * Channels, patterns, and who listens to them. Shared by all databases.
 */
#ifndef SERVER_PUBSUB_H
#define SERVER_PUBSUB_H

#include "server/client.h"
#include "util/hash.h"

enum pubsub_kind {
	PUBSUB_CHANNEL,
	PUBSUB_PATTERN,
};

/* A channel or pattern that somebody listens to. */
struct channel {
	struct hash_node node;
	enum pubsub_kind kind;
	unsigned count; /* of subscriptions */
	struct subscription_list subscriptions;
	TAILQ_ENTRY(channel) link; /* patterns: all of them, in the order of their making */
	struct qless_str name;
	char text[];
};

struct subscription {
	struct hash_node node;
	struct client *client;
	struct channel *channel;
	TAILQ_ENTRY(subscription) by_channel;
	TAILQ_ENTRY(subscription) by_client;
	size_t key_len;
	char key[]; /* the client's id, the kind, the name: found without a walk */
};

struct pubsub *pubsub_new(uint64_t hash_seed);
/* All clients have been forgotten by then. */
void pubsub_free(struct pubsub *p);

/* False if the client listens to it already. */
bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct qless_str name);
/* False if the client does not listen to it. */
bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct qless_str name);
/* End all subscriptions of a client. */
void pubsub_forget(struct client *c);

/* Send to everybody who listens; returns to how many subscriptions. */
unsigned pubsub_publish(struct server *s, struct qless_str channel, struct qless_str payload);

/* The channel of that name, or NULL if nobody listens to it. */
const struct channel *pubsub_find(const struct pubsub *p, struct qless_str name);
/* All channels (not patterns) that match; NULL for all. */
typedef void pubsub_visit_fn(const struct channel *channel, void *arg);
void pubsub_visit_channels(const struct pubsub *p, const struct qless_str *pattern,
			   pubsub_visit_fn *visit, void *arg);
/* True while nobody is subscribed to anything. */
bool pubsub_is_empty(const struct pubsub *p);
unsigned pubsub_channel_count(const struct pubsub *p);
unsigned pubsub_pattern_count(const struct pubsub *p);

#endif
