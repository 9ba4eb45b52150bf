/*
 * Rounds: when the output of a turn of a leader may leave.
 */
#include "replication/rounds.h"
#include "unit.h"

static struct rounds rounds;
static struct members members;

void setUp(void)
{
	rounds_init(&rounds, 1);
	memset(&members, 0, sizeof members);
	for (uint64_t id = 1; id <= 3; id++) {
		char address[] = "node-0:1";

		address[5] = (char)('0' + id);
		TEST_ASSERT_TRUE(members_set(&members, id, address, /* is_voter= */ true));
	}
}

void tearDown(void)
{
	rounds_done(&rounds);
}

static bool end_turn(uint64_t last, bool has_read)
{
	return rounds_end_turn(&rounds, last, has_read, &members);
}

static bool answer(uint64_t from, uint64_t number)
{
	return rounds_take_answer(&rounds, from, number, &members);
}

/* Checks how many of the tickets are done. */
static void assert_done(uint64_t done, uint64_t of, uint64_t committed)
{
	rounds_advance(&rounds, committed);
	TEST_ASSERT_EQUAL_UINT64(of, rounds.last_ticket);
	TEST_ASSERT_EQUAL_UINT64(done, rounds.done_ticket);
}

static void a_turn_that_did_nothing_needs_no_ticket(void)
{
	TEST_ASSERT_FALSE(end_turn(5, false));
	assert_done(0, 1, 4);
	for (int i = 0; i < 10; i++)
		TEST_ASSERT_FALSE(end_turn(5, false));
	assert_done(1, 1, 5);
	TEST_ASSERT_FALSE(rounds_are_under_way(&rounds));
}

static void a_turn_with_an_entry_waits_for_its_commit(void)
{
	TEST_ASSERT_FALSE(end_turn(5, true));
	assert_done(0, 1, 4);
	assert_done(1, 1, 5);
}

static void a_turn_that_has_read_waits_for_a_majority(void)
{
	end_turn(5, false);
	assert_done(1, 1, 5);
	TEST_ASSERT_TRUE(end_turn(5, true));
	TEST_ASSERT_EQUAL_UINT64(1, rounds.sent);
	assert_done(1, 2, 5);
	TEST_ASSERT_FALSE(answer(3, 1));
	assert_done(2, 2, 5);
	TEST_ASSERT_FALSE(rounds_are_under_way(&rounds));
}

static void an_entry_that_waits_is_no_proof_for_a_later_read(void)
{
	end_turn(5, false);
	TEST_ASSERT_TRUE(end_turn(5, true));
	/* The acknowledgement of the entry may be older than the read. */
	assert_done(1, 2, 5);
	answer(2, 1);
	assert_done(2, 2, 5);
}

static void a_round_serves_only_turns_that_ended_before_it(void)
{
	TEST_ASSERT_FALSE(end_turn(5, false));
	TEST_ASSERT_TRUE(end_turn(5, true));
	TEST_ASSERT_FALSE(end_turn(5, true));
	TEST_ASSERT_FALSE(end_turn(5, true));
	/* The answer begins the next round, for both turns. */
	TEST_ASSERT_TRUE(answer(2, 1));
	TEST_ASSERT_EQUAL_UINT64(2, rounds.sent);
	assert_done(2, 3, 5);
	TEST_ASSERT_FALSE(answer(3, 1));
	assert_done(2, 3, 5);
	TEST_ASSERT_FALSE(answer(3, 2));
	assert_done(3, 3, 5);
}

static void tickets_are_done_in_their_order(void)
{
	end_turn(5, false);
	end_turn(5, true);
	end_turn(6, false);
	answer(2, 1);
	assert_done(0, 3, 4);
	assert_done(2, 3, 5);
	assert_done(3, 3, 6);
}

static void answers_of_others_than_voters_do_not_count(void)
{
	TEST_ASSERT_TRUE(members_set(&members, 4, "node-4:1", /* is_voter= */ false));
	end_turn(5, false);
	end_turn(5, true);
	answer(4, 1);
	answer(9, 1);
	answer(1, 1);
	assert_done(1, 2, 5);
	answer(2, 1);
	assert_done(2, 2, 5);
}

static void an_answer_to_a_round_that_was_not_sent_does_not_count(void)
{
	end_turn(5, false);
	answer(2, 1);
	TEST_ASSERT_TRUE(end_turn(5, true));
	assert_done(1, 2, 5);
	answer(2, 2);
	assert_done(1, 2, 5);
}

static void five_voters_need_two_answers(void)
{
	TEST_ASSERT_TRUE(members_set(&members, 4, "node-4:1", true));
	TEST_ASSERT_TRUE(members_set(&members, 5, "node-5:1", true));
	end_turn(5, false);
	end_turn(5, true);
	answer(2, 1);
	answer(2, 1);
	assert_done(1, 2, 5);
	answer(5, 1);
	assert_done(2, 2, 5);
}

static void the_only_voter_needs_no_round(void)
{
	members_remove(&members, 2);
	members_remove(&members, 3);
	end_turn(5, false);
	TEST_ASSERT_FALSE(end_turn(5, true));
	assert_done(1, 1, 5);
}

static void a_new_leader_does_not_count_old_answers(void)
{
	end_turn(5, false);
	end_turn(5, true);
	end_turn(5, true);
	rounds_reset(&rounds, 3);
	assert_done(3, 4, 2);
	TEST_ASSERT_FALSE(answer(2, 1));
	/* The newest entry is older than the turn. */
	TEST_ASSERT_TRUE(end_turn(3, true));
	TEST_ASSERT_EQUAL_UINT64(2, rounds.sent);
	answer(2, 1);
	assert_done(4, 5, 3);
	answer(2, 2);
	assert_done(5, 5, 3);
}

static void many_turns_may_wait(void)
{
	for (uint64_t last = 1; last <= 5000; last++) {
		end_turn(last, false);
		if (last > 100)
			rounds_advance(&rounds, last - 100);
	}
	assert_done(4900, 5000, 4900);
	assert_done(5000, 5000, 5000);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_turn_that_did_nothing_needs_no_ticket);
	RUN(a_turn_with_an_entry_waits_for_its_commit);
	RUN(a_turn_that_has_read_waits_for_a_majority);
	RUN(an_entry_that_waits_is_no_proof_for_a_later_read);
	RUN(a_round_serves_only_turns_that_ended_before_it);
	RUN(tickets_are_done_in_their_order);
	RUN(answers_of_others_than_voters_do_not_count);
	RUN(an_answer_to_a_round_that_was_not_sent_does_not_count);
	RUN(five_voters_need_two_answers);
	RUN(the_only_voter_needs_no_round);
	RUN(a_new_leader_does_not_count_old_answers);
	RUN(many_turns_may_wait);
	return UNIT_RESULT();
}
