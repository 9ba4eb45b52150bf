#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void jobs_are_popped_by_priority_then_age(void)
{
	put_priority(1, "q", "old", 0);
	put_priority(2, "q", "young", 0);
	put_priority(3, "q", "urgent", 5);
	put_priority(4, "q", "lazy", -5);
	TEST_ASSERT_EQUAL_STRING("urgent old young lazy ", pop(5, "q", "w", 10));
}

static void jobs_of_equal_score_are_popped_in_descending_order_of_jids(void)
{
	put(1, "q", "a");
	put(1, "q", "c");
	put(1, "q", "b");
	TEST_ASSERT_EQUAL_STRING("c b ", pop(2, "q", "w", 2));
}

static void a_popped_job_belongs_to_the_worker_until_its_lock_expires(void)
{
	struct qless_job_info info;

	put(1, "q", "j");
	pop(10, "q", "w", 1);
	info = info_of("j");
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info.state);
	ASSERT_STR("w", info.worker);
	TEST_ASSERT_TRUE(info.expires == 70 && info.time == 10);
	TEST_ASSERT_EQUAL_STRING("", pop(69.9, "q", "v", 1));
	TEST_ASSERT_EQUAL_STRING("j ", jobs_in(69.9, QLESS_LIST_RUNNING, "q"));
	TEST_ASSERT_EQUAL_STRING("j ", jobs_in(70, QLESS_LIST_STALLED, "q"));
}

