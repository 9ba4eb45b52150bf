/*
 * Complete jobs that are retained: for how long, what purges leave alone, and what ends it.
 */
#include <math.h>

#include "engine/engine_int.h"
#include "engine/retain.h"

#include "limiting.h"

#define ACK INFINITY

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void put_retained(double now, const char *queue, const char *jid, double seconds)
{
	struct qless_terms terms = { .has_retain = true, .retain = seconds };
	struct qless_put p = a_put(queue, jid);

	p.terms = &terms;
	OK(qless_put(q, now, &p));
}

/* Completes the next job of a queue. */
static void run(double now, const char *queue, const char *jid)
{
	char popped[32];

	snprintf(popped, sizeof popped, "%s ", jid);
	TEST_ASSERT_EQUAL_STRING(popped, pop(now, queue, "w", 1));
	complete(now, queue, jid, "w");
}

static void complete_plain(double now, const char *jid)
{
	put(now, "plain", jid);
	run(now, "plain", jid);
}

static void complete_retained(double now, const char *jid, double seconds)
{
	put_retained(now, "q", jid, seconds);
	run(now, "q", jid);
}

static void expect_retained(const char *jid, double seconds, double ends)
{
	struct qless_retained retained;

	TEST_ASSERT_TRUE(qless_job_retained(qless_get(q, str_from(jid)), &retained));
	TEST_ASSERT_TRUE(retained.seconds == seconds);
	TEST_ASSERT_TRUE(retained.ends == ends);
}

static bool is_retained(const char *jid)
{
	struct qless_retained retained;

	return qless_job_retained(qless_get(q, str_from(jid)), &retained);
}

static void expect_next(double when, const char *jid)
{
	struct qless_str next;

	TEST_ASSERT_TRUE(qless_next_retained_sweep(q, &next) == when);
	if (when != INFINITY)
		TEST_ASSERT_TRUE(str_equal(str_from(jid), next));
}

static void delete (double now, const char *jid)
{
	struct qless_str name = str_from(jid);
	uint64_t count;

	OK(qless_job_delete(q, now, &name, 1, &count));
	TEST_ASSERT_EQUAL_UINT64(1, count);
}

static void a_complete_job_is_retained_for_its_seconds(void)
{
	put_retained(0, "q", "a", 100);
	TEST_ASSERT_FALSE(is_retained("a"));
	expect_next(INFINITY, "");
	run(5, "q", "a");
	expect_retained("a", 100, 105);
	complete_retained(10, "b", 50);
	complete_retained(10, "c", 200);
	TEST_ASSERT_EQUAL_size_t(3, qless_retained_count(q));
	expect_next(60, "b");
	delete (60, "b");
	expect_next(105, "a");
	delete (105, "a");
	expect_next(210, "c");
}

static void an_acknowledged_job_is_retained_until_it_is_deleted(void)
{
	complete_retained(0, "a", ACK);
	expect_retained("a", ACK, ACK);
	expect_next(INFINITY, "");
	TEST_ASSERT_EQUAL_size_t(1, qless_retained_count(q));
	delete (1, "a");
	TEST_ASSERT_EQUAL_size_t(0, qless_retained_count(q));
}

static void a_job_that_is_retained_for_no_time_is_deleted_when_it_completes(void)
{
	put_retained(0, "q", "a", 0);
	put_depending(0, "q", "after", "a");
	forget_events();
	run(1, "q", "a");
	TEST_ASSERT_FALSE(exists("a"));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&events), "\"deleted\""));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("after").state);
	TEST_ASSERT_EQUAL_STRING("", jobs_in(2, QLESS_LIST_COMPLETE, ""));
	/* Purges go on meanwhile. */
	set_option("jobs-history-count", "1");
	run(2, "q", "after");
	complete_retained(4, "b", 0);
	TEST_ASSERT_TRUE(exists("after"));
	complete_retained(5000000, "c", 0);
	TEST_ASSERT_FALSE(exists("after"));
}

