/*
 * The runtime of jobs: how long one run may take.
 */
#include "engine/engine_int.h"

#include "limiting.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void put_terms(double now, const char *jid, double retries, const struct qless_terms *terms)
{
	struct qless_put p = a_put("q", jid);

	p.terms = terms;
	p.has_retries = true;
	p.retries = retries;
	OK(qless_put(q, now, &p));
}

static void put_runtime(double now, const char *jid, double retries, double runtime)
{
	struct qless_terms terms = { .has_runtime = true, .runtime = runtime };

	put_terms(now, jid, retries, &terms);
}

static int beat(double now, const char *jid)
{
	double expires;

	return qless_heartbeat(q, now, str_from(jid), STR("w"), NULL, &expires);
}

/* Ends the run of the job if it is over. */
static bool end(double now, const char *jid)
{
	bool ended = false;

	OK(qless_overtime(q, now, str_from(jid), &ended));
	return ended;
}

static struct qless_renewed renew(double now)
{
	struct qless_renewal renewal = {
		.worker = STR("w"), .after = -1, .until = 1e9, .max = 1000
	};
	struct qless_renewed renewed;

	OK(qless_worker_renew(q, now, &renewal, &renewed));
	return renewed;
}

#define ASSERT_STATE(expected, jid)   TEST_ASSERT_EQUAL_INT(QLESS_##expected, info_of(jid).state)
#define ASSERT_EXPIRES(expected, jid) TEST_ASSERT_EQUAL_DOUBLE(expected, info_of(jid).expires)

static void heartbeats_do_not_extend_a_lock_beyond_the_runtime(void)
{
	put_runtime(0, "j", 5, 100);
	pop(10, "q", "w", 1);
	ASSERT_EXPIRES(70, "j");
	OK(beat(60, "j"));
	ASSERT_EXPIRES(110, "j");
	OK(beat(109, "j"));
	ASSERT_EXPIRES(110, "j");
	TEST_ASSERT_EQUAL_DOUBLE(110, qless_next_overtime(q, NULL));
	ASSERT_ERROR(QLESS_ENOTRUNNING,
		     "heartbeat: the run of job j is over, it took longer than 100 seconds",
		     beat(110, "j"));
}

static void a_short_runtime_shortens_the_first_lock(void)
{
	struct qless_str worker = STR("w");
	struct qless_list jobs, stalled;

	put_runtime(0, "j", 5, 20);
	put(0, "q", "k");
	pop(10, "q", "w", 2);
	ASSERT_EXPIRES(30, "j");
	ASSERT_EXPIRES(70, "k");
	OK(qless_worker_jobs(q, 31, worker, &jobs, &stalled));
	TEST_ASSERT_EQUAL_STRING("j ", words(&stalled));
	TEST_ASSERT_EQUAL_DOUBLE(30, qless_next_due(q));
}

