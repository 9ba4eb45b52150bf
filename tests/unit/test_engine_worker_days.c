#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "qless.h"
#include "util/buf.h"

#define DAY 86400.0
#define T0  (20000 * DAY + 3600)

static struct qless *q;

void setUp(void)
{
	q = qless_new(NULL);
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
}

void tearDown(void)
{
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, fail_finding, NULL));
	qless_free(q);
}

static void put(double now, const char *jid)
{
	struct qless_put put = { .worker = STR("boss"),
				 .queue = STR("q"),
				 .jid = str_from(jid),
				 .klass = STR("k"),
				 .data = STR("{}"),
				 .has_retries = true,
				 .retries = 1 };

	TEST_ASSERT_EQUAL_INT(0, qless_put(q, now, &put));
}

static void pop(double now, const char *worker, int64_t count, size_t expected)
{
	struct qless_jobs jobs;

	TEST_ASSERT_EQUAL_INT(0, qless_pop(q, now, STR("q"), str_from(worker), count, &jobs));
	TEST_ASSERT_EQUAL_size_t(expected, jobs.count);
}

static void forget_workers(double now)
{
	struct qless_advance advance = { .kind = QLESS_ADVANCE_WORKERS, .max = INT64_MAX };
	uint64_t count;

	TEST_ASSERT_EQUAL_INT(0, qless_advance(q, now, &advance, &count));
}

static void complete(double now, const char *jid, const char *worker)
{
	struct qless_complete complete = { .jid = str_from(jid),
					   .worker = str_from(worker),
					   .queue = STR("q"),
					   .data = STR("{}") };
	enum qless_state state;

	TEST_ASSERT_EQUAL_INT(0, qless_complete(q, now, &complete, &state));
}

static double retry(double now, const char *jid, const char *worker)
{
	struct qless_retry retry = { .jid = str_from(jid),
				     .queue = STR("q"),
				     .worker = str_from(worker) };
	double remaining = 0;

	TEST_ASSERT_EQUAL_INT(0, qless_retry(q, now, &retry, &remaining));
	return remaining;
}

/* The days as "day: popped completed failed lost; ". */
static void assert_days(const char *expected, const char *worker)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_worker_day day;
	size_t cursor = 0;

	while (qless_worker_next_day(q, str_from(worker), &cursor, &day))
		buf_printf(&text, "%g: %d %d %d %d; ", day.day / DAY, (int)day.popped,
			   (int)day.completed, (int)day.failed, (int)day.lost);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&text));
	buf_done(&text);
}

static void deeds_are_counted_by_day_newest_first(void)
{
	put(T0, "a");
	put(T0 + 0.1, "b");
	put(T0 + 0.2, "c");
	pop(T0 + 1, "w", 2, 2);
	assert_days("20000: 2 0 0 0; ", "w");
	complete(T0 + 2, "a", "w");
	TEST_ASSERT_EQUAL_INT(0,
			      qless_fail(q, T0 + 3, STR("b"), STR("w"), STR("g"), STR("m"), NULL));
	pop(T0 + DAY, "w", 5, 1);
	complete(T0 + 2 * DAY, "c", "w");
	assert_days("20002: 0 1 0 0; 20001: 1 0 0 0; 20000: 2 1 1 0; ", "w");
	assert_days("", "boss");
	assert_days("", "nobody");
}

static void a_worker_that_pops_nothing_has_done_nothing(void)
{
	pop(T0, "w", 1, 0);
	assert_days("", "w");
}

static void calls_that_are_late_count_for_their_own_day(void)
{
	put(T0, "a");
	put(T0 + 0.1, "b");
	put(T0 + 0.2, "c");
	pop(T0 + 2 * DAY, "w", 1, 1);
	pop(T0, "w", 1, 1);
	pop(T0 + DAY, "w", 1, 1);
	assert_days("20002: 1 0 0 0; 20001: 1 0 0 0; 20000: 1 0 0 0; ", "w");
}

static void a_lock_is_lost_when_it_is_taken_away_not_when_the_worker_is_warned(void)
{
	put(T0, "a");
	pop(T0, "w", 1, 1);
	pop(T0 + 100, "v", 1, 0); /* warns */
	assert_days("20000: 1 0 0 0; ", "w");
	pop(T0 + 200, "v", 1, 1);
	assert_days("20000: 1 0 0 1; ", "w");
	assert_days("20000: 1 0 0 0; ", "v");
	pop(T0 + 300, "w", 1, 0);
	pop(T0 + 400, "w", 1, 0); /* no retries left: the job fails */
	assert_days("20000: 1 0 0 1; ", "v");
}

