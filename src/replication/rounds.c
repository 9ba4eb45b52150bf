#include "replication/rounds.h"

#include <assert.h>
#include <string.h>

#include "util/mem.h"
#include "util/minmax.h"

void rounds_init(struct rounds *r, uint64_t self)
{
	*r = (struct rounds){ .self = self };
}

void rounds_done(struct rounds *r)
{
	free(r->turns);
}

/* Returns whether a majority of the voters has answered this round. This node agrees with itself.
 */
static bool is_answered(const struct rounds *r, uint64_t number, const struct members *members)
{
	const struct member *self = members_find(members, r->self);
	unsigned count = self != NULL && self->is_voter;

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		const struct member *other = members_find(members, r->answers[i].id);

		if (other != NULL && other->is_voter && other->id != r->self &&
		    r->answers[i].number >= number)
			count++;
	}
	return count > members_voters(members) / 2;
}

/* Begin a round if one is wanted and none is under way. */
static bool begin_round(struct rounds *r)
{
	if (!r->wants_next || rounds_are_under_way(r))
		return false;
	r->wants_next = false;
	r->sent++;
	return true;
}

static void add_turn(struct rounds *r, struct round_turn turn)
{
	if (r->begin != 0 && r->begin + r->count == r->cap) {
		memmove(r->turns, r->turns + r->begin, r->count * sizeof *r->turns);
		r->begin = 0;
	}
	r->turns = mem_grow(r->turns, &r->cap, r->begin + r->count + 1, sizeof *r->turns);
	r->turns[r->begin + r->count++] = turn;
	r->newest = turn;
	r->last_ticket++;
}

void rounds_reset(struct rounds *r, uint64_t last)
{
	r->answered = r->sent;
	r->wants_next = false;
	r->begin = r->count = 0;
	r->done_ticket = r->last_ticket;
	add_turn(r, (struct round_turn){ .last = last });
}

bool rounds_end_turn(struct rounds *r, uint64_t last, bool has_read, const struct members *members)
{
	struct round_turn turn = { .last = last, .round = r->newest.round };

	assert(last >= r->newest.last);
	if (has_read && last == r->newest.last && members_voters(members) > 1) {
		r->wants_next = true;
		turn.round = r->sent + 1;
	}
	if (turn.last != r->newest.last || turn.round != r->newest.round)
		add_turn(r, turn);
	return begin_round(r);
}

bool rounds_take_answer(struct rounds *r, uint64_t from, uint64_t number,
			const struct members *members)
{
	unsigned place = MEMBERS_MAX;

	if (members_find(members, from) == NULL || number > r->sent)
		return false;
	for (unsigned i = 0; i < MEMBERS_MAX && place == MEMBERS_MAX; i++) {
		if (r->answers[i].id == from)
			place = i;
	}
	/* The place of a node that is no member any more is free. */
	for (unsigned i = 0; i < MEMBERS_MAX && place == MEMBERS_MAX; i++) {
		if (members_find(members, r->answers[i].id) == NULL)
			place = i;
	}
	assert(place != MEMBERS_MAX);
	if (r->answers[place].id != from)
		r->answers[place].number = 0;
	r->answers[place].id = from;
	r->answers[place].number = max_u64(r->answers[place].number, number);
	if (!rounds_are_under_way(r) || !is_answered(r, r->sent, members))
		return false;
	r->answered = r->sent;
	return begin_round(r);
}

void rounds_advance(struct rounds *r, uint64_t committed)
{
	while (r->count != 0 && r->turns[r->begin].last <= committed &&
	       r->turns[r->begin].round <= r->answered) {
		r->begin++;
		r->count--;
		r->done_ticket++;
	}
	if (r->count == 0)
		r->begin = 0;
}
