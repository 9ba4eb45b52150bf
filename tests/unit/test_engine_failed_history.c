/*
 * Deleting the oldest failed jobs: which one is next, and when.
 */
#include <math.h>

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

static void fail_job(double now, const char *jid, const char *group)
{
	put(now, "q", jid);
	pop(now, "q", "w", 1);
	fail(now, jid, "w", group);
}

static void cancel(double now, const char *jid)
{
	struct qless_str name = str_from(jid);

	OK(qless_cancel(q, now, &name, 1));
}

static void expect_next(double when, const char *jid)
{
	struct qless_str next;
	double due;

	do
		due = qless_next_failed_sweep(q, &next);
	while (due == -INFINITY && next.ptr == NULL);
	TEST_ASSERT_EQUAL_DOUBLE(when, due);
	if (when != INFINITY)
		TEST_ASSERT_TRUE(str_equal(str_from(jid), next));
}

static void delete (const char *jid)
{
	struct qless_str name = str_from(jid);
	uint64_t count;

	OK(qless_job_delete(q, 1000, &name, 1, &count));
	TEST_ASSERT_EQUAL_UINT64(1, count);
}

/* Deletes all that is to be deleted at a time, and returns the jids. */
static const char *sweep(double now)
{
	static char text[4096];
	struct qless_str next;
	size_t len = 0;

	text[0] = '\0';
	while (qless_next_failed_sweep(q, &next) <= now) {
		char jid[32];

		if (next.ptr == NULL)
			continue;
		snprintf(jid, sizeof jid, "%.*s", (int)next.len, next.ptr);
		len += (size_t)snprintf(text + len, sizeof text - len, "%s ", jid);
		delete (jid);
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
	}
	return text;
}

static void failed_jobs_are_kept_for_ever_by_default(void)
{
	fail_job(10, "a", "g");
	expect_next(INFINITY, "");
	set_option("failed-history", "0");
	set_option("failed-history-count", "0");
	expect_next(INFINITY, "");
}

static void a_failed_job_is_deleted_after_some_seconds(void)
{
	set_option("failed-history", "100");
	expect_next(INFINITY, "");
	fail_job(10, "a", "g");
	fail_job(20, "b", "other");
	fail_job(30, "c", "g");
	expect_next(110, "a");
	TEST_ASSERT_EQUAL_STRING("", sweep(109));
	TEST_ASSERT_EQUAL_STRING("a b ", sweep(120));
	expect_next(130, "c");
	set_option("failed-history", "50");
	expect_next(80, "c");
	OK(qless_config_unset(q, 0, STR("failed-history")));
	expect_next(INFINITY, "");
}

static void the_oldest_jobs_of_all_groups_are_deleted_when_there_are_too_many(void)
{
	fail_job(10, "a", "g");
	fail_job(20, "b", "other");
	fail_job(30, "c", "g");
	fail_job(40, "d", "other");
	set_option("failed-history-count", "3");
	TEST_ASSERT_EQUAL_STRING("a ", sweep(0));
	set_option("failed-history-count", "1");
	TEST_ASSERT_EQUAL_STRING("b c ", sweep(0));
	expect_next(INFINITY, "");
	/* A job that comes back does not count. */
	fail_job(50, "e", "g");
	put(60, "q", "e");
	expect_next(INFINITY, "");
	pop(60, "q", "w", 1);
	fail(60, "e", "w", "g");
	TEST_ASSERT_EQUAL_STRING("d ", sweep(0));
}

static void a_job_on_which_others_depend_is_kept_and_keeps_no_other(void)
{
	set_option("failed-history", "100");
	fail_job(10, "a", "g");
	fail_job(20, "b", "g");
	fail_job(30, "c", "other");
	put_depending(40, "q", "after-a", "a");
	put_depending(40, "q", "after-c", "c");
	TEST_ASSERT_EQUAL_STRING("b ", sweep(1000));
	expect_next(INFINITY, "");
	fail_job(50, "d", "g");
	expect_next(150, "d");
	/* Without its dependent, it is the oldest again. */
	cancel(60, "after-a");
	expect_next(110, "a");
	TEST_ASSERT_EQUAL_STRING("a d ", sweep(1000));
	TEST_ASSERT_TRUE(exists("c"));
}

