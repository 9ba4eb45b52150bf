/*
 * The gate without a log: the test says how far the log has come.
 */
#include "server/gate.h"

#include "unit.h"

#define WAITS 4

static struct gate gate;
static struct gate_wait waits[WAITS];
/* The callbacks that were called, in order: index of the wait, and outcome. */
static int called[16];
static enum gate_outcome told[16];
static int call_count;

void setUp(void)
{
	gate_init(&gate);
	for (int i = 0; i < WAITS; i++)
		waits[i] = (struct gate_wait){ 0 };
	call_count = 0;
}

void tearDown(void)
{
}

static void note(void *arg, enum gate_outcome outcome)
{
	struct gate_wait *w = arg;

	called[call_count] = (int)(w - waits);
	told[call_count++] = outcome;
}

static void wait_for(int i, uint64_t sequence)
{
	gate_when(&gate, &waits[i], sequence, note, &waits[i]);
}

static void a_wait_is_called_once_the_log_is_durable_that_far(void)
{
	wait_for(0, 5);
	gate_advance(&gate, 4, 7);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(0, call_count);
	TEST_ASSERT_TRUE(gate_is_waiting(&waits[0]));

	gate_advance(&gate, 5, 7);
	TEST_ASSERT_EQUAL_INT(0, call_count);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(1, call_count);
	TEST_ASSERT_EQUAL_INT(GATE_DURABLE, told[0]);
	TEST_ASSERT_FALSE(gate_is_waiting(&waits[0]));
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(1, call_count);
}

static void waits_are_called_in_their_order(void)
{
	wait_for(2, 3);
	wait_for(0, 3);
	wait_for(1, 4);
	wait_for(3, 9);
	gate_advance(&gate, 8, 9);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(3, call_count);
	TEST_ASSERT_EQUAL_INT(2, called[0]);
	TEST_ASSERT_EQUAL_INT(0, called[1]);
	TEST_ASSERT_EQUAL_INT(1, called[2]);
	TEST_ASSERT_TRUE(gate_is_waiting(&waits[3]));
}

static void a_wait_for_what_is_durable_already_is_called_by_the_next_release(void)
{
	gate_advance(&gate, 9, 9);
	wait_for(0, 9);
	TEST_ASSERT_EQUAL_INT(0, call_count);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(1, call_count);
}

static void a_cancelled_wait_is_never_called(void)
{
	wait_for(0, 1);
	wait_for(1, 1);
	gate_cancel(&gate, &waits[0]);
	gate_cancel(&gate, &waits[0]);
	gate_cancel(&gate, &waits[2]);
	gate_advance(&gate, 1, 1);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(1, call_count);
	TEST_ASSERT_EQUAL_INT(1, called[0]);
	TEST_ASSERT_TRUE(gate_is_empty(&gate));
}

static void a_failed_log_tells_everybody_who_waits(void)
{
	wait_for(0, 1);
	wait_for(1, 100);
	gate_fail(&gate);
	TEST_ASSERT_EQUAL_INT(2, call_count);
	TEST_ASSERT_EQUAL_INT(GATE_LOST, told[0]);
	TEST_ASSERT_EQUAL_INT(GATE_LOST, told[1]);
	TEST_ASSERT_TRUE(gate_is_empty(&gate));
}

static void cancel_next(void *arg, enum gate_outcome outcome)
{
	note(arg, outcome);
	gate_cancel(&gate, (struct gate_wait *)arg + 1);
}

static void a_callback_may_cancel_a_wait_that_is_due_as_well(void)
{
	gate_when(&gate, &waits[0], 1, cancel_next, &waits[0]);
	wait_for(1, 1);
	wait_for(2, 1);
	gate_advance(&gate, 1, 1);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(2, call_count);
	TEST_ASSERT_EQUAL_INT(2, called[1]);
}

static void wait_again(void *arg, enum gate_outcome outcome)
{
	note(arg, outcome);
	gate_when(&gate, arg, 1, wait_again, arg);
}

static void a_wait_that_a_callback_adds_is_left_for_the_next_release(void)
{
	gate_when(&gate, &waits[0], 1, wait_again, &waits[0]);
	gate_advance(&gate, 1, 1);
	gate_release(&gate);
	TEST_ASSERT_EQUAL_INT(1, call_count);
	gate_fail(&gate);
	TEST_ASSERT_EQUAL_INT(2, call_count);
	TEST_ASSERT_TRUE(gate_is_waiting(&waits[0]));
}

static void output_waits_for_the_last_record_unless_that_is_durable(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, gate_pending(&gate));
	gate_advance(&gate, 3, 8);
	TEST_ASSERT_EQUAL_UINT64(8, gate_pending(&gate));
	gate_advance(&gate, 8, 8);
	TEST_ASSERT_EQUAL_UINT64(0, gate_pending(&gate));
	gate_advance(&gate, 8, 9);
	gate_open(&gate);
	TEST_ASSERT_EQUAL_UINT64(0, gate_pending(&gate));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_wait_is_called_once_the_log_is_durable_that_far);
	RUN(waits_are_called_in_their_order);
	RUN(a_wait_for_what_is_durable_already_is_called_by_the_next_release);
	RUN(a_cancelled_wait_is_never_called);
	RUN(a_failed_log_tells_everybody_who_waits);
	RUN(a_callback_may_cancel_a_wait_that_is_due_as_well);
	RUN(a_wait_that_a_callback_adds_is_left_for_the_next_release);
	RUN(output_waits_for_the_last_record_unless_that_is_durable);
	return UNIT_RESULT();
}