static void the_first_pop_after_expiry_only_warns(void)
{
	put(1, "q", "j");
	pop(10, "q", "w", 1);
	forget_events();
	TEST_ASSERT_EQUAL_STRING("", pop(70, "q", "v", 1));
	ASSERT_EVENTS("ql:w:w {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
	TEST_ASSERT_EQUAL_STRING("", pop(79.9, "q", "v", 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(80, "q", "v", 1));
	TEST_ASSERT_TRUE(info_of("j").remaining == 4);
	ASSERT_STR("v", info_of("j").worker);
}

static void without_a_grace_period_the_job_is_taken_at_once(void)
{
	set_option("grace-period", "0");
	put(1, "q", "j");
	pop(10, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("j ", pop(70, "q", "v", 1));
	TEST_ASSERT_EQUAL_STRING("put@1 popped@10 timed-out@70 popped@70 ", history_of("j"));
}

static void a_grace_period_that_is_abolished_ends_with_a_second_warning(void)
{
	static const char *const abolished[] = { "0", "-1" };
	struct qless_str jid = STR("j");

	for (size_t i = 0; i < 2; i++) {
		set_option("grace-period", "10");
		put(1, "q", "j");
		pop(10, "q", "w", 1);
		TEST_ASSERT_EQUAL_STRING("", pop(70, "q", "v", 1));
		set_option("grace-period", abolished[i]);
		forget_events();
		TEST_ASSERT_EQUAL_STRING("j ", pop(80, "q", "v", 1));
		ASSERT_EVENTS("ql:w:w {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
			      "ql:log {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
		TEST_ASSERT_EQUAL_STRING("put@1 popped@10 timed-out@70 timed-out@80 popped@80 ",
					 history_of("j"));
		TEST_ASSERT_TRUE(info_of("j").remaining == 4);
		OK(qless_cancel(q, 81, &jid, 1));
	}
}

static void a_heartbeat_during_grace_keeps_the_job(void)
{
	double expires;

	put(1, "q", "j");
	pop(10, "q", "w", 1);
	pop(70, "q", "v", 1);
	OK(qless_heartbeat(q, 75, STR("j"), STR("w"), NULL, &expires));
	TEST_ASSERT_TRUE(expires == 135);
	/* The next expiry starts with a warning again. */
	TEST_ASSERT_EQUAL_STRING("", pop(135, "q", "v", 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(145, "q", "v", 1));
}

static void a_job_that_loses_its_last_retry_fails(void)
{
	set_option("grace-period", "0");
	put_retries(1, "q", "j", 0);
	pop(10, "q", "w", 1);
	forget_events();
	TEST_ASSERT_EQUAL_STRING("", pop(70.5, "q", "v", 1));
	ASSERT_EVENTS(
		"ql:w:w {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		"ql:log {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		"ql:log {\"message\":\"Job exhausted retries in queue \\\"q\\\"\",\"jid\":\"j\","
		"\"group\":\"failed-retries-q\",\"event\":\"failed\",\"worker\":\"w\"}\n");
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info_of("j").state);
	TEST_ASSERT_TRUE(info_of("j").remaining == -1);
	ASSERT_STR("failed-retries-q", info_of("j").failure.group);
	TEST_ASSERT_TRUE(info_of("j").failure.when == 70.5);
}

static void assert_invalid(const char *jid, const char *retries)
{
	struct qless_job_info info = info_of(jid);
	char message[100];

	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info.state);
	ASSERT_STR("invalid-retries-q", info.failure.group);
	snprintf(message, sizeof(message),
		 "The job has a number of retries that cannot be counted down: %s", retries);
	TEST_ASSERT_TRUE(str_equal(str_from(message), info.failure.message));
}

static void jobs_with_retries_that_cannot_be_counted_down_fail_alone(void)
{
	set_option("grace-period", "0");
	put_retries(1, "q", "half", 1.5);
	put_retries(1, "q", "huge", 1e308);
	put_retries(1, "q", "zero", -0.0);
	put(1, "q", "whole");
	pop(10, "q", "w", 4);
	forget_events();
	TEST_ASSERT_EQUAL_STRING("whole ", pop(100, "q", "v", 4));
	assert_invalid("half", "1.5");
	assert_invalid("huge", "1e+308");
	assert_invalid("zero", "-0");
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("whole").state);
	put(101, "q", "next");
	TEST_ASSERT_EQUAL_STRING("next ", pop(102, "q", "v", 4));
}

static void a_job_with_invalid_retries_is_warned_before_it_fails(void)
{
	put_retries(1, "q", "half", 0.5);
	pop(10, "q", "w", 1);
	forget_events();
	TEST_ASSERT_EQUAL_STRING("", pop(70, "q", "v", 1));
	ASSERT_EVENTS("ql:w:w {\"jid\":\"half\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"half\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("half").state);
	TEST_ASSERT_EQUAL_STRING("", pop(80, "q", "v", 1));
	ASSERT_EVENTS("ql:log {\"message\":\"The job has a number of retries that cannot be "
		      "counted down: 0.5\",\"jid\":\"half\",\"group\":\"invalid-retries-q\","
		      "\"event\":\"failed\",\"worker\":\"w\"}\n");
	assert_invalid("half", "0.5");
}

static void only_the_lock_owner_of_a_running_job_can_heartbeat(void)
{
	double expires = 7;

	ASSERT_ERROR(QLESS_ENOJOB, "heartbeat: job j does not exist",
		     qless_heartbeat(q, 1, STR("j"), STR("w"), NULL, &expires));
	put(1, "q", "j");
	ASSERT_ERROR(QLESS_ENOTRUNNING, "heartbeat: job j is not running, its state is waiting",
		     qless_heartbeat(q, 1, STR("j"), STR("w"), NULL, &expires));
	pop(2, "q", "w", 1);
	ASSERT_ERROR(QLESS_ENOTOWNER, "heartbeat: job j is held by another worker, w",
		     qless_heartbeat(q, 3, STR("j"), STR("v"), NULL, &expires));
	TEST_ASSERT_TRUE(expires == 7);
}

static void a_heartbeat_may_bring_data(void)
{
	struct qless_str data = STR("{ \"done\" : 50 }");
	double expires;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	OK(qless_heartbeat(q, 3, STR("j"), STR("w"), &data, &expires));
	ASSERT_STR("{ \"done\" : 50 }", info_of("j").data);
}

static void a_late_heartbeat_works_until_the_job_is_taken(void)
{
	double expires;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	OK(qless_heartbeat(q, 5000, STR("j"), STR("w"), NULL, &expires));
	TEST_ASSERT_TRUE(expires == 5060);
}

static void a_queue_may_have_a_heartbeat_of_its_own(void)
{
	set_option("q-heartbeat", "5");
	put(1, "q", "j");
	put(1, "p", "k");
	pop(10, "q", "w", 1);
	pop(10, "p", "w", 1);
	TEST_ASSERT_TRUE(info_of("j").expires == 15);
	TEST_ASSERT_TRUE(info_of("k").expires == 70);
	OK(qless_config_unset(q, 11, STR("q-heartbeat")));
	put(12, "q", "l");
	pop(12, "q", "w", 1);
	TEST_ASSERT_TRUE(info_of("l").expires == 72);
}

static void no_more_jobs_run_than_max_concurrency_allows(void)
{
	set_option("q-max-concurrency", "2");
	put(1, "q", "a");
	put(2, "q", "b");
	put(3, "q", "c");
	TEST_ASSERT_EQUAL_STRING("a b ", pop(4, "q", "w", 5));
	TEST_ASSERT_EQUAL_STRING("", pop(5, "q", "w", 5));
	complete(6, "q", "a", "w");
	TEST_ASSERT_EQUAL_STRING("c ", pop(7, "q", "w", 5));
}

static void nothing_is_popped_from_a_paused_queue(void)
{
	struct qless_str name = STR("q");

	put(1, "q", "j");
	OK(qless_pause(q, 1, &name, 1));
	TEST_ASSERT_EQUAL_STRING("", pop(2, "q", "w", 1));
	OK(qless_unpause(q, 3, &name, 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(4, "q", "w", 1));
}

static void pop_and_peek_refuse_negative_counts(void)
{
	struct qless_jobs jobs;

	ASSERT_ERROR(QLESS_EBADARG, "pop: count must not be negative: -1",
		     qless_pop(q, 1, STR("q"), STR("w"), -1, &jobs));
	ASSERT_ERROR(QLESS_EBADARG, "peek: count must not be negative: -2",
		     qless_peek(q, 1, STR("q"), -2, &jobs));
}

static void peek_shows_expired_jobs_first_and_takes_nothing(void)
{
	struct qless_jobs jobs;
	struct qless_job_info info;

	put(1, "q", "lost");
	pop(2, "q", "w", 1);
	put(3, "q", "next");
	OK(qless_peek(q, 100, STR("q"), 5, &jobs));
	TEST_ASSERT_EQUAL_size_t(2, jobs.count);
	qless_job_read(jobs.items[0], &info);
	ASSERT_STR("lost", info.jid);
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info.state);
	qless_job_read(jobs.items[1], &info);
	ASSERT_STR("next", info.jid);
}

static void a_job_that_is_timed_out_is_popped_before_all_others(void)
{
	struct qless_str jids[] = { STR_INIT("slow"), STR_INIT("slow") };

	put(1, "q", "slow");
	pop(2, "q", "w", 1);
	put_priority(3, "q", "urgent", 100);
	forget_events();
	OK(qless_timeout(q, 4, jids, 2));
	ASSERT_EVENTS("ql:w:w {\"jid\":\"slow\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"slow\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
	TEST_ASSERT_EQUAL_INT(QLESS_STALLED, info_of("slow").state);
	TEST_ASSERT_TRUE(info_of("slow").remaining == 5);
	TEST_ASSERT_EQUAL_STRING("slow urgent ", pop(5, "q", "v", 2));
}

static void timeout_checks_all_jobs_first(void)
{
	struct qless_str jids[] = { STR_INIT("j"), STR_INIT("nope") };

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	ASSERT_ERROR(QLESS_ENOJOB, "timeout: job nope does not exist",
		     qless_timeout(q, 3, jids, 2));
	TEST_ASSERT_EQUAL_INT(QLESS_RUNNING, info_of("j").state);
	put(4, "q", "nope");
	ASSERT_ERROR(QLESS_ENOTRUNNING, "timeout: job nope is not running, its state is waiting",
		     qless_timeout(q, 5, jids, 2));
}

static void promotion_takes_as_many_as_are_asked_for(void)
{
	put_delayed(1, "q", "a", 1);
	put_delayed(1, "q", "b", 2);
	put_delayed(1, "q", "c", 3);
	TEST_ASSERT_EQUAL_STRING("a ", pop(10, "q", "w", 1));
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("b").state);
	TEST_ASSERT_EQUAL_STRING("c b ", pop(11, "q", "w", 2));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(jobs_are_popped_by_priority_then_age);
	RUN(jobs_of_equal_score_are_popped_in_descending_order_of_jids);
	RUN(a_popped_job_belongs_to_the_worker_until_its_lock_expires);
	RUN(the_first_pop_after_expiry_only_warns);
	RUN(without_a_grace_period_the_job_is_taken_at_once);
	RUN(a_grace_period_that_is_abolished_ends_with_a_second_warning);
	RUN(a_heartbeat_during_grace_keeps_the_job);
	RUN(a_job_that_loses_its_last_retry_fails);
	RUN(jobs_with_retries_that_cannot_be_counted_down_fail_alone);
	RUN(a_job_with_invalid_retries_is_warned_before_it_fails);
	RUN(only_the_lock_owner_of_a_running_job_can_heartbeat);
	RUN(a_heartbeat_may_bring_data);
	RUN(a_late_heartbeat_works_until_the_job_is_taken);
	RUN(a_queue_may_have_a_heartbeat_of_its_own);
	RUN(no_more_jobs_run_than_max_concurrency_allows);
	RUN(nothing_is_popped_from_a_paused_queue);
	RUN(pop_and_peek_refuse_negative_counts);
	RUN(peek_shows_expired_jobs_first_and_takes_nothing);
	RUN(a_job_that_is_timed_out_is_popped_before_all_others);
	RUN(timeout_checks_all_jobs_first);
	RUN(promotion_takes_as_many_as_are_asked_for);
	return UNIT_RESULT();
}
