#include "server/complaints.h"

#include <stdio.h>

#include "unit.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_US	  (3600 * SECOND_US)

static struct complaints complaints;

void setUp(void)
{
	complaints = (struct complaints){ 0 };
}

void tearDown(void)
{
}

static int take_all(void)
{
	int count = 0;

	while (complaints_take(&complaints))
		count++;
	return count;
}

static void a_second_has_room_for_a_few_lines(void)
{
	int lines = take_all();

	TEST_ASSERT_TRUE(lines > 0 && lines < 100);
	TEST_ASSERT_EQUAL_UINT64(1, complaints.left_out);
	complaints_tick(&complaints);
	TEST_ASSERT_EQUAL_UINT64(0, complaints.left_out);
	TEST_ASSERT_EQUAL_INT(lines, take_all());
}

static void misfits_get_a_line_each_second_that_counts_the_others(void)
{
	uint64_t left_out = 7;

	TEST_ASSERT_TRUE(complaints_take_misfit(&complaints, SECOND_US, &left_out));
	TEST_ASSERT_EQUAL_UINT64(0, left_out);
	TEST_ASSERT_FALSE(complaints_take_misfit(&complaints, SECOND_US + 1, &left_out));
	TEST_ASSERT_FALSE(complaints_take_misfit(&complaints, 2 * SECOND_US - 1, &left_out));
	TEST_ASSERT_TRUE(complaints_take_misfit(&complaints, 2 * SECOND_US, &left_out));
	TEST_ASSERT_EQUAL_UINT64(2, left_out);
}

static void a_wrong_clock_gets_a_line_an_hour_for_each_address(void)
{
	TEST_ASSERT_TRUE(complaints_take_skew(&complaints, 1, "10.0.0.1:1000"));
	TEST_ASSERT_FALSE(complaints_take_skew(&complaints, 2, "10.0.0.1:1001"));
	TEST_ASSERT_TRUE(complaints_take_skew(&complaints, 2, "10.0.0.11:1000"));
	TEST_ASSERT_TRUE(complaints_take_skew(&complaints, 2, "[::1]:1000"));
	TEST_ASSERT_TRUE(complaints_take_skew(&complaints, 2, "/run/qlessd.sock:0"));
	TEST_ASSERT_FALSE(complaints_take_skew(&complaints, HOUR_US, "10.0.0.1:1002"));
	TEST_ASSERT_TRUE(complaints_take_skew(&complaints, HOUR_US + 1, "10.0.0.1:1003"));
	TEST_ASSERT_FALSE(complaints_take_skew(&complaints, HOUR_US + 2, "10.0.0.1:1003"));
}

static void more_addresses_than_can_be_remembered_get_no_line(void)
{
	char peer[32];
	int lines = 0;

	for (int i = 0; i < 10 * COMPLAINTS_ADDRESSES; i++) {
		snprintf(peer, sizeof peer, "10.0.%d.%d:1", i / 100, i % 100);
		lines += complaints_take_skew(&complaints, 1, peer);
	}
	TEST_ASSERT_EQUAL_INT(COMPLAINTS_ADDRESSES, lines);
	TEST_ASSERT_TRUE(complaints_take_skew(&complaints, 1 + HOUR_US, "10.1.1.1:1"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_second_has_room_for_a_few_lines);
	RUN(misfits_get_a_line_each_second_that_counts_the_others);
	RUN(a_wrong_clock_gets_a_line_an_hour_for_each_address);
	RUN(more_addresses_than_can_be_remembered_get_no_line);
	return UNIT_RESULT();
}
