/*
 * Each end of a run releases the slots of its job, once.
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

static uint64_t running(const char *limit)
{
	return limit_of(0, limit).running;
}

/* Let a job run that has the only slot, and another one wait for it. */
static void run_one(void)
{
	set_concurrency(0, "c", 1);
	put_limited(1, "q", "j", "c d");
	put_limited(2, "q", "next", "c");
	TEST_ASSERT_EQUAL_STRING("j ", pop(10, "q", "w", 2));
	TEST_ASSERT_EQUAL_UINT64(1, running("c"));
	TEST_ASSERT_EQUAL_UINT64(1, running("d"));
	TEST_ASSERT_EQUAL_STRING("", pop(11, "q", "w", 2));
}

/* Check that the slot is free, and that only one was released. */
static void assert_released(double now)
{
	TEST_ASSERT_EQUAL_UINT64(0, running("c"));
	TEST_ASSERT_FALSE(has_limit("d") && running("d") > 0);
	reload();
	/* Whichever job is better, only one of them gets the slot. */
	TEST_ASSERT_EQUAL_size_t(1, strlen(pop(now, "q", "v", 1)) > 0);
	TEST_ASSERT_EQUAL_STRING("", pop(now, "q", "v", 1));
	TEST_ASSERT_EQUAL_UINT64(1, running("c"));
}

static void complete_releases_the_slots(void)
{
	run_one();
	complete(12, "q", "j", "w");
	assert_released(13);
}

static void complete_with_a_next_queue_releases_the_slots(void)
{
	struct qless_str next = STR("r");
	struct qless_complete call = {
		.jid = STR("j"),
		.worker = STR("w"),
		.queue = STR("q"),
		.data = STR("{}"),
		.next = &next,
	};
	enum qless_state state;

	run_one();
	OK(qless_complete(q, 12, &call, &state));
	assert_released(13);
	TEST_ASSERT_EQUAL_STRING("", pop(14, "r", "v", 1));
}

static void fail_releases_the_slots(void)
{
	uint64_t moved;

	run_one();
	fail(12, "j", "w", "group");
	assert_released(13);
	OK(qless_unfail(q, 14, STR("q"), STR("group"), 9, &moved));
	TEST_ASSERT_EQUAL_STRING("", pop(15, "q", "v", 1));
	complete(16, "q", "next", "v");
	TEST_ASSERT_EQUAL_STRING("j ", pop(17, "q", "v", 9));
}

static void retry_releases_the_slots(void)
{
	struct qless_retry retry = { .jid = STR("j"), .queue = STR("q"), .worker = STR("w") };
	double remaining;

	run_one();
	OK(qless_retry(q, 12, &retry, &remaining));
	assert_released(13);
}

static void timeout_releases_the_slots(void)
{
	run_one();
	OK(qless_timeout(q, 12, &STR("j"), 1));
	TEST_ASSERT_EQUAL_INT(QLESS_STALLED, info_of("j").state);
	assert_released(13);
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("j").state);
}

static void a_lost_lock_releases_the_slots(void)
{
	run_one();
	TEST_ASSERT_EQUAL_STRING("", pop(70, "q", "v", 1));
	TEST_ASSERT_EQUAL_UINT64(1, running("c"));
	TEST_ASSERT_EQUAL_STRING("next ", pop(80, "q", "v", 1));
	TEST_ASSERT_EQUAL_UINT64(1, running("c"));
	TEST_ASSERT_EQUAL_UINT64(0, running("d"));
}

static void cancel_releases_the_slots(void)
{
	run_one();
	OK(qless_cancel(q, 12, &STR("j"), 1));
	TEST_ASSERT_FALSE(has_limit("d"));
	assert_released(13);
}

static void a_put_elsewhere_releases_the_slots(void)
{
	run_one();
	put(12, "r", "j");
	assert_released(13);
	TEST_ASSERT_EQUAL_STRING("", pop(14, "r", "v", 1));
}

static void a_put_with_other_limits_releases_the_slots(void)
{
	run_one();
	put_limited(12, "q", "j", "e");
	TEST_ASSERT_EQUAL_UINT64(0, running("c"));
	TEST_ASSERT_FALSE(has_limit("d"));
	TEST_ASSERT_EQUAL_STRING("next j ", pop(13, "q", "v", 9));
}

static void a_requeue_releases_the_slots(void)
{
	struct qless_put p = a_put("q", "j");

	run_one();
	OK(qless_requeue(q, 12, &p));
	assert_released(13);
}

static void a_released_worker_releases_the_slots(void)
{
	struct qless_release release = { STR("w"), false, 99 };
	struct qless_released released;

	run_one();
	OK(qless_worker_release(q, 12, &release, &released));
	TEST_ASSERT_EQUAL_size_t(1, released.count);
	assert_released(13);
}

static void a_worker_that_gave_up_releases_the_slots(void)
{
	struct qless_release release = { STR("w"), true, 99 };
	struct qless_released released;
	struct qless_put p = a_put("q", "j");

	run_one();
	p.has_retries = true;
	OK(qless_put(q, 12, &p));
	TEST_ASSERT_EQUAL_STRING("next ", pop(13, "q", "v", 9));
	complete(13, "q", "next", "v");
	TEST_ASSERT_EQUAL_STRING("j ", pop(14, "q", "w", 9));
	OK(qless_worker_release(q, 15, &release, &released));
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info_of("j").state);
	TEST_ASSERT_EQUAL_UINT64(0, running("c"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(complete_releases_the_slots);
	RUN(complete_with_a_next_queue_releases_the_slots);
	RUN(fail_releases_the_slots);
	RUN(retry_releases_the_slots);
	RUN(timeout_releases_the_slots);
	RUN(a_lost_lock_releases_the_slots);
	RUN(cancel_releases_the_slots);
	RUN(a_put_elsewhere_releases_the_slots);
	RUN(a_put_with_other_limits_releases_the_slots);
	RUN(a_requeue_releases_the_slots);
	RUN(a_released_worker_releases_the_slots);
	RUN(a_worker_that_gave_up_releases_the_slots);
	return UNIT_RESULT();
}
