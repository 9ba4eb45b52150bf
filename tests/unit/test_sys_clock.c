#include "sys/clock.h"

#include "unit.h"

/* The clocks of the source. */
static int64_t wall_us, mono_us, boot_us;

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

static int64_t read_boot(void *arg)
{
	(void)arg;
	return boot_us;
}

static struct steady_clock steady;

#define SECOND INT64_C(1000000)
#define YEAR   (365 * 86400 * SECOND)

void setUp(void)
{
	const struct clock_source source = { read_wall, read_mono, read_boot, NULL };

	wall_us = 1000000000;
	mono_us = 500;
	boot_us = 70000;
	steady_clock_init(&steady, &source);
}

void tearDown(void)
{
}

/* Let time pass on all clocks. */
static void pass(int64_t us)
{
	wall_us += us;
	mono_us += us;
	boot_us += us;
}

/* Let seconds pass. Each of them must bring no step. */
static void pass_seconds_without_a_step(int seconds)
{
	for (int i = 0; i < seconds; i++) {
		pass(SECOND);
		TEST_ASSERT_EQUAL_INT(CLOCK_NO_STEP, steady_clock_watch(&steady).kind);
	}
}

static void follows_the_wall_clock(void)
{
	pass(10);
	TEST_ASSERT_EQUAL_INT64(1000000010, steady_clock_read_us(&steady));
	wall_us += SECOND;
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_read_us(&steady));
}

static void follows_a_slow_drift_of_the_wall_clock_even_if_nobody_reads(void)
{
	for (int i = 0; i < 10000; i++) {
		wall_us += 500; /* a fast clock under correction */
		pass_seconds_without_a_step(1);
	}
	TEST_ASSERT_EQUAL_INT64(wall_us + 1, steady_clock_read_us(&steady));
}

static void a_year_ahead_for_a_moment_does_not_move_the_clock(void)
{
	struct clock_step step;
	int64_t before = steady_clock_peek_us(&steady);

	wall_us += YEAR;
	pass(SECOND);
	TEST_ASSERT_EQUAL_INT64(before + SECOND, steady_clock_read_us(&steady));
	step = steady_clock_watch(&steady);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_SEEN, step.kind);
	TEST_ASSERT_EQUAL_INT64(before + SECOND, step.from_us);
	TEST_ASSERT_EQUAL_INT64(wall_us, step.to_us);
	pass_seconds_without_a_step(3);
	wall_us -= YEAR;
	pass(SECOND);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_UNDONE, steady_clock_watch(&steady).kind);
	TEST_ASSERT_EQUAL_INT64(before + 5 * SECOND, steady_clock_peek_us(&steady));
	pass_seconds_without_a_step(100);
}

static void a_clock_that_keeps_its_new_time_is_followed_after_a_minute(void)
{
	struct clock_step step;
	int64_t before = steady_clock_peek_us(&steady);

	wall_us += YEAR;
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_SEEN, steady_clock_watch(&steady).kind);
	pass_seconds_without_a_step(59);
	pass(SECOND);
	step = steady_clock_watch(&steady);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_DUE, step.kind);
	TEST_ASSERT_EQUAL_INT64(before + 60 * SECOND, step.from_us);
	TEST_ASSERT_EQUAL_INT64(wall_us, step.to_us);
	/* The owner was not able to follow, and is told again. */
	pass(SECOND);
	TEST_ASSERT_EQUAL_INT64(before + 61 * SECOND, steady_clock_read_us(&steady));
	step = steady_clock_watch(&steady);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_DUE, step.kind);
	steady_clock_step(&steady, &step);
	pass_seconds_without_a_step(1);
	TEST_ASSERT_EQUAL_INT64(wall_us + 1, steady_clock_read_us(&steady));
}

static void a_clock_that_is_set_again_must_keep_its_time_for_another_minute(void)
{
	wall_us += YEAR;
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_SEEN, steady_clock_watch(&steady).kind);
	pass_seconds_without_a_step(50);
	wall_us += YEAR;
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_SEEN, steady_clock_watch(&steady).kind);
	pass_seconds_without_a_step(59);
	pass(SECOND);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_DUE, steady_clock_watch(&steady).kind);
}

static void a_large_step_back_is_followed_after_a_minute(void)
{
	struct clock_step step;
	int64_t before = steady_clock_read_us(&steady);

	wall_us -= YEAR;
	pass(SECOND);
	TEST_ASSERT_TRUE(steady_clock_read_us(&steady) > before);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_SEEN, steady_clock_watch(&steady).kind);
	pass_seconds_without_a_step(59);
	pass(SECOND);
	step = steady_clock_watch(&steady);
	TEST_ASSERT_EQUAL_INT(CLOCK_STEP_DUE, step.kind);
	TEST_ASSERT_EQUAL_INT64(wall_us, step.to_us);
	steady_clock_step(&steady, &step);
	TEST_ASSERT_EQUAL_INT64(wall_us + 1, steady_clock_read_us(&steady));
}

static void a_small_step_back_is_not_a_step(void)
{
	pass(10);
	steady_clock_read_us(&steady);
	wall_us -= STEADY_CLOCK_BACK_US - SECOND;
	pass_seconds_without_a_step(500);
	TEST_ASSERT_TRUE(steady_clock_peek_us(&steady) > wall_us);
}

static void the_sleep_of_the_machine_is_a_step_at_once(void)
{
	struct clock_step step;
	int64_t before = steady_clock_read_us(&steady);

	boot_us += 3600 * SECOND;
	wall_us += 3600 * SECOND;
	step = steady_clock_watch(&steady);
	TEST_ASSERT_EQUAL_INT(CLOCK_SLEEP_DUE, step.kind);
	TEST_ASSERT_EQUAL_INT64(before, step.from_us);
	TEST_ASSERT_EQUAL_INT64(before + 3600 * SECOND, step.to_us);
	steady_clock_step(&steady, &step);
	pass_seconds_without_a_step(100);
	TEST_ASSERT_EQUAL_INT64(wall_us + 1, steady_clock_read_us(&steady));
}

static void a_peek_is_the_next_reading_and_uses_nothing_up(void)
{
	pass(10);
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_peek_us(&steady));
	TEST_ASSERT_EQUAL_INT64(wall_us, steady_clock_peek_us(&steady));
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
	RUN(follows_a_slow_drift_of_the_wall_clock_even_if_nobody_reads);
	RUN(a_year_ahead_for_a_moment_does_not_move_the_clock);
	RUN(a_clock_that_keeps_its_new_time_is_followed_after_a_minute);
	RUN(a_clock_that_is_set_again_must_keep_its_time_for_another_minute);
	RUN(a_large_step_back_is_followed_after_a_minute);
	RUN(a_small_step_back_is_not_a_step);
	RUN(the_sleep_of_the_machine_is_a_step_at_once);
	RUN(a_peek_is_the_next_reading_and_uses_nothing_up);
	RUN(two_readings_in_one_microsecond_differ);
	RUN(runs_slower_when_the_wall_clock_is_set_back);
	RUN(follows_the_wall_clock_again_when_that_has_caught_up);
	RUN(is_later_than_a_given_time);
	RUN(readings_increase_whatever_the_clocks_do);
	RUN(readings_differ_as_seconds);
	RUN(the_systems_clocks_go_forward);
	return UNIT_RESULT();
}
