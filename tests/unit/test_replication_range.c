/*
 * The range of entries that a node still has to send to another one.
 */
#include "replication/range.h"
#include "unit.h"

static struct range range;

void setUp(void)
{
	range_clear(&range);
}

void tearDown(void)
{
}

static bool add(uint64_t term, uint64_t first, uint32_t count, uint64_t commit)
{
	struct core_message m = {
		.kind = CORE_ENTRIES,
		.term = term,
		.entries = { .previous_index = first - 1,
			     .previous_term = 1,
			     .commit = commit,
			     .count = count },
	};

	return range_add(&range, &m);
}

static void assert_waits(uint64_t first, uint64_t last)
{
	TEST_ASSERT_TRUE(range_is_waiting(&range));
	TEST_ASSERT_EQUAL_UINT64(first, range.next);
	TEST_ASSERT_EQUAL_UINT64(last, range.end);
}

static void a_new_range_waits_for_nothing(void)
{
	TEST_ASSERT_FALSE(range_is_waiting(&range));
}

static void entries_wait_until_they_have_left(void)
{
	TEST_ASSERT_TRUE(add(2, 5, 3, 4));
	assert_waits(5, 7);
	range_advance(&range, 2, 2);
	assert_waits(7, 7);
	range_advance(&range, 1, 2);
	TEST_ASSERT_FALSE(range_is_waiting(&range));
}

static void entries_that_follow_make_the_range_longer(void)
{
	add(2, 5, 3, 4);
	TEST_ASSERT_TRUE(add(2, 8, 10, 4));
	assert_waits(5, 17);
}

static void a_message_says_which_entry_is_before_those_that_leave(void)
{
	struct core_message m;

	add(2, 5, 3, 4);
	m = range_message(&range, 2);
	TEST_ASSERT_EQUAL_INT(CORE_ENTRIES, m.kind);
	TEST_ASSERT_EQUAL_UINT64(2, m.term);
	TEST_ASSERT_EQUAL_UINT64(4, m.entries.previous_index);
	TEST_ASSERT_EQUAL_UINT64(1, m.entries.previous_term);
	TEST_ASSERT_EQUAL_UINT32(2, m.entries.count);
	range_advance(&range, 2, 9);
	m = range_message(&range, 1);
	TEST_ASSERT_EQUAL_UINT64(6, m.entries.previous_index);
	TEST_ASSERT_EQUAL_UINT64(9, m.entries.previous_term);
}

static void a_message_never_commits_more_than_its_last_entry(void)
{
	add(2, 5, 10, 12);
	TEST_ASSERT_EQUAL_UINT64(7, range_message(&range, 3).entries.commit);
	TEST_ASSERT_EQUAL_UINT64(12, range_message(&range, 10).entries.commit);
	TEST_ASSERT_EQUAL_UINT64(4, range_message(&range, 0).entries.commit);
}

static void a_heartbeat_leaves_as_it_is_if_nothing_waits(void)
{
	TEST_ASSERT_FALSE(add(2, 5, 0, 4));
	add(2, 5, 1, 4);
	range_advance(&range, 1, 2);
	TEST_ASSERT_FALSE(add(2, 6, 0, 5));
}

static void a_heartbeat_gives_its_commit_index_to_entries_that_wait(void)
{
	add(2, 5, 10, 4);
	TEST_ASSERT_TRUE(add(2, 15, 0, 9));
	TEST_ASSERT_EQUAL_UINT64(9, range_message(&range, 10).entries.commit);
	TEST_ASSERT_FALSE(range.wants_beat);
	/* An older one does not take it back. */
	add(2, 15, 0, 6);
	TEST_ASSERT_EQUAL_UINT64(9, range_message(&range, 10).entries.commit);
}

static void a_heartbeat_leaves_between_the_pieces_of_an_entry(void)
{
	struct core_message m;

	add(2, 5, 2, 4);
	range_advance_piece(&range, 100, 250, 2);
	TEST_ASSERT_FALSE(range.wants_beat);
	TEST_ASSERT_TRUE(add(2, 7, 0, 6));
	TEST_ASSERT_TRUE(range.wants_beat);
	m = range_message(&range, 0);
	TEST_ASSERT_EQUAL_UINT64(4, m.entries.previous_index);
	TEST_ASSERT_EQUAL_UINT64(4, m.entries.commit);
	range_note_beat(&range);
	TEST_ASSERT_FALSE(range.wants_beat);
}

static void an_entry_has_left_with_its_last_piece(void)
{
	add(2, 5, 2, 4);
	range_advance_piece(&range, 100, 250, 3);
	TEST_ASSERT_EQUAL_UINT32(100, range.offset);
	assert_waits(5, 6);
	range_advance_piece(&range, 150, 250, 3);
	TEST_ASSERT_EQUAL_UINT32(0, range.offset);
	assert_waits(6, 6);
	TEST_ASSERT_EQUAL_UINT64(3, range.previous_term);
}

