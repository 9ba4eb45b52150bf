#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void put_and_pop(double now, const char *jid)
{
	put(now, "q", jid);
	TEST_ASSERT_NOT_NULL(strstr(pop(now, "q", "w", 1), jid));
}

static struct qless_retry a_retry(const char *jid)
{
	return (struct qless_retry){ .jid = str_from(jid), .queue = STR("q"), .worker = STR("w") };
}

static void a_failed_job_tells_why(void)
{
	struct qless_str data = STR("[1]");
	struct qless_job_info info;

	put_and_pop(1, "j");
	forget_events();
	OK(qless_fail(q, 2.5, STR("j"), STR("w"), STR("group"), STR("a/b"), &data));
	ASSERT_EVENTS("ql:log {\"message\":\"a\\/b\",\"jid\":\"j\",\"group\":\"group\","
		      "\"event\":\"failed\",\"worker\":\"w\"}\n");
	info = info_of("j");
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info.state);
	ASSERT_STR("group", info.failure.group);
	ASSERT_STR("a/b", info.failure.message);
	ASSERT_STR("w", info.failure.worker);
	TEST_ASSERT_TRUE(info.failure.when == 2);
	ASSERT_STR("[1]", info.data);
	ASSERT_STR("", info.worker);
	ASSERT_STR("q", info.queue);
}

static void only_the_owner_fails_a_running_job(void)
{
	ASSERT_ERROR(QLESS_ENOJOB, "fail: job j does not exist",
		     qless_fail(q, 1, STR("j"), STR("w"), STR("g"), STR("m"), NULL));
	put(1, "q", "j");
	ASSERT_ERROR(QLESS_ENOTRUNNING, "fail: job j is not running, its state is waiting",
		     qless_fail(q, 1, STR("j"), STR("w"), STR("g"), STR("m"), NULL));
	pop(1, "q", "v", 1);
	ASSERT_ERROR(QLESS_ENOTOWNER, "fail: job j is held by another worker, v",
		     qless_fail(q, 1, STR("j"), STR("w"), STR("g"), STR("m"), NULL));
}

static void the_jobs_of_a_group_are_listed_newest_first(void)
{
	struct qless_list list;
	const uint64_t *counts;

	put_and_pop(1, "a");
	put_and_pop(1, "c");
	put_and_pop(1, "b");
	fail(2, "c", "w", "g");
	fail(2, "a", "w", "g");
	fail(2, "b", "w", "h");
	qless_failures(q, &list, &counts);
	TEST_ASSERT_EQUAL_STRING("g h ", words(&list));
	TEST_ASSERT_TRUE(counts[0] == 2 && counts[1] == 1);
	qless_failed(q, STR("g"), 0, 25, &list);
	TEST_ASSERT_EQUAL_STRING("a c ", words(&list));
	TEST_ASSERT_EQUAL_UINT64(2, list.total);
	qless_failed(q, STR("g"), 1, 1, &list);
	TEST_ASSERT_EQUAL_STRING("c ", words(&list));
	qless_failed(q, STR("g"), -1, 1, &list);
	TEST_ASSERT_EQUAL_STRING("c ", words(&list));
	qless_failed(q, STR("nope"), 0, 25, &list);
	TEST_ASSERT_EQUAL_UINT64(0, list.total);
}

static void unfail_takes_the_oldest_failures(void)
{
	struct qless_list list;
	uint64_t count;

	put_and_pop(1, "a");
	put_and_pop(1, "b");
	put_and_pop(1, "c");
	fail(2, "a", "w", "g");
	fail(3, "b", "w", "g");
	fail(4, "c", "w", "g");
	OK(qless_unfail(q, 5, STR("r"), STR("g"), 2, &count));
	TEST_ASSERT_EQUAL_UINT64(2, count);
	qless_failed(q, STR("g"), 0, 25, &list);
	TEST_ASSERT_EQUAL_STRING("c ", words(&list));
	TEST_ASSERT_EQUAL_STRING("b a ", pop(6, "r", "w", 5));
	TEST_ASSERT_TRUE(info_of("a").has_failure);
	OK(qless_unfail(q, 7, STR("r"), STR("g"), 0, &count));
	TEST_ASSERT_EQUAL_UINT64(0, count);
	ASSERT_ERROR(QLESS_EBADARG, "unfail: count must not be negative: -1",
		     qless_unfail(q, 7, STR("r"), STR("g"), -1, &count));
}

static void a_retried_job_waits_again(void)
{
	struct qless_retry retry = a_retry("j");
	double remaining;

	put_and_pop(1, "j");
	forget_events();
	OK(qless_retry(q, 2, &retry, &remaining));
	TEST_ASSERT_TRUE(remaining == 4);
	ASSERT_EVENTS("");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
	ASSERT_STR("w", info_of("j").worker);
	TEST_ASSERT_EQUAL_STRING("put@1 popped@1 ", history_of("j"));
}

