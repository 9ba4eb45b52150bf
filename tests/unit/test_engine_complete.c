#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static struct qless_complete a_complete(const char *jid)
{
	return (struct qless_complete){ .jid = str_from(jid),
					.worker = STR("w"),
					.queue = STR("q"),
					.data = STR("{\"result\":1}") };
}

static void a_completed_job_is_kept_with_its_data(void)
{
	struct qless_complete c = a_complete("j");
	enum qless_state state;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	forget_events();
	OK(qless_complete(q, 3, &c, &state));
	ASSERT_EVENTS("ql:log {\"jid\":\"j\",\"event\":\"completed\",\"queue\":\"q\"}\n");
	ASSERT_STR("{\"result\":1}", info_of("j").data);
	ASSERT_STR("", info_of("j").queue);
	ASSERT_STR("", info_of("j").worker);
	TEST_ASSERT_EQUAL_INT(QLESS_COMPLETE, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("put@1 popped@2 done@3 ", history_of("j"));
}

static void only_the_owner_completes_a_running_job_in_its_queue(void)
{
	struct qless_complete c = a_complete("j");
	enum qless_state state = QLESS_FAILED;

	ASSERT_ERROR(QLESS_ENOJOB, "complete: job j does not exist",
		     qless_complete(q, 1, &c, &state));
	put(1, "q", "j");
	ASSERT_ERROR(QLESS_ENOTRUNNING, "complete: job j is not running, its state is waiting",
		     qless_complete(q, 1, &c, &state));
	pop(2, "q", "v", 1);
	ASSERT_ERROR(QLESS_ENOTOWNER, "complete: job j is held by another worker, v",
		     qless_complete(q, 3, &c, &state));
	c.worker = STR("v");
	c.queue = STR("r");
	ASSERT_ERROR(QLESS_EWRONGQUEUE, "complete: job j is in another queue, q",
		     qless_complete(q, 3, &c, &state));
	TEST_ASSERT_EQUAL_INT(QLESS_FAILED, state);
}

static void a_job_may_move_on_to_another_queue(void)
{
	struct qless_complete c = a_complete("j");
	struct qless_str next = STR("r");
	enum qless_state state;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	forget_events();
	c.next = &next;
	OK(qless_complete(q, 3, &c, &state));
	ASSERT_EVENTS("ql:log {\"jid\":\"j\",\"to\":\"r\",\"event\":\"advanced\","
		      "\"queue\":\"q\"}\n");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state);
	ASSERT_STR("r", info_of("j").queue);
	TEST_ASSERT_EQUAL_STRING("j ", pop(4, "r", "w", 1));
}

static void a_job_may_move_on_with_a_delay(void)
{
	struct qless_complete c = a_complete("j");
	struct qless_str next = STR("q");
	struct qless_str nope = STR("nope");
	enum qless_state state;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	c.next = &next;
	c.delay = 10;
	c.depends = &nope;
	c.depend_count = 1;
	OK(qless_complete(q, 3, &c, &state));
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, state);
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("j ", pop(13, "q", "w", 1));
}

static void a_job_may_move_on_with_dependencies_and_a_delay(void)
{
	struct qless_complete c = a_complete("j");
	struct qless_str next = STR("r");
	struct qless_str other = STR("other");
	enum qless_state state;

	put(1, "q", "j");
	put(1, "p", "other");
	pop(2, "q", "w", 1);
	c.next = &next;
	c.delay = 10;
	c.depends = &other;
	c.depend_count = 1;
	OK(qless_complete(q, 3, &c, &state));
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, state);
	pop(4, "p", "w", 1);
	complete(5, "p", "other", "w");
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("j ", pop(13, "r", "w", 1));
}

static void completed_jobs_are_purged_when_they_are_old(void)
{
	set_option("jobs-history", "10");
	put(1, "q", "a");
	put(2, "q", "b");
	pop(3, "q", "w", 2);
	complete(5, "q", "a", "w");
	complete(14.9, "q", "b", "w");
	TEST_ASSERT_EQUAL_STRING("b a ", jobs_in(14.9, QLESS_LIST_COMPLETE, ""));
	put(15, "q", "c");
	pop(15, "q", "w", 1);
	complete(15, "q", "c", "w");
	TEST_ASSERT_FALSE(exists("a"));
	TEST_ASSERT_TRUE(exists("b"));
}

static void completed_jobs_are_purged_when_they_are_many(void)
{
	set_option("jobs-history-count", "2");
	put(1, "q", "a");
	put(2, "q", "b");
	put(3, "q", "c");
	pop(4, "q", "w", 3);
	complete(5, "q", "a", "w");
	complete(6, "q", "b", "w");
	complete(7, "q", "c", "w");
	TEST_ASSERT_EQUAL_STRING("c b ", jobs_in(8, QLESS_LIST_COMPLETE, ""));
}

static void the_job_itself_may_be_purged_at_once(void)
{
	set_option("jobs-history-count", "0");
	put(1, "q", "a");
	put_depending(1, "q", "b", "a");
	pop(2, "q", "w", 1);
	complete(3, "q", "a", "w");
	TEST_ASSERT_FALSE(exists("a"));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("b").state);
}

