#include "sys/clock.h"

#include "unit.h"

/* The clocks of the source. */
static int64_t wall_us, mono_us;

static int64_t read_wall(void *arg)
{
	(void)arg;
	return wall_us;
}

static int64_t read_mono(void *arg)
{
	(void)arg;
	return mono_us;
}

static struct steady_clock steady;

void setUp(void)
{
	const struct clock_source source = { read_wall, read_mono, NULL };

	wall_us = 1000000000;
	mono_us = 500;
	steady_clock_init(&steady, &source);
}

void tearDown(void)
{
}

/* Let time pass on both clocks. */
static void pass(int64_t us)
{
	wall_us += us;
	mono_us += us;
}

static void follows_the_wall_clock(void)
{
	pass(10);
	TEST_ASSERT_EQUAL_INT64(1000000010, steady_clock_read_us(&steady));
	wall_us += 3600000000;
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_read_us(&steady));
}

static void two_readings_in_one_microsecond_differ(void)
{
	pass(10);
	TEST_ASSERT_EQUAL_INT64(1000000010, steady_clock_read_us(&steady));
	TEST_ASSERT_EQUAL_INT64(1000000011, steady_clock_read_us(&steady));
	TEST_ASSERT_EQUAL_INT64(1000000012, steady_clock_read_us(&steady));
	pass(2);
	TEST_ASSERT_EQUAL_INT64(1000000013, steady_clock_read_us(&steady));
	pass(5);
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_read_us(&steady));
}

static void runs_slower_when_the_wall_clock_is_set_back(void)
{
	int64_t before;

	pass(10);
	before = steady_clock_read_us(&steady);
	wall_us -= 1000000;
	TEST_ASSERT_EQUAL_INT64(before + 1, steady_clock_read_us(&steady));
	/* Also if readings are so close that the slowdown of each rounds to nothing. */
	for (int i = 0; i < 16000; i++) {
		pass(10);
		steady_clock_read_us(&steady);
	}
	TEST_ASSERT_INT64_WITHIN(1, before + 150000, steady.last_us);
}

static void follows_the_wall_clock_again_when_that_has_caught_up(void)
{
	pass(10);
	steady_clock_read_us(&steady);
	wall_us -= 1000000;
	for (int i = 0; i < 15; i++) {
		pass(1000000);
		TEST_ASSERT_TRUE(steady_clock_read_us(&steady) > wall_us);
	}
	pass(1000010);
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_read_us(&steady));
	pass(7);
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_read_us(&steady));
}

static void is_later_than_a_given_time(void)
{
	steady_clock_pass(&steady, wall_us + 5000);
	TEST_ASSERT_EQUAL_INT64(wall_us + 5001, steady_clock_read_us(&steady));
	steady_clock_pass(&steady, wall_us);
	TEST_ASSERT_EQUAL_INT64(wall_us + 5002, steady_clock_read_us(&steady));
	pass(100000);
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_read_us(&steady));
}

static void readings_increase_whatever_the_clocks_do(void)
{
	unsigned long long seed = 5;
	int64_t last = steady_clock_read_us(&steady);

	for (int i = 0; i < 100000; i++) {
		int64_t now;

		pass((int64_t)(unit_random(&seed) % 100));
		if (unit_random(&seed) % 50 == 0)
			wall_us += (int64_t)(unit_random(&seed) % 200000) - 100000;
		now = steady_clock_read_us(&steady);
		TEST_ASSERT_TRUE(now > last);
		TEST_ASSERT_TRUE(now >= wall_us);
		last = now;
	}
}

static void readings_differ_as_seconds(void)
{
	TEST_ASSERT_TRUE(clock_seconds(4102444800000001) > clock_seconds(4102444800000000));
	TEST_ASSERT_TRUE(clock_seconds(1500000) == 1.5);
}

static void the_systems_clocks_go_forward(void)
{
	struct steady_clock real;
	int64_t us = clock_mono_us(), ns = clock_mono_ns(), first;

	TEST_ASSERT_TRUE(clock_mono_us() >= us);
	TEST_ASSERT_TRUE(clock_mono_ns() >= ns);
	TEST_ASSERT_INT64_WITHIN(60000000, ns / 1000, us);
	TEST_ASSERT_TRUE(clock_wall_us() > 1700000000000000);
	steady_clock_init(&real, NULL);
	first = steady_clock_read_us(&real);
	TEST_ASSERT_TRUE(steady_clock_read_us(&real) > first);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(follows_the_wall_clock);
	RUN(two_readings_in_one_microsecond_differ);
	RUN(runs_slower_when_the_wall_clock_is_set_back);
	RUN(follows_the_wall_clock_again_when_that_has_caught_up);
	RUN(is_later_than_a_given_time);
	RUN(readings_increase_whatever_the_clocks_do);
	RUN(readings_differ_as_seconds);
	RUN(the_systems_clocks_go_forward);
	return UNIT_RESULT();
}
