/*
 * The entries that a node still has to send to another one over the present connection: one range
 * of indices, whatever messages the core has made of them.
 *
 * The core repeats itself. It asks for the same entries again with each heartbeat until there is an
 * answer, and asks for those that follow the ones that are under way. The range takes each message
 * and becomes what is left to do:
 *
 *	  begin            next             end
 *	    |   was sent    |  waits to leave |
 *
 * - Entries after `end` make the range longer, if they follow it.
 * - Entries that were sent since `begin` are not sent again as long as others wait: the connection
 *   delivers them, and the answer is on its way. They are sent again if the other node has refused
 *   a message, or if nothing waits, because it may have ignored them.
 * - Anything else replaces the range.
 *
 * A heartbeat does not wait for entries. The range takes its commit index; a heartbeat of its own
 * is wanted only if an entry is under way in pieces.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef REPLICATION_RANGE_H
#define REPLICATION_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "replication/message.h"

struct range {
	uint64_t term;		/* of the leader that sends; 0 in an unused range */
	uint64_t begin;		/* index of the first entry that was sent without a gap */
	uint64_t next;		/* index of the entry that leaves next */
	uint64_t end;		/* index of the last entry that waits; next - 1 if none waits */
	uint64_t previous_term; /* of the entry before `next` */
	uint64_t commit;
	uint32_t offset; /* bytes of the entry `next` that have left in pieces */
	bool is_refused; /* the other node has refused a message since `begin` */
	bool wants_beat; /* a heartbeat is due between two pieces */
};

/* Make the range that of a new connection, on which nothing was sent. */
void range_clear(struct range *r);

/* Returns whether entries wait. */
static inline bool range_is_waiting(const struct range *r)
{
	return r->term != 0 && r->next <= r->end;
}

/* Take a message of kind CORE_ENTRIES. Returns false if it has no entries and none wait: then it
 * leaves as it is. */
bool range_add(struct range *r, const struct core_message *message);

/* The other node has refused a message of this term. */
void range_refuse(struct range *r, uint64_t term);

/* Describe the next `count` entries, of which the last one has the index next + count - 1, as a
 * message. Without entries it is a heartbeat. Its commit index is never above its last entry. */
struct core_message range_message(const struct range *r, uint32_t count);

/* `count` entries have left whole; the last one has this term. */
void range_advance(struct range *r, uint64_t count, uint64_t last_term);
/* `len` bytes of the entry `next`, which has `size` bytes and this term, have left. */
void range_advance_piece(struct range *r, uint32_t len, uint32_t size, uint64_t term);
/* The heartbeat that was wanted has left. */
void range_note_beat(struct range *r);
/* Forget what waits. */
void range_drop(struct range *r);

#endif
