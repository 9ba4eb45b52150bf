#include <float.h>

#include "engine.h"

#define MANY 1000

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static size_t release_some(double now, const char *worker, bool counts, int64_t max, bool *ret_more)
{
	struct qless_release release = { str_from(worker), counts, max };
	struct qless_released released;

	OK(qless_worker_release(q, now, &release, &released));
	*ret_more = released.more;
	return released.count;
}

static size_t release(double now, const char *worker, bool counts)
{
	bool more;
	size_t count = release_some(now, worker, counts, INT64_MAX, &more);

	TEST_ASSERT_FALSE(more);
	return count;
}

static size_t renew_some(double now, const char *worker, double after, double *until, int64_t max)
{
	struct qless_renewal renewal = { str_from(worker), after, *until, max };
	struct qless_renewed renewed;

	OK(qless_worker_renew(q, now, &renewal, &renewed));
	*until = renewed.until;
	return renewed.count;
}

static size_t renew(double now, const char *worker)
{
	double until = DBL_MAX;
	size_t count = renew_some(now, worker, now, &until, INT64_MAX);

	TEST_ASSERT_TRUE(until <= now);
	return count;
}

static void put_many(double now, const char *queue, const char *prefix, int count)
{
	for (int i = 0; i < count; i++) {
		char jid[32];

		snprintf(jid, sizeof jid, "%s%d", prefix, i);
		put(now, queue, jid);
	}
}

static size_t pop_many(double now, const char *queue, const char *worker, int64_t count)
{
	struct qless_jobs jobs;

	OK(qless_pop(q, now, str_from(queue), str_from(worker), count, &jobs));
	return jobs.count;
}

static const char *held(double now, const char *worker)
{
	struct qless_list jobs, stalled;

	OK(qless_worker_jobs(q, now, str_from(worker), &jobs, &stalled));
	return words(&jobs);
}

/* ---- releasing ---- */

static void released_jobs_wait_in_their_queues(void)
{
	put(1, "q", "a");
	put(1, "p", "b");
	put(1, "q", "other");
	pop(2, "q", "v", 1);
	pop(3, "q", "w", 1);
	pop(3, "p", "w", 1);
	forget_events();
	TEST_ASSERT_EQUAL_size_t(2, release(10, "w", false));
	ASSERT_EVENTS("ql:w:w {\"jid\":\"a\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"a\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:w:w {\"jid\":\"b\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"b\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("a").state);
	ASSERT_STR("", info_of("a").worker);
	TEST_ASSERT_TRUE(info_of("a").expires == 0 && info_of("a").remaining == 5);
	TEST_ASSERT_EQUAL_STRING("put@1 popped@3 released@10 ", history_of("a"));
	TEST_ASSERT_EQUAL_STRING("", held(10, "w"));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("other").state);
	TEST_ASSERT_EQUAL_STRING("a ", pop(11, "q", "x", 5));
	TEST_ASSERT_EQUAL_STRING("b ", pop(11, "p", "x", 5));
	TEST_ASSERT_EQUAL_size_t(0, release(12, "w", false));
	TEST_ASSERT_EQUAL_size_t(0, release(12, "nobody", false));
}

static void a_release_makes_the_old_hand_out_stale(void)
{
	uint64_t first;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	first = info_of("j").lock;
	release(3, "w", false);
	TEST_ASSERT_EQUAL_INT(QLESS_ENOTRUNNING,
			      qless_check_lock(q, QLESS_OP_HEARTBEAT, STR("j"), first));
	pop(4, "q", "w", 1);
	TEST_ASSERT_EQUAL_INT(QLESS_ENOTOWNER,
			      qless_check_lock(q, QLESS_OP_HEARTBEAT, STR("j"), first));
}

static void a_released_job_is_as_old_as_its_hand_out(void)
{
	put(1, "q", "j");
	pop(5, "q", "w", 1);
	put(4, "q", "older");
	put(6, "q", "younger");
	put_priority(7, "q", "urgent", 1);
	release(10, "w", false);
	TEST_ASSERT_EQUAL_STRING("urgent older j younger ", pop(11, "q", "v", 5));
}

static void a_release_can_use_up_a_retry(void)
{
	put_retries(1, "q", "j", 1);
	pop(2, "q", "w", 1);
	TEST_ASSERT_EQUAL_size_t(1, release(3, "w", true));
	TEST_ASSERT_TRUE(info_of("j").remaining == 0);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
	pop(4, "q", "w", 1);
	TEST_ASSERT_EQUAL_size_t(1, release(5, "w", true));
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info_of("j").state);
	ASSERT_STR("failed-retries-q", info_of("j").failure.group);
	TEST_ASSERT_EQUAL_STRING("put@1 popped@2 released@3 popped@4 released@5 failed@5 ",
				 history_of("j"));
	TEST_ASSERT_EQUAL_STRING("", held(6, "w"));
}

