/*
 * When the output of a turn of a leader may leave: reads that are never older than a write that
 * another leader has acknowledged.
 *
 * A leader that is cut off goes on for a while after the others have elected another one. Its
 * engine may lack what that one has committed, so what it has read is told only if it led still
 * after the reading. Two things show that:
 *
 * - An entry of the same turn is committed. It was sent after the turn.
 * - A round: a majority of the voters answers in the term of the leader to a question that was sent
 *   after the turn. A voter that elects another leader does that after its answer.
 *
 * One round serves all turns that ended before it was sent, and one is under way at a time. Turns
 * get tickets, which grow by one. A ticket is done when the log is committed as far as it was at
 * the end of its turn, and the round of the turn is answered.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef REPLICATION_ROUNDS_H
#define REPLICATION_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replication/members.h"

struct round_turn {
	uint64_t last;	/* newest entry at the end of the turn */
	uint64_t round; /* 0: none is needed */
};

struct rounds {
	uint64_t self; /* id of this node */
	uint64_t sent; /* number of the newest round; the numbers grow for ever */
	uint64_t answered;
	bool wants_next; /* a turn has ended since the newest round was sent */
	struct {
		uint64_t id;
		uint64_t number;
	} answers[MEMBERS_MAX]; /* the newest of each voter; id 0: unused */

	/* The turns whose tickets are not done, oldest first. */
	struct round_turn *turns;
	size_t begin;
	size_t count;
	size_t cap;
	struct round_turn newest;
	uint64_t last_ticket;
	uint64_t done_ticket;
};

void rounds_init(struct rounds *r, uint64_t self);
void rounds_done(struct rounds *r);

/* This node has begun to lead: nobody waits, and no earlier answer counts. `last` is the newest
 * entry, which is no proof for a later turn. */
void rounds_reset(struct rounds *r, uint64_t last);

/* A turn has ended, in which clients have read if `has_read`. The newest entry is `last`. Returns
 * whether the round `sent` is to be sent now. */
bool rounds_end_turn(struct rounds *r, uint64_t last, bool has_read, const struct members *members);

/* A voter has answered a round in the term of this leader. Returns whether the round `sent` is to
 * be sent now. */
bool rounds_take_answer(struct rounds *r, uint64_t from, uint64_t number,
			const struct members *members);

/* The log is committed that far: find the tickets that are done. */
void rounds_advance(struct rounds *r, uint64_t committed);

/* Returns whether a round is under way. It is sent again after a while, because messages get lost.
 */
static inline bool rounds_are_under_way(const struct rounds *r)
{
	return r->sent != r->answered;
}

#endif