static void entries_that_were_sent_are_not_sent_twice_while_others_wait(void)
{
	add(2, 5, 10, 4);
	range_advance(&range, 4, 2);
	TEST_ASSERT_TRUE(add(2, 5, 12, 4));
	assert_waits(9, 16);
	TEST_ASSERT_TRUE(add(2, 7, 2, 4));
	assert_waits(9, 16);
}

static void entries_that_were_sent_are_sent_again_if_nothing_waits(void)
{
	add(2, 5, 3, 4);
	range_advance(&range, 3, 2);
	TEST_ASSERT_TRUE(add(2, 5, 3, 4));
	assert_waits(5, 7);
}

static void entries_that_were_sent_are_sent_again_after_a_refusal(void)
{
	add(2, 5, 10, 4);
	range_advance(&range, 4, 2);
	range_refuse(&range, 2);
	TEST_ASSERT_TRUE(add(2, 6, 9, 4));
	assert_waits(6, 14);
	/* Once. */
	range_advance(&range, 2, 2);
	add(2, 6, 9, 4);
	assert_waits(8, 14);
}

static void a_refusal_does_not_skip_entries_that_wait(void)
{
	add(2, 5, 10, 4);
	range_advance(&range, 4, 2);
	range_refuse(&range, 2);
	TEST_ASSERT_TRUE(add(2, 15, 5, 4));
	assert_waits(9, 19);
}

static void a_refusal_of_an_earlier_term_is_ignored(void)
{
	add(2, 5, 10, 4);
	range_advance(&range, 4, 2);
	range_refuse(&range, 1);
	add(2, 6, 9, 4);
	assert_waits(9, 14);
}

static void entries_before_the_first_one_replace_the_range(void)
{
	add(2, 5, 10, 4);
	range_advance(&range, 4, 2);
	TEST_ASSERT_TRUE(add(2, 3, 6, 4));
	assert_waits(3, 8);
	TEST_ASSERT_EQUAL_UINT64(3, range.begin);
}

static void entries_after_a_gap_replace_the_range(void)
{
	add(2, 5, 10, 4);
	TEST_ASSERT_TRUE(add(2, 16, 3, 4));
	assert_waits(16, 18);
	TEST_ASSERT_EQUAL_UINT64(16, range.begin);
}

static void a_higher_term_replaces_the_range(void)
{
	add(2, 5, 10, 4);
	range_advance_piece(&range, 100, 250, 2);
	TEST_ASSERT_TRUE(add(3, 5, 2, 4));
	assert_waits(5, 6);
	TEST_ASSERT_EQUAL_UINT32(0, range.offset);
	TEST_ASSERT_EQUAL_UINT64(3, range_message(&range, 1).term);
}

static void a_heartbeat_of_a_higher_term_drops_what_waits(void)
{
	add(2, 5, 10, 4);
	TEST_ASSERT_FALSE(add(3, 15, 0, 4));
	TEST_ASSERT_FALSE(range_is_waiting(&range));
}

static void a_message_of_an_earlier_term_changes_nothing(void)
{
	add(3, 5, 10, 4);
	TEST_ASSERT_TRUE(add(2, 15, 3, 14));
	assert_waits(5, 14);
	TEST_ASSERT_EQUAL_UINT64(4, range_message(&range, 10).entries.commit);
}

static void an_entry_in_pieces_goes_on_when_it_is_asked_for_again(void)
{
	add(2, 5, 1, 4);
	range_advance_piece(&range, 100, 250, 2);
	for (int i = 0; i < 3; i++) {
		TEST_ASSERT_TRUE(add(2, 5, 1, 4));
		TEST_ASSERT_EQUAL_UINT32(100, range.offset);
		TEST_ASSERT_TRUE(range.wants_beat);
		range_note_beat(&range);
	}
	range_refuse(&range, 2);
	add(2, 5, 1, 4);
	TEST_ASSERT_EQUAL_UINT32(100, range.offset);
	/* The entry before it is asked for, so the other node does not have it. */
	range_refuse(&range, 2);
	add(2, 4, 2, 3);
	TEST_ASSERT_EQUAL_UINT32(0, range.offset);
	assert_waits(4, 5);
}

static void what_is_dropped_can_be_asked_for_again(void)
{
	add(2, 5, 10, 4);
	range_advance(&range, 4, 2);
	range_drop(&range);
	TEST_ASSERT_FALSE(range_is_waiting(&range));
	TEST_ASSERT_TRUE(add(2, 7, 3, 4));
	assert_waits(7, 9);
}

/*
 * A leader of the usual kind, a follower that ignores or loses what it likes, and the range between
 * them. The leader probes with the same entries until it is answered, and then sends ahead. The
 * follower must get all entries in the end, and must never be told to commit what it was not sent.
 */

#define LOG_ENTRIES 400

struct game {
	unsigned long long seed;
	uint64_t leader_next;
	uint64_t match;
	bool is_probing;
	uint64_t follower_last;
	int refusals; /* on their way to the leader */
	uint64_t refused_last;
};