static void a_run_that_is_over_has_no_grace_period(void)
{
	put_runtime(0, "j", 5, 20);
	pop(10, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("", pop(29, "q", "other", 1));
	forget_events();
	TEST_ASSERT_EQUAL_STRING("j ", pop(30, "q", "other", 1));
	TEST_ASSERT_EQUAL_DOUBLE(4, info_of("j").remaining);
	TEST_ASSERT_EQUAL_STRING("put@0 popped@10 timed-out@30 popped@30 ", history_of("j"));
	ASSERT_EXPIRES(50, "j");
	TEST_ASSERT_NOT_NULL(strstr(buf_data(&events), "lock_lost"));
}

static void a_grace_period_ends_with_the_run(void)
{
	set_option("q-heartbeat", "10");
	put_runtime(0, "j", 5, 15);
	pop(0, "q", "w", 1);
	/* The lock expires before the run is over, so there is a warning. */
	TEST_ASSERT_EQUAL_STRING("", pop(11, "q", "other", 1));
	TEST_ASSERT_EQUAL_DOUBLE(15, qless_queue_next_due(q, STR("q")));
	TEST_ASSERT_EQUAL_STRING("j ", pop(15, "q", "other", 1));
	TEST_ASSERT_EQUAL_STRING("put@0 popped@0 timed-out@11 popped@15 ", history_of("j"));
}

static void a_call_ends_a_run_without_a_pop(void)
{
	struct qless_str jid = STR("");

	put_runtime(0, "j", 5, 20);
	OK(qless_pause(q, 0, &STR("other"), 1));
	pop(10, "q", "w", 1);
	TEST_ASSERT_EQUAL_DOUBLE(30, qless_next_overtime(q, &jid));
	ASSERT_STR("j", jid);
	TEST_ASSERT_FALSE(end(29, "j"));
	TEST_ASSERT_TRUE(end(30, "j"));
	ASSERT_STATE(WAITING, "j");
	TEST_ASSERT_TRUE(isinf(qless_next_overtime(q, NULL)));
	TEST_ASSERT_FALSE(end(31, "j"));
	TEST_ASSERT_FALSE(end(31, "none"));
}

static void a_run_that_is_over_backs_off(void)
{
	struct qless_terms terms = { .has_runtime = true,
				     .runtime = 20,
				     .has_backoff = true,
				     .backoff = { QLESS_BACKOFF_FIXED, 10, 10 } };
	double due;

	put_terms(0, "j", 5, &terms);
	pop(10, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("", pop(30, "q", "other", 1));
	ASSERT_STATE(SCHEDULED, "j");
	due = qless_next_due(q);
	TEST_ASSERT_TRUE(due >= 38 && due <= 40);
	TEST_ASSERT_EQUAL_STRING("j ", pop(40, "q", "other", 1));
	TEST_ASSERT_TRUE(end(60, "j"));
	ASSERT_STATE(SCHEDULED, "j");
	TEST_ASSERT_EQUAL_DOUBLE(3, info_of("j").remaining);
}

static void without_retries_left_the_job_fails_as_timed_out(void)
{
	put_runtime(0, "a", 0, 20);
	put_runtime(0, "b", 0, 20);
	pop(10, "q", "w", 2);
	TEST_ASSERT_TRUE(end(31, "a"));
	TEST_ASSERT_EQUAL_STRING("", pop(31, "q", "other", 1));
	for (int i = 0; i < 2; i++) {
		const char *jid = i == 0 ? "a" : "b";

		ASSERT_STATE(FAILED, jid);
		ASSERT_STR("timed-out", info_of(jid).failure.group);
		ASSERT_STR("The run took longer than 20 seconds", info_of(jid).failure.message);
		ASSERT_STR("w", info_of(jid).failure.worker);
	}
}

static void a_worker_may_report_until_its_run_has_ended(void)
{
	put_runtime(0, "j", 5, 20);
	pop(0, "q", "w", 1);
	complete(21, "q", "j", "w");
	TEST_ASSERT_TRUE(isinf(qless_next_overtime(q, NULL)));
	TEST_ASSERT_FALSE(end(30, "j"));
}

static void each_end_of_a_run_forgets_its_runtime(void)
{
	struct qless_retry r = { .jid = STR("j"), .queue = STR("q"), .worker = STR("w") };
	struct qless_release release = { .worker = STR("w"), .max = 10 };
	struct qless_released released;
	double remaining;

	set_option("q-runtime", "20");
	for (int i = 0; i < 6; i++) {
		put(i, "q", "j");
		TEST_ASSERT_EQUAL_STRING("j ", pop(i, "q", "w", 1));
		TEST_ASSERT_EQUAL_DOUBLE(i + 20, qless_next_overtime(q, NULL));
		if (i == 0)
			OK(qless_retry(q, i, &r, &remaining));
		else if (i == 1)
			OK(qless_timeout(q, i, &STR("j"), 1));
		else if (i == 2)
			OK(qless_worker_release(q, i, &release, &released));
		else if (i == 3)
			fail(i, "j", "w", "g");
		else if (i == 4)
			put(i, "q", "j");
		else
			OK(qless_cancel(q, i, &STR("j"), 1));
		TEST_ASSERT_TRUE(isinf(qless_next_overtime(q, NULL)));
		TEST_ASSERT_TRUE(!exists("j") || !info_of("j").carries);
	}
}

static void the_option_of_a_queue_is_the_default(void)
{
	put(0, "q", "j");
	put_runtime(0, "k", 5, 50);
	set_option("q-runtime", "20");
	pop(0, "q", "w", 2);
	ASSERT_EXPIRES(20, "j");
	ASSERT_EXPIRES(50, "k");
	/* It counts for later hand-outs. */
	set_option("q-runtime", "30");
	OK(beat(10, "j"));
	ASSERT_EXPIRES(20, "j");
	TEST_ASSERT_TRUE(end(20, "j"));
	pop(20, "q", "w", 1);
	ASSERT_EXPIRES(50, "j");
	OK(qless_config_unset(q, 20, STR("q-runtime")));
	TEST_ASSERT_TRUE(end(50, "j"));
	TEST_ASSERT_TRUE(end(50, "k"));
	TEST_ASSERT_EQUAL_STRING("k j ", pop(60, "q", "w", 5));
	ASSERT_EXPIRES(120, "j");
	ASSERT_EXPIRES(110, "k");
	put_runtime(61, "k", 5, 0);
	TEST_ASSERT_FALSE(info_of("k").carries);
}

static void an_option_that_is_no_runtime_is_none(void)
{
	set_option("q-runtime", "soon");
	put(0, "q", "j");
	pop(0, "q", "w", 1);
	TEST_ASSERT_TRUE(isinf(qless_next_overtime(q, NULL)));
	set_option("q-runtime", "-5");
	put(0, "q", "k");
	pop(0, "q", "w", 1);
	TEST_ASSERT_TRUE(isinf(qless_next_overtime(q, NULL)));
}

static void renewals_do_not_extend_a_lock_beyond_the_runtime(void)
{
	double expires, lease;

	put_runtime(0, "j", 5, 100);
	put(0, "q", "k");
	pop(0, "q", "w", 2);
	TEST_ASSERT_EQUAL_size_t(2, renew(50).count);
	ASSERT_EXPIRES(100, "j");
	ASSERT_EXPIRES(110, "k");
	/* Nothing would extend the lock of j. */
	TEST_ASSERT_TRUE(qless_worker_first_lock(q, STR("w"), -1, &expires, &lease));
	TEST_ASSERT_EQUAL_DOUBLE(110, expires);
	renew(99);
	ASSERT_EXPIRES(100, "j");
	complete(99, "q", "k", "w");
	TEST_ASSERT_FALSE(qless_worker_first_lock(q, STR("w"), -1, &expires, &lease));
}

static void a_renewal_that_extends_nothing_changes_nothing(void)
{
	uint64_t changes;

	put_runtime(0, "j", 5, 20);
	pop(0, "q", "w", 1);
	reload();
	changes = qless_changes(q);
	renew(10);
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
	reload();
}

static void a_released_job_that_uses_a_retry_backs_off(void)
{
	struct qless_terms terms = { .has_backoff = true,
				     .backoff = { QLESS_BACKOFF_FIXED, 10, 10 } };
	struct qless_release release = { .worker = STR("w"), .counts = true, .max = 10 };
	struct qless_released released;

	put_terms(0, "j", 5, &terms);
	pop(0, "q", "w", 1);
	OK(qless_worker_release(q, 1, &release, &released));
	ASSERT_STATE(SCHEDULED, "j");
	pop(20, "q", "w", 1);
	release.counts = false;
	OK(qless_worker_release(q, 21, &release, &released));
	ASSERT_STATE(WAITING, "j");
}

static void a_job_with_limits_frees_its_slot_when_its_run_is_over(void)
{
	struct qless_str names[LIMIT_NAMES_MAX];
	struct qless_terms terms = { .has_runtime = true, .runtime = 20 };
	struct qless_put p = a_limited_put("q", "j", "a", names);

	set_concurrency(0, "a", 1);
	p.terms = &terms;
	OK(qless_put(q, 0, &p));
	p.queue = STR("other");
	p.jid = STR("k");
	OK(qless_put(q, 0, &p));
	TEST_ASSERT_EQUAL_STRING("j ", pop(0, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("", pop(19, "other", "w2", 1));
	reload();
	TEST_ASSERT_EQUAL_STRING("k ", pop(20, "other", "w2", 1));
	ASSERT_STATE(WAITING, "j");
}

static void a_run_keeps_the_time_that_was_left_when_the_clock_is_set(void)
{
	put_runtime(0, "j", 5, 100);
	pop(1000, "q", "w", 1);
	OK(beat(1050, "j"));
	OK(qless_step_clock(q, 8050, 1050));
	TEST_ASSERT_EQUAL_DOUBLE(8100, qless_next_overtime(q, NULL));
	ASSERT_EXPIRES(8100, "j");
	OK(qless_step_clock(q, 1060, 8060));
	TEST_ASSERT_EQUAL_DOUBLE(1100, qless_next_overtime(q, NULL));
	OK(qless_step_clock(q, 1030, 1060));
	TEST_ASSERT_EQUAL_DOUBLE(1070, qless_next_overtime(q, NULL));
	TEST_ASSERT_TRUE(info_of("j").expires <= 1070);
	reload();
}

static void a_snapshot_has_the_ends_of_runs(void)
{
	put_runtime(0, "a", 5, 20);
	put(0.1, "q", "b");
	put(0.2, "q", "c");
	set_option("q-runtime", "30");
	set_option("q-heartbeat", "10");
	pop(1, "q", "w", 2);
	pop(5, "q", "w", 1);
	/* The locks of a and b have expired. */
	pop(12, "q", "w", 2);
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(21, qless_next_overtime(q, NULL));
	TEST_ASSERT_TRUE(end(21, "a"));
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(31, qless_next_overtime(q, NULL));
}

static void runs_of_a_job_with_invalid_retries_fail(void)
{
	put_runtime(0, "j", 0.5, 20);
	pop(0, "q", "w", 1);
	TEST_ASSERT_TRUE(end(20, "j"));
	ASSERT_STATE(FAILED, "j");
	ASSERT_STR("invalid-retries-q", info_of("j").failure.group);
}

static void many_runs_end_in_the_order_of_their_ends(void)
{
	struct qless_str jid = STR("");
	char name[16];
	double last = 0;

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "j%d", i);
		put_runtime(0, name, 5, 1 + i * 37 % 200);
	}
	TEST_ASSERT_EQUAL_size_t(0, q->runs.count);
	for (int i = 0; i < 200; i++)
		pop(0, "q", "w", 1);
	TEST_ASSERT_EQUAL_size_t(200, q->runs.count);
	for (int i = 0; i < 200; i++) {
		double when = qless_next_overtime(q, &jid);

		TEST_ASSERT_TRUE(when > last);
		snprintf(name, sizeof name, "%.*s", (int)jid.len, jid.ptr);
		TEST_ASSERT_TRUE(end(when, name));
		last = when;
	}
	TEST_ASSERT_EQUAL_size_t(0, q->runs.count);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(heartbeats_do_not_extend_a_lock_beyond_the_runtime);
	RUN_TEST(a_short_runtime_shortens_the_first_lock);
	RUN_TEST(a_run_that_is_over_has_no_grace_period);
	RUN_TEST(a_grace_period_ends_with_the_run);
	RUN_TEST(a_call_ends_a_run_without_a_pop);
	RUN_TEST(a_run_that_is_over_backs_off);
	RUN_TEST(without_retries_left_the_job_fails_as_timed_out);
	RUN_TEST(a_worker_may_report_until_its_run_has_ended);
	RUN_TEST(each_end_of_a_run_forgets_its_runtime);
	RUN_TEST(the_option_of_a_queue_is_the_default);
	RUN_TEST(an_option_that_is_no_runtime_is_none);
	RUN_TEST(renewals_do_not_extend_a_lock_beyond_the_runtime);
	RUN_TEST(a_renewal_that_extends_nothing_changes_nothing);
	RUN_TEST(a_released_job_that_uses_a_retry_backs_off);
	RUN_TEST(a_job_with_limits_frees_its_slot_when_its_run_is_over);
	RUN_TEST(a_run_keeps_the_time_that_was_left_when_the_clock_is_set);
	RUN_TEST(a_snapshot_has_the_ends_of_runs);
	RUN_TEST(runs_of_a_job_with_invalid_retries_fail);
	RUN_TEST(many_runs_end_in_the_order_of_their_ends);
	return UNITY_END();
}
