/*
 * Listeners: who gets the jobs of a queue, for those that watch over queues.
 *
 * A listener of a queue is one of these:
 * - an attached worker that has popped from the queue, or waited for it, since it attached. A busy
 *   worker stays a listener.
 * - a client that waits for the queue by BPOP for a worker that is not attached. It is a listener
 *   only while it waits.
 *
 * A client that polls is no listener. An alarm about queues without listeners should therefore last
 * for some minutes before it rings.
 *
 * Each queue that has listeners has an entry with their number. Each attached worker has a sorted
 * list of the entries that it listens to: eight bytes for each, and O(log N) for a pop.
 *
 * Thousands of workers may end together, each with thousands of entries. So the list of a worker
 * that has ended is freed over several turns. Until then its entries still count, and a command
 * that shows the listeners of queues first calls listeners_settle().
 */
#ifndef SERVER_LISTENERS_H
#define SERVER_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/hash.h"
#include "util/str.h"

struct ended_list;
struct heard;
struct server;

STAILQ_HEAD(ended_lists, ended_list);

struct listeners {
	struct hash *by_queue; /* the heard queues of each database */
	unsigned databases;
	struct ended_lists ended; /* the lists of workers that have ended */
	size_t ended_count;	  /* of their entries */
	/* The queues with waiting jobs and without listeners. They are counted by and by. */
	struct {
		unsigned db;
		size_t cursor;
		uint64_t so_far;
		uint64_t count; /* of the last complete round */
	} unheard;
};

/* The queues that an attached worker listens to. Starts zeroed. */
struct listened_list {
	struct heard **items; /* by their addresses */
	size_t count;
	size_t cap;
};

void listeners_init(struct server *s);
/* Call this after all workers and waiting clients have gone. */
void listeners_done(struct server *s);

/* The worker has popped from queues, or waits for them. */
void listeners_add(struct server *s, struct listened_list *list, unsigned db,
		   const struct qless_str *queues, size_t count);
/* The worker is no longer attached. Takes the entries, and leaves the list empty. */
void listeners_end(struct server *s, struct listened_list *list);

/* Frees at most `count` entries of workers that have ended. Returns whether more are left. */
bool listeners_free_some(struct server *s, size_t count);
/* Frees entries of workers that have ended, for a tenth of a millisecond at most. Returns whether
 * none are left: then listeners_count() is right. */
bool listeners_settle(struct server *s);

/* A client without an attached worker begins to wait for a queue. Returns the entry, for the
 * end. */
struct heard *listeners_begin_wait(struct server *s, unsigned db, struct qless_str queue);
void listeners_end_wait(struct server *s, struct heard *heard);

size_t listeners_count(const struct server *s, unsigned db, struct qless_str queue);

/* The name of queue number `i` of a list. */
struct qless_str listeners_queue(const struct listened_list *list, size_t i);

/* Call this once a second: counts some of the queues without listeners. */
void listeners_tick(struct server *s);

#endif