static void purges_leave_retained_jobs_alone(void)
{
	set_option("jobs-history-count", "2");
	set_option("jobs-history", "1000");
	complete_retained(1, "r1", ACK);
	complete_plain(2, "p1");
	complete_retained(3, "r2", 5000);
	complete_plain(4, "p2");
	TEST_ASSERT_EQUAL_STRING("p2 r2 p1 r1 ", jobs_in(4, QLESS_LIST_COMPLETE, ""));
	/* The retained ones do not count. */
	complete_plain(5, "p3");
	TEST_ASSERT_EQUAL_STRING("p3 p2 r2 r1 ", jobs_in(5, QLESS_LIST_COMPLETE, ""));
	complete_plain(2000, "p4");
	TEST_ASSERT_EQUAL_STRING("p4 r2 r1 ", jobs_in(2000, QLESS_LIST_COMPLETE, ""));
}

static void a_purge_passes_over_any_number_of_retained_jobs(void)
{
	char jid[16];

	set_option("jobs-history-count", "1");
	complete_plain(1, "p");
	for (int i = 0; i < 300; i++) {
		snprintf(jid, sizeof jid, "r%d", i);
		complete_retained(2 + i, jid, ACK);
		/* Runs of each length. */
		snprintf(jid, sizeof jid, "p%d", i);
		if (i % 50 == 7 || i % 17 == 0)
			complete_plain(2 + i, jid);
		TEST_ASSERT_EQUAL_UINT32(i + 2, skiplist_count(&q->completed));
	}
	/* All jobs before the one that is left are retained, and no purge looks at them again. */
	complete_plain(1000, "last");
	TEST_ASSERT_TRUE(q->retained.below > 0);
	/* A clock that went back completes jobs before them. */
	complete_plain(0, "early");
	TEST_ASSERT_EQUAL_UINT32(301, skiplist_count(&q->completed));
	TEST_ASSERT_FALSE(exists("early"));
	TEST_ASSERT_TRUE(exists("last"));
}

static void a_job_that_comes_back_is_no_longer_retained(void)
{
	complete_retained(0, "a", 100);
	put(1, "q", "a");
	TEST_ASSERT_EQUAL_size_t(0, qless_retained_count(q));
	expect_next(INFINITY, "");
	/* It keeps the term, like its priority. */
	run(10, "q", "a");
	expect_retained("a", 100, 110);
	put_retained(20, "q", "a", ACK);
	run(30, "q", "a");
	expect_retained("a", ACK, ACK);
}

static void the_next_queue_may_have_other_terms(void)
{
	struct qless_terms terms = { .has_retain = true, .retain = 7 };
	struct qless_str next = STR("next");
	struct qless_complete c = { .jid = STR("a"),
				    .worker = STR("w"),
				    .queue = STR("q"),
				    .data = STR("{}"),
				    .next = &next,
				    .terms = &terms };
	enum qless_state state;

	put_retained(0, "q", "a", ACK);
	pop(0, "q", "w", 1);
	OK(qless_complete(q, 1, &c, &state));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state);
	TEST_ASSERT_FALSE(is_retained("a"));
	run(2, "next", "a");
	expect_retained("a", 7, 9);
}

static void a_queue_retains_jobs_that_do_not_say(void)
{
	set_option("q-retain", "60");
	put(0, "q", "a");
	set_option("q-retain", "30");
	run(1, "q", "a");
	expect_retained("a", 30, 31);
	/* The time of the job goes first. */
	complete_retained(2, "b", ACK);
	expect_retained("b", ACK, ACK);
	complete_plain(2, "c");
	TEST_ASSERT_FALSE(is_retained("c"));
	set_option("q-retain", "ack");
	put(3, "q", "d");
	run(3, "q", "d");
	expect_retained("d", ACK, ACK);
	OK(qless_config_unset(q, 3, STR("q-retain")));
	put(4, "q", "e");
	run(4, "q", "e");
	TEST_ASSERT_FALSE(is_retained("e"));
	/* Jobs that are complete keep what they have. */
	expect_retained("a", 30, 31);
	set_option("q-retain", "0");
	put(5, "q", "f");
	run(5, "q", "f");
	TEST_ASSERT_FALSE(exists("f"));
}

static void an_option_that_is_no_time_is_as_if_it_were_not_set(void)
{
	static const char *const texts[] = { "", "soon", "-1", "ACK", "nan", "inf" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		set_option("q-retain", texts[i]);
		put((double)i, "q", "a");
		run((double)i, "q", "a");
		TEST_ASSERT_FALSE_MESSAGE(is_retained("a"), texts[i]);
		TEST_ASSERT_TRUE(exists("a"));
	}
}

