#include "engine.h"

#define YEAR 31536000.0

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void step(double from, double to)
{
	OK(qless_step_clock(q, to, from));
}

static void recur(double now, double interval)
{
	struct qless_recur_put put_recur = { .queue = STR("q"),
					     .jid = STR("r"),
					     .klass = STR("Klass"),
					     .data = STR("{}"),
					     .interval = interval };

	OK(qless_recur(q, now, &put_recur));
}

static double renew(double now, const char *jid, const char *worker)
{
	double expires = 0;

	OK(qless_heartbeat(q, now, str_from(jid), str_from(worker), NULL, &expires));
	return expires;
}

static void locks_keep_the_time_that_was_left(void)
{
	put(1000, "q", "a");
	TEST_ASSERT_EQUAL_STRING("a ", pop(1000, "q", "w", 1));
	step(1020, 1020 + YEAR);
	TEST_ASSERT_TRUE(info_of("a").expires == 1060 + YEAR);
	TEST_ASSERT_EQUAL_STRING("", pop(1059 + YEAR, "q", "other", 1));
	TEST_ASSERT_TRUE(renew(1059 + YEAR, "a", "w") == 1119 + YEAR);
}

static void a_lock_that_had_expired_stays_expired(void)
{
	put(1000, "q", "a");
	pop(1000, "q", "w", 1);
	step(1061, 1061 + YEAR);
	TEST_ASSERT_TRUE(info_of("a").expires == 1060);
	TEST_ASSERT_EQUAL_STRING("", pop(1061 + YEAR, "q", "other", 1));
	TEST_ASSERT_EQUAL_STRING("a ", pop(1072 + YEAR, "q", "other", 1));
}

static void the_grace_period_goes_on_after_a_step(void)
{
	put(1000, "q", "a");
	pop(1000, "q", "w", 1);
	pop(1061, "q", "other", 1);
	step(1065, 1065 + YEAR);
	TEST_ASSERT_EQUAL_STRING("", pop(1070 + YEAR, "q", "other", 1));
	TEST_ASSERT_EQUAL_STRING("a ", pop(1071 + YEAR, "q", "other", 1));
}

static void a_lock_by_the_clock_of_a_client_stays_as_it_is(void)
{
	put(1000, "q", "a");
	pop(1000 + YEAR, "q", "w", 1);
	step(1000, 1000 + YEAR);
	TEST_ASSERT_TRUE(info_of("a").expires == 1060 + YEAR);
	step(1000 + 2 * YEAR, 1000 + YEAR);
	TEST_ASSERT_TRUE(info_of("a").expires == 1060 + YEAR);
}

static void locks_come_back_with_the_clock(void)
{
	put(1000, "q", "a");
	put(1001, "q", "b");
	pop(1000 + YEAR, "q", "w", 2);
	step(1010 + YEAR, 1010);
	TEST_ASSERT_TRUE(info_of("a").expires == 1060);
	TEST_ASSERT_TRUE(info_of("b").expires == 1060);
	TEST_ASSERT_TRUE(qless_next_due(q) == 1060);
	pop(1060, "q", "other", 2);
	TEST_ASSERT_EQUAL_STRING("a b ", pop(1070, "q", "other", 2));
}

static void a_queue_wakes_for_a_lock_that_expired_shortly_before_the_clock_was_set_back(void)
{
	struct qless_str name;

	put(1000, "q", "a");
	pop(1000, "q", "w", 1);
	while (qless_take_due(q, 1059, &name) || qless_take_woken(q, &name))
		continue;
	step(1061, 950);
	TEST_ASSERT_TRUE(qless_take_woken(q, &name));
	ASSERT_STR("q", name);
}

static void a_recurring_job_makes_up_for_a_bounded_number_of_runs(void)
{
	int made = 0;

	recur(1000, 60);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(1000, "q", "w", 9));
	step(1030, 1030 + YEAR);
	while (*pop(1030 + YEAR, "q", "w", 1) != '\0')
		made++;
	TEST_ASSERT_EQUAL_INT(QLESS_STEP_RUNS_MAX, made);
	/* The runs keep their rhythm. */
	TEST_ASSERT_TRUE(qless_queue_next_due(q, STR("q")) == 1060 + YEAR);
}