static void lead(struct game *g)
{
	uint64_t first = g->leader_next;
	uint64_t count = first > LOG_ENTRIES ? 0 : 1 + unit_random(&g->seed) % 40;

	if (first + count > LOG_ENTRIES + 1)
		count = LOG_ENTRIES + 1 - first;
	add(2, first, (uint32_t)count, unit_random(&g->seed) % (LOG_ENTRIES + 1));
	if (!g->is_probing)
		g->leader_next += count;
}

static void answer(struct game *g)
{
	if (g->refusals > 0) {
		g->refusals--;
		range_refuse(&range, 2);
		g->is_probing = true;
		g->leader_next = g->refused_last + 1;
		return;
	}
	if (g->follower_last > g->match) {
		g->match = g->follower_last;
		if (g->is_probing)
			g->leader_next = g->match + 1;
		g->is_probing = false;
	}
}

static void deliver(struct game *g, struct core_message m, bool may_ignore)
{
	TEST_ASSERT_TRUE(m.entries.commit <= m.entries.previous_index + m.entries.count);
	if (may_ignore && unit_random(&g->seed) % 16 == 0)
		return;
	if (m.entries.previous_index > g->follower_last) {
		g->refusals++;
		g->refused_last = g->follower_last;
		return;
	}
	if (m.entries.previous_index + m.entries.count > g->follower_last)
		g->follower_last = m.entries.previous_index + m.entries.count;
}

static void send_some(struct game *g, bool may_ignore)
{
	uint64_t left = range.end - range.next + 1;
	uint32_t count = (uint32_t)(1 + unit_random(&g->seed) % (left < 20 ? left : 20));

	if (range.wants_beat) {
		deliver(g, range_message(&range, 0), may_ignore);
		range_note_beat(&range);
	}
	/* Every tenth entry is large. */
	if (range.offset != 0 || range.next % 10 == 0) {
		struct core_message whole = range_message(&range, 1);

		range_advance_piece(&range, 50, 150, 2);
		if (range.offset == 0)
			deliver(g, whole, may_ignore);
		return;
	}
	if (range.next / 10 != (range.next + count) / 10)
		count = (uint32_t)(10 - range.next % 10);
	deliver(g, range_message(&range, count), may_ignore);
	range_advance(&range, count, 2);
}

static void a_follower_gets_everything_whatever_it_ignores(void)
{
	for (unsigned seed = 1; seed <= 500; seed++) {
		struct game g = { .seed = seed, .leader_next = 1, .is_probing = true };
		int steps = 0;

		g.leader_next = 1 + seed % 50;
		range_clear(&range);
		while (g.follower_last < LOG_ENTRIES) {
			unsigned kind = (unsigned)(unit_random(&g.seed) % 8);
			/* After a while the follower is a good one. */
			bool may_ignore = steps < 2000;

			TEST_ASSERT_LESS_THAN_INT(20000, ++steps);
			if (kind == 0)
				lead(&g);
			else if (kind < 4)
				answer(&g);
			else if (range_is_waiting(&range))
				send_some(&g, may_ignore);
			/* A heartbeat that finds an entry missing. */
			if (kind == 5 && !range_is_waiting(&range) && g.leader_next > 1)
				deliver(&g,
					(struct core_message){
						.entries = { .previous_index =
								     g.leader_next - 1 } },
					false);
		}
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_new_range_waits_for_nothing);
	RUN(entries_wait_until_they_have_left);
	RUN(entries_that_follow_make_the_range_longer);
	RUN(a_message_says_which_entry_is_before_those_that_leave);
	RUN(a_message_never_commits_more_than_its_last_entry);
	RUN(a_heartbeat_leaves_as_it_is_if_nothing_waits);
	RUN(a_heartbeat_gives_its_commit_index_to_entries_that_wait);
	RUN(a_heartbeat_leaves_between_the_pieces_of_an_entry);
	RUN(an_entry_has_left_with_its_last_piece);
	RUN(entries_that_were_sent_are_not_sent_twice_while_others_wait);
	RUN(entries_that_were_sent_are_sent_again_if_nothing_waits);
	RUN(entries_that_were_sent_are_sent_again_after_a_refusal);
	RUN(a_refusal_does_not_skip_entries_that_wait);
	RUN(a_refusal_of_an_earlier_term_is_ignored);
	RUN(entries_before_the_first_one_replace_the_range);
	RUN(entries_after_a_gap_replace_the_range);
	RUN(a_higher_term_replaces_the_range);
	RUN(a_heartbeat_of_a_higher_term_drops_what_waits);
	RUN(a_message_of_an_earlier_term_changes_nothing);
	RUN(an_entry_in_pieces_goes_on_when_it_is_asked_for_again);
	RUN(what_is_dropped_can_be_asked_for_again);
	RUN(a_follower_gets_everything_whatever_it_ignores);
	return UNIT_RESULT();
}