static void impossible_times_are_refused(void)
{
	struct qless_terms terms = { .has_retain = true, .retain = -1 };
	struct qless_put p = a_put("q", "a");

	p.terms = &terms;
	ASSERT_ERROR(QLESS_EBADARG, "put: retain must not be negative: -1", qless_put(q, 0, &p));
	terms.retain = NAN;
	ASSERT_ERROR(QLESS_EBADARG, "put: retain is not a finite number: nan", qless_put(q, 0, &p));
	TEST_ASSERT_FALSE(exists("a"));
}

static void recurring_jobs_pass_it_on(void)
{
	struct qless_terms terms = { .has_retain = true, .retain = 9 };
	struct qless_recur_put r = { .queue = STR("q"),
				     .jid = STR("r"),
				     .klass = STR("k"),
				     .data = STR("{}"),
				     .interval = 60,
				     .terms = &terms };

	OK(qless_recur(q, 0, &r));
	reload();
	run(1, "q", "r-1");
	expect_retained("r-1", 9, 10);
}

static void a_snapshot_keeps_retained_jobs(void)
{
	set_option("q-retain", "40");
	complete_retained(1, "a", ACK);
	complete_retained(2, "b", 30.5);
	put(3, "q", "c");
	run(3, "q", "c");
	put_retained(4, "q", "d", 5);
	reload();
	TEST_ASSERT_EQUAL_size_t(3, qless_retained_count(q));
	expect_retained("c", 40, 43);
	expect_next(32.5, "b");
}

static void a_repair_makes_the_indexes_anew(void)
{
	struct qless_job *job;

	complete_retained(1, "a", 50);
	complete_retained(2, "b", 60);
	complete_plain(3, "p");
	job = (struct qless_job *)(uintptr_t)qless_get(q, STR("a"));
	skiplist_remove(&q->retained.list, skiplist_first(&q->retained.list));
	heap_remove(&q->retained.ends, heap_first(&q->retained.ends));
	TEST_ASSERT_GREATER_THAN_size_t(0, qless_check(q, NULL, NULL));
	TEST_ASSERT_GREATER_THAN_size_t(0, qless_resolve(q, 10));
	expect_next(51, "a");
	/* A bound that is too high would hide a job from purges. */
	q->retained.below = 100;
	TEST_ASSERT_GREATER_THAN_size_t(0, qless_check(q, NULL, NULL));
	qless_resolve(q, 10);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
	/* A job that is in the list by mistake is not retained elsewhere. */
	job->state = QLESS_WAITING;
	TEST_ASSERT_GREATER_THAN_size_t(0, qless_check(q, NULL, NULL));
	job->state = QLESS_COMPLETE;
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
}

static void a_job_without_it_takes_no_memory_for_it(void)
{
	complete_plain(1, "p");
	TEST_ASSERT_EQUAL_INT(0, qless_get(q, STR("p"))->flags & JOB_CARRIES);
	set_option("q-retain", "50");
	put(1, "q", "a");
	TEST_ASSERT_EQUAL_INT(0, qless_get(q, STR("a"))->flags & JOB_CARRIES);
	run(2, "q", "a");
	TEST_ASSERT_NOT_EQUAL_INT(0, qless_get(q, STR("a"))->flags & JOB_CARRIES);
	put(3, "q", "a");
	TEST_ASSERT_EQUAL_INT(0, qless_get(q, STR("a"))->flags & JOB_CARRIES);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(a_complete_job_is_retained_for_its_seconds);
	RUN_TEST(an_acknowledged_job_is_retained_until_it_is_deleted);
	RUN_TEST(a_job_that_is_retained_for_no_time_is_deleted_when_it_completes);
	RUN_TEST(purges_leave_retained_jobs_alone);
	RUN_TEST(a_purge_passes_over_any_number_of_retained_jobs);
	RUN_TEST(a_job_that_comes_back_is_no_longer_retained);
	RUN_TEST(the_next_queue_may_have_other_terms);
	RUN_TEST(a_queue_retains_jobs_that_do_not_say);
	RUN_TEST(an_option_that_is_no_time_is_as_if_it_were_not_set);
	RUN_TEST(impossible_times_are_refused);
	RUN_TEST(recurring_jobs_pass_it_on);
	RUN_TEST(a_snapshot_keeps_retained_jobs);
	RUN_TEST(a_repair_makes_the_indexes_anew);
	RUN_TEST(a_job_without_it_takes_no_memory_for_it);
	return UNITY_END();
}
