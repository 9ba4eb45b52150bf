#include "server/share.h"
#include "unit.h"

#define MAX 256

void setUp(void)
{
}

void tearDown(void)
{
}

/* Returns the share after several turns, in which each connection runs its whole share. A
 * command takes `command_us`. *ret_turn_us is the duration of the last turn. */
static size_t settle(size_t share, int connections, int64_t command_us, int64_t *ret_turn_us)
{
	for (int turn = 0; turn < 20; turn++) {
		int64_t elapsed_us = 0;

		for (int i = 0; i < connections; i++)
			elapsed_us += (int64_t)share_now(share, elapsed_us) * command_us;
		share = share_next(share, elapsed_us, MAX);
		*ret_turn_us = elapsed_us;
	}
	return share;
}

static void few_connections_have_all_that_the_configuration_allows(void)
{
	int64_t turn_us;

	TEST_ASSERT_EQUAL_size_t(MAX, settle(MAX, 4, 2, &turn_us));
	TEST_ASSERT_EQUAL_size_t(MAX, settle(SHARE_MIN, 4, 2, &turn_us));
}

static void many_connections_share_a_turn(void)
{
	int64_t turn_us;
	size_t share = settle(MAX, 64, 4, &turn_us);

	TEST_ASSERT_LESS_OR_EQUAL_INT64(SHARE_TURN_US, turn_us);
	TEST_ASSERT_GREATER_OR_EQUAL_size_t(SHARE_MIN, share);
}

static void who_is_served_late_in_a_long_turn_gets_little(void)
{
	TEST_ASSERT_EQUAL_size_t(MAX, share_now(MAX, SHARE_TURN_US));
	TEST_ASSERT_EQUAL_size_t(SHARE_MIN, share_now(MAX, SHARE_TURN_US + 1));
}

static void who_is_served_late_in_a_long_turn_has_little_time(void)
{
	TEST_ASSERT_EQUAL_INT64(SHARE_TIME_US, share_time_us(SHARE_TURN_US));
	TEST_ASSERT_EQUAL_INT64(SHARE_LATE_TIME_US, share_time_us(SHARE_TURN_US + 1));
}

/* Commands that arrived during a stall run roughly in the order of their arrival. */
static void after_a_stall_all_get_little_and_then_more_again(void)
{
	size_t share = share_next(MAX, SHARE_STALL_US + 1, MAX), turns = 0;

	TEST_ASSERT_EQUAL_size_t(SHARE_AFTER_STALL, share);
	TEST_ASSERT_EQUAL_size_t(SHARE_AFTER_STALL, share_now(share, SHARE_TURN_US + 1));
	for (; share < SHARE_MIN && turns < 20; turns++)
		share = share_next(share, SHARE_STALL_US + 1, MAX);
	TEST_ASSERT_EQUAL_size_t(2, turns);
	TEST_ASSERT_EQUAL_size_t(SHARE_MIN, share);
	for (; share < MAX && turns < 20; turns++)
		share = share_next(share, SHARE_TURN_US / 2 - 1, MAX);
	TEST_ASSERT_EQUAL_size_t(7, turns);
	TEST_ASSERT_EQUAL_size_t(MAX, share);
	/* A turn that is merely long is not a stall. Neither is a stall when turns are long
	 * anyway. */
	TEST_ASSERT_EQUAL_size_t(MAX / 2, share_next(MAX, SHARE_STALL_US, MAX));
	TEST_ASSERT_EQUAL_size_t(MAX / 4, share_next(MAX / 2, SHARE_STALL_US + 1, MAX));
	TEST_ASSERT_EQUAL_size_t(SHARE_MIN, share_next(SHARE_MIN + 1, SHARE_STALL_US, MAX));
	TEST_ASSERT_EQUAL_size_t(1, share_next(1, SHARE_STALL_US + 1, 1));
}

static void nobody_gets_nothing(void)
{
	int64_t turn_us;

	TEST_ASSERT_EQUAL_size_t(SHARE_MIN, settle(MAX, 10000, 10, &turn_us));
}

static void the_configuration_may_allow_even_less(void)
{
	TEST_ASSERT_EQUAL_size_t(1, share_now(1, SHARE_TURN_US + 1));
	TEST_ASSERT_EQUAL_size_t(1, share_next(1, SHARE_TURN_US + 1, 1));
	TEST_ASSERT_EQUAL_size_t(2, share_next(MAX, 0, 2));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(few_connections_have_all_that_the_configuration_allows);
	RUN(many_connections_share_a_turn);
	RUN(who_is_served_late_in_a_long_turn_gets_little);
	RUN(who_is_served_late_in_a_long_turn_has_little_time);
	RUN(after_a_stall_all_get_little_and_then_more_again);
	RUN(nobody_gets_nothing);
	RUN(the_configuration_may_allow_even_less);
	return UNIT_RESULT();
}