static void a_call_may_purge_fewer_jobs(void)
{
	struct qless_complete c = a_complete("d");
	enum qless_state state;

	for (const char *const *jid = (const char *const[]){ "a", "b", "c", "d", "e", NULL };
	     *jid != NULL; jid++)
		put(1, "q", *jid);
	pop(2, "q", "w", 5);
	complete(3, "q", "a", "w");
	complete(4, "q", "b", "w");
	complete(5, "q", "c", "w");
	set_option("jobs-history-count", "0");
	c.has_purge_max = true;
	c.purge_max = 1;
	OK(qless_complete(q, 6, &c, &state));
	TEST_ASSERT_EQUAL_STRING("d c b ", jobs_in(6, QLESS_LIST_COMPLETE, ""));
	c.jid = STR("e");
	c.purge_max = 0;
	OK(qless_complete(q, 7, &c, &state));
	TEST_ASSERT_EQUAL_STRING("e d c b ", jobs_in(7, QLESS_LIST_COMPLETE, ""));
}

static void purging_many_jobs_is_spread_over_several_calls(void)
{
	struct qless_list jids;
	char jid[16];
	int i;

	for (i = 0; i < 2500; i++) {
		snprintf(jid, sizeof(jid), "%04d", i);
		put(1, "q", jid);
		pop(1, "q", "w", 1);
		complete(1, "q", jid, "w");
	}
	set_option("jobs-history", "10");
	put(100, "q", "x");
	pop(100, "q", "w", 1);
	complete(100, "q", "x", "w");
	OK(qless_jobs(q, 100, QLESS_LIST_COMPLETE, STR(""), 0, 0, &jids));
	TEST_ASSERT_EQUAL_size_t(1501, jids.count);
	put(101, "q", "y");
	pop(101, "q", "w", 1);
	complete(101, "q", "y", "w");
	OK(qless_jobs(q, 101, QLESS_LIST_COMPLETE, STR(""), 0, 0, &jids));
	TEST_ASSERT_EQUAL_size_t(502, jids.count);
}

static void cancel_deletes_jobs_wherever_they_are(void)
{
	struct qless_str jids[] = { STR_INIT("w"), STR_INIT("r"), STR_INIT("s"), STR_INIT("f") };
	struct qless_stats stats;

	put(1, "q", "f");
	pop(1, "q", "x", 1);
	fail(1, "f", "x", "g");
	put(1, "q", "r");
	pop(1, "q", "x", 1);
	put(1, "q", "w");
	put_delayed(1, "q", "s", 100);
	forget_events();
	OK(qless_cancel(q, 2, jids, 4));
	ASSERT_EVENTS(
		"ql:log {\"jid\":\"w\",\"queue\":\"q\",\"event\":\"canceled\",\"worker\":\"\"}\n"
		"ql:log {\"jid\":\"r\",\"queue\":\"q\",\"event\":\"canceled\","
		"\"worker\":\"x\"}\n"
		"ql:w:x {\"jid\":\"r\",\"queue\":\"q\",\"event\":\"canceled\","
		"\"worker\":\"x\"}\n"
		"ql:log {\"jid\":\"s\",\"queue\":\"q\",\"event\":\"canceled\",\"worker\":\"\"}\n"
		"ql:log {\"jid\":\"f\",\"queue\":\"q\",\"event\":\"canceled\","
		"\"worker\":\"\"}\n");
	TEST_ASSERT_FALSE(exists("w") || exists("r") || exists("s") || exists("f"));
	qless_stats(q, STR("q"), 0, &stats);
	TEST_ASSERT_EQUAL_INT64(0, stats.failed);
	TEST_ASSERT_EQUAL_UINT64(0, qless_queue_length(q, STR("q")));
}

static void cancel_ignores_complete_and_unknown_jobs(void)
{
	struct qless_str jids[] = { STR_INIT("done"), STR_INIT("nope") };

	put(1, "q", "done");
	pop(1, "q", "w", 1);
	complete(2, "q", "done", "w");
	forget_events();
	OK(qless_cancel(q, 3, jids, 2));
	ASSERT_EVENTS("ql:log {\"jid\":\"nope\",\"queue\":false,\"event\":\"canceled\","
		      "\"worker\":false}\n");
	TEST_ASSERT_TRUE(exists("done"));
}

static void a_job_is_cancelled_only_together_with_its_dependents(void)
{
	struct qless_str jids[] = { STR_INIT("a"), STR_INIT("b") };

	put(1, "q", "a");
	put_depending(1, "q", "b", "a");
	ASSERT_ERROR(QLESS_EDEPENDENTS, "cancel: job b depends on job a and is not listed",
		     qless_cancel(q, 2, jids, 1));
	TEST_ASSERT_TRUE(exists("a"));
	OK(qless_cancel(q, 3, jids, 2));
	TEST_ASSERT_FALSE(exists("a") || exists("b"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_completed_job_is_kept_with_its_data);
	RUN(only_the_owner_completes_a_running_job_in_its_queue);
	RUN(a_job_may_move_on_to_another_queue);
	RUN(a_job_may_move_on_with_a_delay);
	RUN(a_job_may_move_on_with_dependencies_and_a_delay);
	RUN(completed_jobs_are_purged_when_they_are_old);
	RUN(completed_jobs_are_purged_when_they_are_many);
	RUN(the_job_itself_may_be_purged_at_once);
	RUN(a_call_may_purge_fewer_jobs);
	RUN(purging_many_jobs_is_spread_over_several_calls);
	RUN(cancel_deletes_jobs_wherever_they_are);
	RUN(cancel_ignores_complete_and_unknown_jobs);
	RUN(a_job_is_cancelled_only_together_with_its_dependents);
	return UNIT_RESULT();
}
