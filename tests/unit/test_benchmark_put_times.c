#include "benchmark/put_times.h"

#include "unit.h"

#define MANY 5000 /* more than the ring has at first */

static struct put_times times;

void setUp(void)
{
	times = (struct put_times){ 0 };
}

void tearDown(void)
{
	put_times_done(&times);
}

static void jobs_leave_once_and_in_any_order(void)
{
	for (uint64_t i = 7; i < 12; i++)
		put_times_add(&times, i, (int64_t)(100 * i));
	TEST_ASSERT_EQUAL_INT64(900, put_times_take(&times, 9));
	TEST_ASSERT_EQUAL_INT64(0, put_times_take(&times, 9));
	TEST_ASSERT_EQUAL_INT64(1100, put_times_take(&times, 11));
	TEST_ASSERT_EQUAL_UINT64(3, times.count);
	TEST_ASSERT_EQUAL_INT64(700, put_times_take(&times, 7));
	TEST_ASSERT_EQUAL_INT64(800, put_times_take(&times, 8));
	TEST_ASSERT_EQUAL_INT64(1000, put_times_take(&times, 10));
	TEST_ASSERT_EQUAL_UINT64(0, times.count);
}

static void unknown_jobs_have_no_time(void)
{
	TEST_ASSERT_EQUAL_INT64(0, put_times_take(&times, 0));
	put_times_add(&times, 3, 1);
	TEST_ASSERT_EQUAL_INT64(0, put_times_take(&times, 2));
	TEST_ASSERT_EQUAL_INT64(0, put_times_take(&times, 4));
	TEST_ASSERT_EQUAL_UINT64(1, times.count);
}

static void numbers_may_skip_while_no_job_is_there(void)
{
	put_times_add(&times, 3, 1);
	put_times_take(&times, 3);
	put_times_add(&times, 1000000, 2);
	TEST_ASSERT_EQUAL_INT64(2, put_times_take(&times, 1000000));
}

static void the_ring_grows_while_the_oldest_job_stays(void)
{
	size_t cap;

	for (uint64_t i = 0; i < MANY; i++) {
		put_times_add(&times, i, (int64_t)i + 1);
		if (i != 0)
			TEST_ASSERT_EQUAL_INT64((int64_t)i + 1, put_times_take(&times, i));
	}
	TEST_ASSERT_EQUAL_INT64(1, put_times_take(&times, 0));
	/* Without an old job, it stays as it is. */
	cap = times.cap;
	for (uint64_t i = MANY; i < 10 * MANY; i++) {
		put_times_add(&times, i, (int64_t)i);
		TEST_ASSERT_EQUAL_INT64((int64_t)i, put_times_take(&times, i));
	}
	TEST_ASSERT_EQUAL_size_t(cap, times.cap);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(jobs_leave_once_and_in_any_order);
	RUN(unknown_jobs_have_no_time);
	RUN(numbers_may_skip_while_no_job_is_there);
	RUN(the_ring_grows_while_the_oldest_job_stays);
	return UNIT_RESULT();
}
