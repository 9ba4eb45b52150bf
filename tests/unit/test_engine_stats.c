#include <math.h>

#include "engine.h"

#define DAY 86400.0

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static struct qless_stats stats_of(double date)
{
	struct qless_stats stats;

	qless_stats(q, STR("q"), date, &stats);
	return stats;
}

/* Let a job wait for `waits` and run for `runs` seconds. */
static void run_job(double now, double waits, double runs)
{
	struct qless_put p = a_put("q", "j");

	OK(qless_put(q, now, &p));
	pop(now + waits, "q", "w", 1);
	complete(now + waits + runs, "q", "j", "w");
}

static void waiting_and_running_are_measured(void)
{
	struct qless_stats stats;

	run_job(0, 10, 100);
	run_job(200, 20, 200);
	stats = stats_of(500);
	TEST_ASSERT_TRUE(stats.wait.count == 2 && stats.wait.mean == 15);
	TEST_ASSERT_TRUE(stats.run.count == 2 && stats.run.mean == 150);
	TEST_ASSERT_DOUBLE_WITHIN(1e-9, 7.0710678118654755, stats.wait.deviation);
	TEST_ASSERT_EQUAL_UINT64(1, stats.wait.histogram[10]);
	TEST_ASSERT_EQUAL_UINT64(1, stats.wait.histogram[20]);
	TEST_ASSERT_EQUAL_UINT64(1, stats.run.histogram[60]);
	TEST_ASSERT_EQUAL_UINT64(1, stats.run.histogram[62]);
}

static void a_duration_falls_into_its_second_minute_hour_or_day(void)
{
	struct qless_stats stats;

	run_job(0, 59.9, 0);
	run_job(0, 3599, 0);
	run_job(0, 3600, 0);
	run_job(0, DAY - 1, 0);
	stats = stats_of(0);
	TEST_ASSERT_EQUAL_UINT64(1, stats.wait.histogram[59]);
	TEST_ASSERT_EQUAL_UINT64(1, stats.wait.histogram[60 + 58]);
	TEST_ASSERT_EQUAL_UINT64(1, stats.wait.histogram[60 + 59]);
	TEST_ASSERT_EQUAL_UINT64(1, stats.wait.histogram[60 + 59 + 22]);
	run_job(0, 6 * DAY, 0);
	TEST_ASSERT_EQUAL_UINT64(1, stats_of(6 * DAY).wait.histogram[60 + 59 + 23 + 5]);
}

static void negative_and_very_long_durations_are_counted_but_not_shown(void)
{
	struct qless_stats stats;
	int i;

	run_job(100, -50, 0);
	stats = stats_of(0);
	TEST_ASSERT_TRUE(stats.wait.count == 1 && stats.wait.mean == -50);
	for (i = 0; i < QLESS_HISTOGRAM_BUCKETS; i++)
		TEST_ASSERT_EQUAL_UINT64(0, stats.wait.histogram[i]);
	run_job(0, 1e300, 0);
	TEST_ASSERT_TRUE(stats_of(1e300).wait.count == 1);
}

static void statistics_stay_numbers_whatever_the_times(void)
{
	static const double times[] = { 1.7e308, -1.7e308, 1.7976931348623157e308, 0, -1e300 };
	struct qless_stats stats;
	size_t i;
	size_t k;

	for (i = 0; i < 5; i++) {
		for (k = 0; k < 5; k++) {
			put(times[i], "q", "j");
			pop(times[k], "q", "w", 1);
		}
	}
	for (i = 0; i < 5; i++) {
		stats = stats_of(times[i]);
		TEST_ASSERT_TRUE(isfinite(stats.wait.mean));
		TEST_ASSERT_FALSE(isnan(stats.wait.deviation));
	}
}

static void days_are_kept_apart(void)
{
	run_job(DAY - 10, 0, 20);
	TEST_ASSERT_TRUE(stats_of(0).wait.count == 1);
	TEST_ASSERT_TRUE(stats_of(0).run.count == 0);
	TEST_ASSERT_TRUE(stats_of(DAY).run.count == 1);
	/* Also times in the wrong order, and before the epoch. */
	run_job(-DAY / 2, 0, 0);
	TEST_ASSERT_TRUE(stats_of(-1).run.count == 1);
	TEST_ASSERT_TRUE(stats_of(DAY).run.count == 1);
}

static void an_unknown_queue_has_no_statistics(void)
{
	struct qless_stats stats;

	qless_stats(q, STR("nope"), 0, &stats);
	TEST_ASSERT_TRUE(stats.wait.count == 0 && stats.failed == 0);
}

static void maintenance_drops_days_that_are_too_old(void)
{
	set_option("stats-history", "3");
	set_option("histogram-history", "1");
	run_job(0 * DAY, 5, 0);
	run_job(1 * DAY, 5, 0);
	run_job(3 * DAY, 5, 0);
	run_job(4 * DAY, 5, 0);
	qless_maintain(q);
	TEST_ASSERT_TRUE(stats_of(0).wait.count == 0);
	TEST_ASSERT_TRUE(stats_of(1 * DAY).wait.count == 1);
	TEST_ASSERT_EQUAL_UINT64(0, stats_of(1 * DAY).wait.histogram[5]);
	TEST_ASSERT_EQUAL_UINT64(1, stats_of(3 * DAY).wait.histogram[5]);
}

static void maintenance_goes_by_the_latest_time_seen(void)
{
	uint64_t changes;

	run_job(100 * DAY, 0, 0);
	run_job(1 * DAY, 0, 0);
	TEST_ASSERT_TRUE(qless_latest(q) == 100 * DAY);
	qless_maintain(q);
	TEST_ASSERT_TRUE(stats_of(1 * DAY).wait.count == 0);
	TEST_ASSERT_TRUE(stats_of(100 * DAY).wait.count == 1);
	changes = qless_changes(q);
	qless_maintain(q);
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
}

static void a_job_that_failed_on_a_dropped_day_can_be_cancelled(void)
{
	struct qless_str jid = STR("j");

	put(0, "q", "j");
	pop(0, "q", "w", 1);
	fail(0, "j", "w", "g");
	put(100 * DAY, "q", "k");
	qless_maintain(q);
	OK(qless_cancel(q, 100 * DAY, &jid, 1));
	TEST_ASSERT_EQUAL_INT64(0, stats_of(0).failed);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(waiting_and_running_are_measured);
	RUN(a_duration_falls_into_its_second_minute_hour_or_day);
	RUN(negative_and_very_long_durations_are_counted_but_not_shown);
	RUN(statistics_stay_numbers_whatever_the_times);
	RUN(days_are_kept_apart);
	RUN(an_unknown_queue_has_no_statistics);
	RUN(maintenance_drops_days_that_are_too_old);
	RUN(maintenance_goes_by_the_latest_time_seen);
	RUN(a_job_that_failed_on_a_dropped_day_can_be_cancelled);
	return UNIT_RESULT();
}
