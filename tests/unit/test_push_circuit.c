#include "push/circuit.h"

#include "unit.h"

static const struct circuit_rules rules = { .failures = 3, .pause_s = 2, .max_pause_s = 15 };
static struct circuit c;

void setUp(void)
{
	circuit_init(&c);
}

void tearDown(void)
{
}

static void fail(double now, int times)
{
	for (int i = 0; i < times; i++) {
		circuit_begin(&c);
		circuit_fail(&c, now, &rules);
	}
}

static void a_closed_circuit_has_all_room(void)
{
	TEST_ASSERT_EQUAL_UINT(7, circuit_room(&c, 0, 7));
	fail(0, 2);
	TEST_ASSERT_EQUAL_UINT(7, circuit_room(&c, 0, 7));
}

static void failures_in_a_row_open_it(void)
{
	fail(0, 2);
	circuit_succeed(&c);
	fail(0, 2);
	TEST_ASSERT_EQUAL_INT(CIRCUIT_CLOSED, c.state);
	fail(10, 1);
	TEST_ASSERT_EQUAL_STRING("open", circuit_state_name(c.state));
	TEST_ASSERT_EQUAL_DOUBLE(12, c.until);
	TEST_ASSERT_EQUAL_UINT(0, circuit_room(&c, 11.9, 7));
}

static void one_probe_follows_the_pause(void)
{
	fail(0, 3);
	TEST_ASSERT_EQUAL_UINT(1, circuit_room(&c, 2, 7));
	TEST_ASSERT_EQUAL_STRING("half-open", circuit_state_name(c.state));
	TEST_ASSERT_EQUAL_UINT(0, circuit_room(&c, 2, 0));
	circuit_begin(&c);
	TEST_ASSERT_EQUAL_UINT(0, circuit_room(&c, 99, 7));
}

static void a_probe_that_succeeds_closes_it(void)
{
	fail(0, 3);
	circuit_room(&c, 2, 7);
	circuit_begin(&c);
	circuit_succeed(&c);
	TEST_ASSERT_EQUAL_STRING("closed", circuit_state_name(c.state));
	TEST_ASSERT_EQUAL_UINT(7, circuit_room(&c, 2, 7));
	/* The next pause is the first one again. */
	fail(20, 3);
	TEST_ASSERT_EQUAL_DOUBLE(22, c.until);
}

static void pauses_grow_up_to_the_longest(void)
{
	static const double pauses[] = { 2, 4, 8, 15, 15 };
	double now = 0;

	fail(now, 3);
	for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
		TEST_ASSERT_EQUAL_DOUBLE(now + pauses[i], c.until);
		now = c.until;
		TEST_ASSERT_EQUAL_UINT(1, circuit_room(&c, now, 7));
		fail(now, 1);
	}
}

static void answers_to_older_requests_do_not_change_an_open_circuit(void)
{
	fail(0, 3);
	circuit_fail(&c, 1, &rules);
	TEST_ASSERT_EQUAL_DOUBLE(2, c.until);
	circuit_succeed(&c);
	TEST_ASSERT_EQUAL_INT(CIRCUIT_OPEN, c.state);
}

static void a_probe_that_tells_nothing_lets_another_begin(void)
{
	fail(0, 3);
	circuit_room(&c, 2, 7);
	circuit_begin(&c);
	circuit_cancel(&c);
	TEST_ASSERT_EQUAL_INT(CIRCUIT_HALF_OPEN, c.state);
	TEST_ASSERT_EQUAL_UINT(1, circuit_room(&c, 2, 7));
}

static void the_endpoint_may_ask_for_a_pause(void)
{
	circuit_hold(&c, 10, 30);
	TEST_ASSERT_EQUAL_UINT(0, circuit_room(&c, 39, 7));
	circuit_hold(&c, 11, 5);
	TEST_ASSERT_EQUAL_UINT(0, circuit_room(&c, 39, 7));
	TEST_ASSERT_EQUAL_UINT(1, circuit_room(&c, 40, 7));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_closed_circuit_has_all_room);
	RUN(failures_in_a_row_open_it);
	RUN(one_probe_follows_the_pause);
	RUN(a_probe_that_succeeds_closes_it);
	RUN(pauses_grow_up_to_the_longest);
	RUN(answers_to_older_requests_do_not_change_an_open_circuit);
	RUN(a_probe_that_tells_nothing_lets_another_begin);
	RUN(the_endpoint_may_ask_for_a_pause);
	return UNIT_RESULT();
}