static void a_short_gap_costs_no_runs(void)
{
	recur(1000, 60);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(1000, "q", "w", 9));
	step(1010, 1190);
	TEST_ASSERT_EQUAL_STRING("r-2 r-3 r-4 ", pop(1190, "q", "w", 9));
}

static void a_recurring_job_runs_again_within_its_interval_after_a_step_back(void)
{
	recur(1000, 60);
	pop(1000, "q", "w", 1);
	step(1010, 1010 + YEAR);
	while (*pop(1010 + YEAR, "q", "w", 20) != '\0')
		;
	step(1015 + YEAR, 1015);
	TEST_ASSERT_EQUAL_STRING("", jobs_in(1015, QLESS_LIST_SCHEDULED, "q"));
	TEST_ASSERT_TRUE(qless_next_due(q) <= 1075);
	TEST_ASSERT_TRUE(qless_next_due(q) >= 1015);
}

static void a_first_run_in_the_far_future_stays_there_after_a_step_back(void)
{
	struct qless_recur_put later = { .queue = STR("q"),
					 .jid = STR("r"),
					 .klass = STR("Klass"),
					 .data = STR("{}"),
					 .interval = 60,
					 .offset = 86400 };

	OK(qless_recur(q, 2000, &later));
	step(3000, 2000);
	TEST_ASSERT_TRUE(qless_next_due(q) == 2000 + 86400);
}

static size_t worker_count(double now)
{
	struct qless_workers workers;

	OK(qless_workers(q, now, &workers));
	return workers.count;
}

static void workers_are_not_seen_in_the_future(void)
{
	put(1000, "q", "a");
	pop(1000 + YEAR, "q", "w", 1);
	step(1010 + YEAR, 1010);
	TEST_ASSERT_EQUAL_size_t(1, worker_count(1010));
	OK(qless_config_set(q, 1010, STR("max-worker-age"), STR("100")));
	advance(1111, QLESS_ADVANCE_WORKERS, "", 10);
	TEST_ASSERT_EQUAL_size_t(0, worker_count(1111));
}

static void statistics_are_kept_by_the_time_after_a_step_back(void)
{
	struct qless_stats stats;

	put(1000, "q", "a");
	pop(1000, "q", "w", 1);
	put(1000 + YEAR, "q", "b");
	step(1010 + YEAR, 1010);
	qless_maintain(q);
	qless_stats(q, STR("q"), 1000, &stats);
	TEST_ASSERT_TRUE(stats.wait.count == 1);
}

/* The latest time is a part of the state, so a replay of the changes must lead to it. */
static void a_step_back_that_only_moves_the_latest_time_counts_as_a_change(void)
{
	uint64_t changes;

	put(1000, "q", "a");
	changes = qless_changes(q);
	step(1000, 990);
	TEST_ASSERT_TRUE(qless_latest(q) == 990);
	TEST_ASSERT_TRUE(qless_changes(q) > changes);
	changes = qless_changes(q);
	step(995, 991);
	TEST_ASSERT_TRUE(qless_changes(q) == changes);
}

static void a_time_that_is_no_number_is_refused(void)
{
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_step_clock(q, 1000, (double)NAN));
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_step_clock(q, (double)INFINITY, 1));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(locks_keep_the_time_that_was_left);
	RUN(a_lock_that_had_expired_stays_expired);
	RUN(the_grace_period_goes_on_after_a_step);
	RUN(a_lock_by_the_clock_of_a_client_stays_as_it_is);
	RUN(locks_come_back_with_the_clock);
	RUN(a_queue_wakes_for_a_lock_that_expired_shortly_before_the_clock_was_set_back);
	RUN(a_recurring_job_makes_up_for_a_bounded_number_of_runs);
	RUN(a_short_gap_costs_no_runs);
	RUN(a_recurring_job_runs_again_within_its_interval_after_a_step_back);
	RUN(a_first_run_in_the_far_future_stays_there_after_a_step_back);
	RUN(workers_are_not_seen_in_the_future);
	RUN(statistics_are_kept_by_the_time_after_a_step_back);
	RUN(a_step_back_that_only_moves_the_latest_time_counts_as_a_change);
	RUN(a_time_that_is_no_number_is_refused);
	return UNIT_RESULT();
}