static void a_retried_job_may_have_a_delay(void)
{
	struct qless_str group = STR("g");
	struct qless_str message = STR("try later");
	struct qless_retry retry = a_retry("j");
	double remaining;

	put_and_pop(1, "j");
	retry.delay = 10;
	retry.group = &group;
	retry.message = &message;
	OK(qless_retry(q, 2.5, &retry, &remaining));
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	ASSERT_STR("try later", info_of("j").failure.message);
	TEST_ASSERT_TRUE(info_of("j").failure.when == 2);
	TEST_ASSERT_EQUAL_STRING("j ", pop(12.5, "q", "w", 1));
}

static void a_job_may_be_retried_in_another_queue(void)
{
	struct qless_retry retry = a_retry("j");
	struct qless_list queues;
	double remaining;

	put_and_pop(1, "j");
	retry.queue = STR("r");
	OK(qless_retry(q, 2, &retry, &remaining));
	ASSERT_STR("r", info_of("j").queue);
	TEST_ASSERT_EQUAL_UINT64(0, qless_queue_length(q, STR("q")));
	qless_queues(q, &queues);
	TEST_ASSERT_EQUAL_STRING("q r ", words(&queues));
	TEST_ASSERT_EQUAL_STRING("j ", pop(3, "r", "w", 1));
	complete(4, "r", "j", "w");
}

static void a_job_without_retries_left_fails_where_it_is(void)
{
	struct qless_retry retry = a_retry("j");
	struct qless_stats stats;
	double remaining;

	put_retries(1, "q", "j", 0);
	pop(1, "q", "w", 1);
	forget_events();
	retry.queue = STR("r");
	OK(qless_retry(q, 2.7, &retry, &remaining));
	TEST_ASSERT_TRUE(remaining == -1);
	ASSERT_EVENTS("");
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info_of("j").state);
	ASSERT_STR("q", info_of("j").queue);
	ASSERT_STR("failed-retries-q", info_of("j").failure.group);
	ASSERT_STR("Job exhausted retries in queue \"q\"", info_of("j").failure.message);
	TEST_ASSERT_TRUE(info_of("j").failure.when == 2.7);
	qless_stats(q, STR("q"), 0, &stats);
	TEST_ASSERT_EQUAL_INT64(1, stats.failed);
	qless_stats(q, STR("r"), 0, &stats);
	TEST_ASSERT_EQUAL_INT64(0, stats.failed);
}

static void the_last_retry_may_name_group_and_message(void)
{
	struct qless_str group = STR("g");
	struct qless_str message = STR("no luck");
	struct qless_retry retry = a_retry("j");
	double remaining;

	put_retries(1, "q", "j", 0);
	pop(1, "q", "w", 1);
	retry.group = &group;
	retry.message = &message;
	OK(qless_retry(q, 2.7, &retry, &remaining));
	ASSERT_STR("g", info_of("j").failure.group);
	ASSERT_STR("no luck", info_of("j").failure.message);
	ASSERT_STR("w", info_of("j").failure.worker);
	TEST_ASSERT_TRUE(info_of("j").failure.when == 2);
}

static void only_the_owner_retries_a_running_job(void)
{
	struct qless_retry retry = a_retry("j");
	double remaining;

	ASSERT_ERROR(QLESS_ENOJOB, "retry: job j does not exist",
		     qless_retry(q, 1, &retry, &remaining));
	put_retries(1, "q", "j", 1.5);
	ASSERT_ERROR(QLESS_ENOTRUNNING, "retry: job j is not running, its state is waiting",
		     qless_retry(q, 1, &retry, &remaining));
	pop(1, "q", "v", 1);
	ASSERT_ERROR(QLESS_ENOTOWNER, "retry: job j is held by another worker, v",
		     qless_retry(q, 1, &retry, &remaining));
	retry.worker = STR("v");
	ASSERT_ERROR(QLESS_ERETRIES, "retry: job j has retries left that are no integer",
		     qless_retry(q, 1, &retry, &remaining));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("j").state);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_failed_job_tells_why);
	RUN(only_the_owner_fails_a_running_job);
	RUN(the_jobs_of_a_group_are_listed_newest_first);
	RUN(unfail_takes_the_oldest_failures);
	RUN(a_retried_job_waits_again);
	RUN(a_retried_job_may_have_a_delay);
	RUN(a_job_may_be_retried_in_another_queue);
	RUN(a_job_without_retries_left_fails_where_it_is);
	RUN(the_last_retry_may_name_group_and_message);
	RUN(only_the_owner_retries_a_running_job);
	return UNIT_RESULT();
}
