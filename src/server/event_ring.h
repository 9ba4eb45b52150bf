/*
 * The latest events, for clients that follow them by HTTP.
 *
 * Each event has an id. The ids of a ring are consecutive, and those of a later run of the server
 * are larger, so a client that comes back names the last event that it has seen. A reader is
 * nothing but such an id: readers cost the ring nothing.
 *
 * The ring keeps as many bytes of events as its owner allows. Events leave it only when the owner
 * trims it, so a single command cannot push out events of its own turn before anyone has read them.
 *
 * The text for clients is made when an event is read for the first time, once for all readers. It
 * is a message of server-sent events:
 *
 *	id: 1700000000000042
 *	event: put
 *	data: {"jid":"a","event":"put","queue":"mail"}
 */
#ifndef SERVER_EVENT_RING_H
#define SERVER_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

/* Queues of one event: a job that moves on belongs to both. */
#define RING_EVENT_QUEUES 2

struct ring_entry;

/* The fields are for reading alone. */
struct event_ring {
	uint64_t first; /* id of the oldest event that is there */
	uint64_t next;	/* id of the next event; the ring is empty if `first` is that, too */
	size_t bytes;
	uint64_t dropped; /* events that have left */
	struct ring_entry **entries;
	size_t cap; /* 0 or a power of two; the place of an event is its id modulo this */
};

/* An event that is read. The slices are valid until the ring changes. */
struct ring_event {
	struct qless_str kind; /* such as `put` */
	struct qless_str jid;  /* as a string of JSON, in quotes; empty if it is about no job */
	struct qless_str queues[RING_EVENT_QUEUES];
	size_t queue_count;
	struct qless_str message; /* with the empty line after it */
};

/* Begins without events. The first one gets the id `first`. */
void event_ring_init(struct event_ring *ring, uint64_t first);
void event_ring_done(struct event_ring *ring);

/* Adds an event, which is an object in JSON without line breaks and has the member `event`. */
void event_ring_add(struct event_ring *ring, struct qless_str payload);
/* The event that was added last is about a job of this queue. A further queue than
 * RING_EVENT_QUEUES is ignored. */
void event_ring_add_queue(struct event_ring *ring, struct qless_str queue);

/* Drops the oldest events until the rest has at most `max` bytes. The newest one stays. */
void event_ring_trim(struct event_ring *ring, size_t max);

/* Returns false if there is no event of that id: it has left, or has not happened. */
bool event_ring_read(struct event_ring *ring, uint64_t id, struct ring_event *ret_event);

/* Returns whether a reader that has seen the event `id` can go on without a gap. */
static inline bool event_ring_continues(const struct event_ring *ring, uint64_t id)
{
	return id < ring->next && id + 1 >= ring->first;
}

#endif