static void a_lock_is_lost_by_a_timeout_and_by_a_put_of_another_worker(void)
{
	put(T0, "a");
	pop(T0, "w", 1, 1);
	TEST_ASSERT_EQUAL_INT(0, qless_timeout(q, T0 + 1, &STR("a"), 1));
	assert_days("20000: 1 0 0 1; ", "w");
	put(T0 + 2, "a"); /* it was lost before */
	assert_days("20000: 1 0 0 1; ", "w");
	pop(T0 + 3, "w", 1, 1);
	put(T0 + 4, "a");
	assert_days("20000: 2 0 0 2; ", "w");
	pop(T0 + 5, "boss", 1, 1);
	put(T0 + 6, "a"); /* by its own worker */
	assert_days("20000: 1 0 0 0; ", "boss");
}

static void a_retry_counts_as_failed_only_without_retries_left(void)
{
	put(T0, "a");
	pop(T0, "w", 1, 1);
	TEST_ASSERT_TRUE(retry(T0 + 1, "a", "w") == 0);
	assert_days("20000: 1 0 0 0; ", "w");
	pop(T0 + 2, "w", 1, 1);
	TEST_ASSERT_TRUE(retry(T0 + 3, "a", "w") == -1);
	assert_days("20000: 2 0 1 0; ", "w");
}

static void days_outlive_the_worker(void)
{
	struct qless_workers workers;
	struct qless_list jobs, stalled;

	put(T0, "a");
	pop(T0, "w", 1, 1);
	TEST_ASSERT_EQUAL_INT(0, qless_worker_deregister(q, T0, &STR("w"), 1));
	complete(T0 + 1, "a", "w");
	assert_days("20000: 1 1 0 0; ", "w");

	put(T0, "a");
	pop(T0, "v", 1, 1);
	forget_workers(T0 + 2 * DAY);
	TEST_ASSERT_EQUAL_INT(0, qless_workers(q, T0 + 2 * DAY, &workers));
	TEST_ASSERT_EQUAL_size_t(0, workers.count);
	TEST_ASSERT_EQUAL_INT(0, qless_worker_jobs(q, T0, STR("v"), &jobs, &stalled));
	TEST_ASSERT_EQUAL_size_t(0, jobs.count + stalled.count);
	assert_days("20000: 1 0 0 0; ", "v");
	complete(T0 + 2 * DAY, "a", "v");
	assert_days("20002: 0 1 0 0; 20000: 1 0 0 0; ", "v");
}

static void days_go_with_the_statistics(void)
{
	put(T0, "a");
	put(T0 + 0.1, "b");
	pop(T0, "w", 1, 1);
	TEST_ASSERT_EQUAL_INT(0, qless_worker_deregister(q, T0, &STR("w"), 1));
	complete(T0 + DAY, "a", "w");
	pop(T0 + 31 * DAY, "v", 1, 1);
	assert_days("20001: 0 1 0 0; 20000: 1 0 0 0; ", "w");
	qless_maintain(q);
	assert_days("20001: 0 1 0 0; ", "w");
	TEST_ASSERT_EQUAL_INT(0,
			      qless_config_set(q, T0 + 31 * DAY, STR("stats-history"), STR("29")));
	qless_maintain(q);
	assert_days("", "w");
	assert_days("20031: 1 0 0 0; ", "v");
}

static void keep_change(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void the_dump_has_the_days(void)
{
	struct buf dump = BUF_INIT(BUF_NO_MAX);

	put(T0, "a");
	pop(T0, "w", 1, 1);
	TEST_ASSERT_EQUAL_INT(0, qless_worker_deregister(q, T0, &STR("w"), 1));
	complete(T0 + 1, "a", "w");
	qless_dump(q, keep_change, &dump);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&dump), "worker \"w\"\n  day 1728000000 1 1 0 0\n"));
	buf_done(&dump);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(deeds_are_counted_by_day_newest_first);
	RUN(a_worker_that_pops_nothing_has_done_nothing);
	RUN(calls_that_are_late_count_for_their_own_day);
	RUN(a_lock_is_lost_when_it_is_taken_away_not_when_the_worker_is_warned);
	RUN(a_lock_is_lost_by_a_timeout_and_by_a_put_of_another_worker);
	RUN(a_retry_counts_as_failed_only_without_retries_left);
	RUN(days_outlive_the_worker);
	RUN(days_go_with_the_statistics);
	RUN(the_dump_has_the_days);
	return UNIT_RESULT();
}