static void a_stalled_job_is_released_too(void)
{
	put(1, "q", "j");
	pop(2, "q", "w", 1);
	TEST_ASSERT_EQUAL_size_t(1, release(100, "w", false));
	TEST_ASSERT_EQUAL_STRING("j ", pop(101, "q", "v", 1));
	TEST_ASSERT_TRUE(info_of("j").remaining == 5);
}

static void a_job_that_timed_out_is_not_released(void)
{
	struct qless_str jid = STR("j");

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	OK(qless_timeout(q, 3, &jid, 1));
	pop(4, "q", "v", 1);
	TEST_ASSERT_EQUAL_size_t(0, release(5, "w", false));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("j").state);
	ASSERT_STR("v", info_of("j").worker);
	TEST_ASSERT_EQUAL_STRING("", held(6, "w"));
}

static void a_release_makes_room_under_the_limit_on_running_jobs(void)
{
	set_option("q-max-concurrency", "1");
	put(1, "q", "a");
	put(2, "q", "b");
	pop(3, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("", pop(4, "q", "v", 1));
	release(5, "w", false);
	TEST_ASSERT_TRUE(qless_has_woken(q));
	TEST_ASSERT_EQUAL_STRING("b ", pop(6, "q", "v", 5));
}

static void many_jobs_are_released_in_portions(void)
{
	bool more = true;
	size_t count = 0, calls = 0;

	put_many(1, "q", "j", MANY);
	TEST_ASSERT_EQUAL_size_t(MANY, pop_many(2, "q", "w", MANY));
	for (; more; calls++) {
		size_t some = release_some(3, "w", false, 64, &more);

		TEST_ASSERT_LESS_OR_EQUAL_size_t(64, some);
		count += some;
	}
	TEST_ASSERT_EQUAL_size_t(MANY, count);
	TEST_ASSERT_EQUAL_size_t(MANY / 64 + 1, calls);
}

/* ---- renewing ---- */

static void all_valid_locks_are_renewed(void)
{
	set_option("p-heartbeat", "10");
	put(1, "q", "a");
	put(1, "p", "b");
	pop(2, "q", "w", 1);
	pop(2, "p", "w", 1);
	TEST_ASSERT_EQUAL_size_t(2, renew(7, "w"));
	TEST_ASSERT_TRUE(info_of("a").expires == 67 && info_of("b").expires == 17);
	/* The lock on b has expired. */
	TEST_ASSERT_EQUAL_size_t(1, renew(20, "w"));
	TEST_ASSERT_TRUE(info_of("a").expires == 80 && info_of("b").expires == 17);
	TEST_ASSERT_EQUAL_STRING("a ", held(21, "w"));
	TEST_ASSERT_EQUAL_STRING("", pop(79, "q", "v", 1));
	TEST_ASSERT_EQUAL_size_t(0, renew(21, "nobody"));
}

static void a_renewal_is_like_a_heartbeat(void)
{
	double expires;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	OK(qless_heartbeat(q, 3, STR("j"), STR("w"), NULL, &expires));
	TEST_ASSERT_TRUE(info_of("j").expires == expires);
	TEST_ASSERT_EQUAL_size_t(1, renew(4, "w"));
	TEST_ASSERT_TRUE(info_of("j").expires == expires + 1);
	TEST_ASSERT_EQUAL_STRING("put@1 popped@2 ", history_of("j"));
	TEST_ASSERT_TRUE(qless_next_due(q) <= info_of("j").expires);
}

static void an_expired_lock_is_renewed_if_the_caller_says_so(void)
{
	double until = DBL_MAX;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	TEST_ASSERT_EQUAL_size_t(1, renew_some(100, "w", 2, &until, INT64_MAX));
	TEST_ASSERT_TRUE(info_of("j").expires == 160);
}

static void a_warned_worker_does_not_get_its_lock_back(void)
{
	double until = DBL_MAX;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	pop(62, "q", "v", 1);
	TEST_ASSERT_EQUAL_size_t(0, renew_some(63, "w", 2, &until, INT64_MAX));
	TEST_ASSERT_EQUAL_STRING("j ", pop(73, "q", "v", 1));
}

/* Portions together renew each lock once, whatever the leases are. */
static void many_locks_are_renewed_in_portions(void)
{
	double until = DBL_MAX, now = 10;
	size_t count = 0, calls = 0;

	set_option("p-heartbeat", "20");
	put_many(1, "q", "a", MANY);
	put_many(1, "p", "b", MANY);
	for (int i = 0; i < 10; i++) {
		pop_many(2 + i / 10.0, "q", "w", MANY / 10);
		pop_many(2 + i / 10.0, "p", "w", MANY / 10);
	}
	for (; until > 5; calls++) {
		size_t some = renew_some(now += 0.001, "w", 5, &until, 64);

		TEST_ASSERT_LESS_OR_EQUAL_size_t(64, some);
		count += some;
	}
	TEST_ASSERT_EQUAL_size_t(2 * MANY, count);
	TEST_ASSERT_EQUAL_size_t(2 * MANY / 64 + 1, calls);
	TEST_ASSERT_TRUE(info_of("a0").expires > 70 && info_of("b0").expires > 30);
}

static void only_locks_up_to_a_time_are_renewed(void)
{
	double until = 40;

	set_option("p-heartbeat", "20");
	put(1, "q", "a");
	put(1, "p", "b");
	pop(2, "q", "w", 1);
	pop(2, "p", "w", 1);
	TEST_ASSERT_EQUAL_size_t(1, renew_some(10, "w", 2, &until, INT64_MAX));
	TEST_ASSERT_TRUE(info_of("a").expires == 62 && info_of("b").expires == 30);
}

static void the_first_lock_is_found_with_its_lease(void)
{
	struct qless_str jid = STR("b");
	double expires = 7, lease = 7;

	TEST_ASSERT_FALSE(qless_worker_first_lock(q, STR("w"), 0, &expires, &lease));
	TEST_ASSERT_TRUE(expires == 7 && lease == 7);
	set_option("p-heartbeat", "20");
	put(1, "q", "a");
	put(1, "p", "b");
	pop(2, "q", "w", 1);
	pop(2, "p", "w", 1);
	TEST_ASSERT_TRUE(qless_worker_first_lock(q, STR("w"), 2, &expires, &lease));
	TEST_ASSERT_TRUE(expires == 22 && lease == 20);
	TEST_ASSERT_TRUE(qless_worker_first_lock(q, STR("w"), 22, &expires, &lease));
	TEST_ASSERT_TRUE(expires == 62 && lease == 60);
	/* A run that has ended leaves an entry until the next renewal. */
	OK(qless_timeout(q, 3, &jid, 1));
	TEST_ASSERT_TRUE(qless_worker_first_lock(q, STR("w"), 2, &expires, &lease));
	TEST_ASSERT_TRUE(expires == 22 && lease == 0);
	TEST_ASSERT_EQUAL_size_t(1, renew(4, "w"));
	TEST_ASSERT_TRUE(qless_worker_first_lock(q, STR("w"), 2, &expires, &lease));
	TEST_ASSERT_TRUE(expires == 64);
}

static void a_negative_number_of_jobs_is_refused(void)
{
	struct qless_release release = { STR("w"), false, -1 };
	struct qless_renewal renewal = { STR("w"), 0, 1, -1 };
	struct qless_released released = { 7, true };
	struct qless_renewed renewed = { 7, 7 };

	ASSERT_ERROR(QLESS_EBADARG, "worker_release: max must not be negative: -1",
		     qless_worker_release(q, 1, &release, &released));
	ASSERT_ERROR(QLESS_EBADARG, "worker_renew: max must not be negative: -1",
		     qless_worker_renew(q, 1, &renewal, &renewed));
	TEST_ASSERT_EQUAL_size_t(7, released.count);
	TEST_ASSERT_EQUAL_size_t(7, renewed.count);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(released_jobs_wait_in_their_queues);
	RUN(a_release_makes_the_old_hand_out_stale);
	RUN(a_released_job_is_as_old_as_its_hand_out);
	RUN(a_release_can_use_up_a_retry);
	RUN(a_stalled_job_is_released_too);
	RUN(a_job_that_timed_out_is_not_released);
	RUN(a_release_makes_room_under_the_limit_on_running_jobs);
	RUN(many_jobs_are_released_in_portions);
	RUN(all_valid_locks_are_renewed);
	RUN(a_renewal_is_like_a_heartbeat);
	RUN(an_expired_lock_is_renewed_if_the_caller_says_so);
	RUN(a_warned_worker_does_not_get_its_lock_back);
	RUN(many_locks_are_renewed_in_portions);
	RUN(only_locks_up_to_a_time_are_renewed);
	RUN(the_first_lock_is_found_with_its_lease);
	RUN(a_negative_number_of_jobs_is_refused);
	return UNIT_RESULT();
}