static void a_search_gives_up_after_a_number_of_jobs_and_goes_on(void)
{
	struct qless_str next;
	unsigned calls = 0;
	char jid[32], after[32];

	set_option("failed-history", "100");
	for (int i = 0; i < 1000; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(after, sizeof after, "after%d", i);
		fail_job(10, jid, i % 2 == 0 ? "g" : "other");
		if (i < 999)
			put_depending(10, "later", after, jid);
	}
	while (qless_next_failed_sweep(q, &next) == -INFINITY) {
		TEST_ASSERT_NULL(next.ptr);
		calls++;
	}
	TEST_ASSERT_GREATER_THAN_UINT(10, calls);
	TEST_ASSERT_LESS_THAN_UINT(40, calls);
	ASSERT_STR("j999", next);
	/* The next search begins where this one ended. */
	expect_next(110, "j999");
}

static void an_option_that_is_no_number_is_as_none(void)
{
	fail_job(10, "a", "g");
	set_option("failed-history", "a week");
	set_option("failed-history-count", "-1");
	expect_next(INFINITY, "");
	set_option("failed-history", "5");
	expect_next(15, "a");
	set_option("failed-history", "a week");
	expect_next(INFINITY, "");
}

static void a_snapshot_and_a_repair_keep_the_order(void)
{
	set_option("failed-history", "100");
	fail_job(10, "a", "g");
	fail_job(20, "b", "other");
	put_depending(30, "q", "after-a", "a");
	expect_next(120, "b");
	reload();
	expect_next(120, "b");
	set_option("failed-history-count", "1");
	expect_next(-INFINITY, "b");
	/* The count and the places of groups may be damaged. */
	q->failed_count = 99;
	TEST_ASSERT_EQUAL_size_t(1, qless_check(q, NULL, NULL));
	qless_resolve(q, 40);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
	TEST_ASSERT_EQUAL_STRING("b ", sweep(0));
	TEST_ASSERT_EQUAL_UINT64(1, q->failed_count);
}

/* ---- a model ---- */

#define JOBS 12

static double failed_at[JOBS]; /* the order; 0: not failed */
static bool is_needed[JOBS];

static int find_oldest(void)
{
	int oldest = -1;

	for (int i = 0; i < JOBS; i++) {
		if (failed_at[i] > 0 && !is_needed[i] &&
		    (oldest < 0 || failed_at[i] < failed_at[oldest]))
			oldest = i;
	}
	return oldest;
}

static void any_history_finds_the_job_that_failed_first(void)
{
	static const char *const groups[] = { "g", "h", "i" };
	unsigned long long rng = 20261;
	double now = 1;

	set_option("failed-history", "1000");
	for (int step = 0; step < 20000; step++) {
		unsigned i = (unsigned)(unit_random(&rng) % JOBS);
		unsigned what = (unsigned)(unit_random(&rng) % 8);
		char jid[16], after[16];
		int oldest;

		snprintf(jid, sizeof jid, "j%u", i);
		snprintf(after, sizeof after, "after%u", i);
		now += 1;
		if (what < 3 && failed_at[i] == 0) {
			fail_job(now, jid, groups[unit_random(&rng) % 3]);
			failed_at[i] = now;
		} else if (what == 3 && failed_at[i] > 0 && !is_needed[i]) {
			put_depending(now, "later", after, jid);
			is_needed[i] = true;
		} else if (what == 4 && is_needed[i]) {
			cancel(now, after);
			is_needed[i] = false;
		} else if (what == 5 && failed_at[i] > 0 && !is_needed[i]) {
			put(now, "q", jid);
			cancel(now, jid);
			failed_at[i] = 0;
		} else if (what == 6 && step % 50 == 0) {
			reload();
		}
		oldest = find_oldest();
		snprintf(jid, sizeof jid, "j%d", oldest);
		expect_next(oldest < 0 ? INFINITY : failed_at[oldest] + 1000, jid);
		if (what == 7 && oldest >= 0) {
			delete (jid);
			failed_at[oldest] = 0;
		}
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(failed_jobs_are_kept_for_ever_by_default);
	RUN(a_failed_job_is_deleted_after_some_seconds);
	RUN(the_oldest_jobs_of_all_groups_are_deleted_when_there_are_too_many);
	RUN(a_job_on_which_others_depend_is_kept_and_keeps_no_other);
	RUN(a_search_gives_up_after_a_number_of_jobs_and_goes_on);
	RUN(an_option_that_is_no_number_is_as_none);
	RUN(a_snapshot_and_a_repair_keep_the_order);
	RUN(any_history_finds_the_job_that_failed_first);
	return UNITY_END();
}
