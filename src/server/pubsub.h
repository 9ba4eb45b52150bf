/*
 * Channels, patterns and their subscribers. All databases share them.
 *
 * A client may have thousands of subscriptions. When it ends, its subscriber leaves it at once, and
 * receives nothing from then on. The subscriptions are freed over several turns.
 *
 * When the rights of a user change, a client ends if it has a subscription that the user could no
 * longer make. To find out, all of its subscriptions are checked over several turns. Until then
 * each message to the client is checked, so the change takes effect at once.
 */
#ifndef SERVER_PUBSUB_H
#define SERVER_PUBSUB_H

#include "server/client.h"
#include "util/hash.h"

enum pubsub_kind {
	PUBSUB_CHANNEL,
	PUBSUB_PATTERN,
};

TAILQ_HEAD(subscription_list, subscription);
LIST_HEAD(walk_list, walk);

/* A channel or pattern with at least one subscription. */
struct channel {
	struct hash_node node;
	enum pubsub_kind kind;
	unsigned count; /* number of subscriptions, including those that are being freed */
	struct subscription_list subscriptions;
	struct walk_list walks;	   /* messages that wait here: see delivery.c */
	TAILQ_ENTRY(channel) link; /* for patterns: see pattern_index.h */
	struct qless_str name;
	char text[];
};

TAILQ_HEAD(pattern_list, channel);

struct subscription {
	struct hash_node node;
	struct subscriber *subscriber;
	struct channel *channel;
	TAILQ_ENTRY(subscription) by_channel;
	TAILQ_ENTRY(subscription) by_subscriber;
	uint64_t since; /* number of the latest message before it */
	size_t key_len;
	char key[]; /* the subscriber's id, the kind and the name, for lookup by hash */
};

/* The subscriptions of a client. */
struct subscriber {
	struct client *client; /* NULL: it has ended, and the subscriptions are being freed */
	uint64_t id;	       /* is never used again */
	struct subscription_list channels;
	struct subscription_list patterns;
	struct subscription *unchecked; /* the next one to be checked; NULL: there is none */
	TAILQ_ENTRY(subscriber) link;	/* of those to be checked, or of those that have ended */
};

struct pubsub *pubsub_new(struct server *s, uint64_t hash_seed);
/* Frees the rest of the subscriptions. Call this after all clients have ended. */
void pubsub_free(struct pubsub *p);

/* Checks no limits. Returns false if the client is subscribed already. A pattern has at most
 * GLOB_MAX_BYTES. */
bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct qless_str name);
/* Returns false if the client is not subscribed. */
bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct qless_str name);
bool pubsub_is_subscribed(const struct client *c, enum pubsub_kind kind, struct qless_str name);
/* Returns whether the client has subscriptions of that kind, and the name of one of them. The name
 * is valid until the subscription ends. */
bool pubsub_first(const struct client *c, enum pubsub_kind kind, struct qless_str *ret_name);
/* Ends all subscriptions of a client in constant time. Until pubsub_free_some() has freed them,
 * they count in their channels. */
void pubsub_forget(struct client *c);
/* Frees at most `count` subscriptions of clients that have ended. Returns whether more are left. */
bool pubsub_free_some(struct pubsub *p, size_t count);
/* Returns the number of subscriptions of clients that have ended. */
size_t pubsub_ended_count(const struct pubsub *p);
/* The rights of the client's user have changed: checks all subscriptions, in this turn or in later
 * ones. */
void pubsub_check(struct client *c);
/* Checks subscriptions at once, unless that takes long. */
void pubsub_check_now(struct server *s);
/* Returns whether the user of the client could make the subscription. */
bool pubsub_is_allowed(const struct subscription *sub);
/* Returns the number of clients with subscriptions to be checked. */
size_t pubsub_unchecked_count(const struct pubsub *p);

/* Counts the deliveries of a message. It must not move in memory before publication_end(), except
 * by publication_move(). */
struct publication {
	unsigned count;
	struct walk *walks[2]; /* the parts of the message that wait in a queue; see delivery.c */
};

/* Sends a message to all subscribers, of which some may get it in later turns. All zero,
 * `publication` then counts the subscriptions that the message has reached. It may be NULL. */
void pubsub_publish(struct server *s, struct qless_str channel, struct qless_str payload,
		    struct publication *publication);
/* Stops counting. */
void publication_end(struct publication *publication);
void publication_move(struct publication *to, const struct publication *from);
/* Returns whether the message has reached all its subscribers. */
static inline bool publication_is_over(const struct publication *publication)
{
	return publication->walks[0] == NULL && publication->walks[1] == NULL;
}

/* Checks subscriptions, and sends messages that wait. Returns whether there is more to do. Call
 * this at most once in a turn, and only if turn.has_pubsub is set. */
bool pubsub_run(struct server *s);
/* Sends a few of them. */
void pubsub_run_part(struct server *s);
/* Returns the bytes of the messages that wait. */
size_t pubsub_backlog_bytes(const struct server *s);

/* Returns the channel of that name, or NULL if it has no subscribers. */
struct channel *pubsub_find(const struct pubsub *p, struct qless_str name);
/* Visits some channels, and returns the cursor for the next call, as in hash_scan(). Patterns are
 * not visited. */
typedef void pubsub_visit_fn(const struct channel *channel, void *arg);
uint32_t pubsub_scan_channels(const struct pubsub *p, uint32_t cursor, pubsub_visit_fn *visit,
			      void *arg);
/* Returns whether there are no subscriptions. */
bool pubsub_is_empty(const struct pubsub *p);
/* Whether a subscription may match the channel of a queue, which begins with this prefix. */
#define PUBSUB_QUEUE_PREFIX "ql:q:"
bool pubsub_hears_queues(const struct pubsub *p);
unsigned pubsub_channel_count(const struct pubsub *p);
unsigned pubsub_pattern_count(const struct pubsub *p);
/* If the pattern has no subscribers: the number of patterns with the same literal beginning.
 * Otherwise 0, because one more subscriber adds no pattern. */
unsigned pubsub_similar_patterns(const struct pubsub *p, struct qless_str pattern);

#endif
