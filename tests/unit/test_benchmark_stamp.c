#include "benchmark/stamp.h"

#include <stdio.h>

#include "unit.h"

static struct stamp stamp;

void setUp(void)
{
	stamp = (struct stamp){ 0 };
}

void tearDown(void)
{
}

static void the_time_is_seconds_with_six_decimals(void)
{
	stamp_read(&stamp, 1763510214000041);
	TEST_ASSERT_EQUAL_STRING("1763510214.000042", stamp_next(&stamp));
}

static void each_request_has_a_later_time_than_the_one_before(void)
{
	char expected[48];

	for (int64_t start = 1763509999989990; start < 1763510000010000; start += 3) {
		stamp_read(&stamp, start);
		for (int i = 0; i < 40; i++) {
			const char *text = stamp_next(&stamp);

			snprintf(expected, sizeof expected, "%lld.%06lld",
				 (long long)(stamp.us / 1000000), (long long)(stamp.us % 1000000));
			TEST_ASSERT_EQUAL_STRING(expected, text);
		}
	}
	TEST_ASSERT_EQUAL_INT64(1763509999989990 + 40 * 6670, stamp.us);
}

static void a_clock_that_is_ahead_is_adopted(void)
{
	stamp_read(&stamp, 1763510214000000);
	stamp_next(&stamp);
	stamp_read(&stamp, 1763510299999999);
	TEST_ASSERT_EQUAL_STRING("1763510300.000000", stamp_next(&stamp));
}

static void a_clock_that_went_back_is_ignored(void)
{
	stamp_read(&stamp, 1763510214000007);
	stamp_next(&stamp);
	stamp_read(&stamp, 1763510214000008);
	TEST_ASSERT_EQUAL_STRING("1763510214.000009", stamp_next(&stamp));
	stamp_read(&stamp, 1763510000000000);
	TEST_ASSERT_EQUAL_STRING("1763510214.000010", stamp_next(&stamp));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_time_is_seconds_with_six_decimals);
	RUN(each_request_has_a_later_time_than_the_one_before);
	RUN(a_clock_that_is_ahead_is_adopted);
	RUN(a_clock_that_went_back_is_ignored);
	return UNIT_RESULT();
}
