/*
 * Messages on their way from a channel to its subscribers, and to those of patterns.
 *
 * Most messages arrive at once. But one command can publish 10,000 of them, a message can have
 * thousands of subscribers, and can be compared with thousands of patterns. So the work of a turn
 * is counted, and what is too much for it waits in one of two queues, which later turns work off:
 * one for the subscribers of channels, and one for those of patterns. So expensive patterns delay
 * nobody's channels. Within a queue, messages keep their order.
 *
 * A client gets no message that was published before it subscribed. pubsub-backlog-limit bounds
 * each queue. If a message does not fit, the clients that would miss it are closed, so no loss goes
 * unnoticed.
 */
#ifndef SERVER_DELIVERY_H
#define SERVER_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "server/pubsub.h"

struct pattern_index;
struct server;

STAILQ_HEAD(walk_queue, walk);

struct delivery_queue {
	struct walk_queue walks;
	size_t bytes;
};

struct delivery {
	struct server *server;
	struct pattern_index *index;
	struct delivery_queue queues[2]; /* by enum pubsub_kind */
	uint64_t last_message;		 /* number of the latest message */
	size_t units_left;		 /* for messages that arrive at once, in this turn */
};

void delivery_init(struct delivery *d, struct pattern_index *index);
/* Drops all messages. */
void delivery_done(struct delivery *d);

/* Publishes a message; see pubsub_publish(). */
void delivery_publish(struct delivery *d, struct qless_str channel, struct qless_str payload,
		      struct publication *publication);

/* A subscription or a channel is about to be freed. */
void delivery_forget_subscription(struct delivery *d, const struct subscription *sub);
void delivery_forget_channel(struct delivery *d, struct channel *ch);

/* Works off a part of both queues: less than a tenth of a millisecond, in most cases. */
void delivery_run_part(struct delivery *d);

static inline bool delivery_is_idle(const struct delivery *d)
{
	return STAILQ_EMPTY(&d->queues[0].walks) && STAILQ_EMPTY(&d->queues[1].walks);
}

/* A new turn begins. */
void delivery_begin_turn(struct delivery *d);

#endif
