#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void a_new_job_waits_with_the_defaults(void)
{
	struct qless_job_info info;

	put(100.5, "q", "j");
	info = info_of("j");
	ASSERT_STR("j", info.jid);
	ASSERT_STR("Klass", info.klass);
	ASSERT_STR("q", info.queue);
	ASSERT_STR("", info.worker);
	ASSERT_STR("{}", info.data);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info.state);
	TEST_ASSERT_TRUE(info.priority == 0 && info.retries == 5 && info.remaining == 5);
	TEST_ASSERT_TRUE(info.expires == 0 && info.time == 100.5);
	TEST_ASSERT_FALSE(info.has_failure);
	TEST_ASSERT_NULL(info.spawned_from.ptr);
	TEST_ASSERT_EQUAL_STRING("put@100 ", history_of("j"));
}

static void a_job_with_a_delay_is_scheduled(void)
{
	put_delayed(100, "q", "j", 10);
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("", pop(109.9, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(110, "q", "w", 1));
}

static void a_negative_delay_means_at_once(void)
{
	put_delayed(100, "q", "j", -10);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
}

static void data_and_names_keep_every_byte(void)
{
	struct qless_put p = a_put("q", "j");

	p.jid = str_make("a\0b", 3);
	p.data = STR(" { \"a\" : [ ] } ");
	OK(qless_put(q, 1, &p));
	TEST_ASSERT_NOT_NULL(qless_get(q, str_make("a\0b", 3)));
	TEST_ASSERT_NULL(qless_get(q, STR("a")));
	p.jid = STR("");
	OK(qless_put(q, 1, &p));
	ASSERT_STR(" { \"a\" : [ ] } ", info_of("").data);
}

static void putting_again_inherits_the_options_that_are_not_given(void)
{
	struct qless_str tags[] = { STR_INIT("x"), STR_INIT("y") };
	struct qless_put p = a_put("q", "j");
	struct qless_str tag;
	size_t cursor = 0;

	p.has_priority = p.has_retries = p.has_tags = true;
	p.priority = 3;
	p.retries = 2;
	p.tags = tags;
	p.tag_count = 2;
	OK(qless_put(q, 1, &p));
	put(2, "r", "j");
	TEST_ASSERT_TRUE(info_of("j").priority == 3 && info_of("j").retries == 2);
	ASSERT_STR("r", info_of("j").queue);
	TEST_ASSERT_TRUE(qless_job_next_tag(qless_get(q, STR("j")), &cursor, &tag));
	ASSERT_STR("x", tag);
	TEST_ASSERT_EQUAL_UINT64(0, qless_queue_length(q, STR("q")));
	TEST_ASSERT_EQUAL_STRING("put@1 put@2 ", history_of("j"));
}

static void data_of_any_length_replaces_data_of_any_length(void)
{
	static const size_t lengths[] = { 2, 100, 99, 3, 0, 1000, 600, 400, 2000, 0, 5 };
	struct qless_put p = a_put("q", "j");
	char data[2000];
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(data, 'a' + (int)i, sizeof(data));
		p.data = str_make(data, lengths[i]);
		OK(qless_put(q, (double)i, &p));
		TEST_ASSERT_TRUE(str_equal(p.data, info_of("j").data));
	}
}

static void putting_a_running_job_takes_it_away(void)
{
	double expires;

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	forget_events();
	put(3, "q", "j");
	ASSERT_EVENTS("ql:log {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"q\"}\n"
		      "ql:w:w {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n"
		      "ql:log {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}\n");
	ASSERT_ERROR(QLESS_ENOTRUNNING, "heartbeat: job j is not running, its state is waiting",
		     qless_heartbeat(q, 4, STR("j"), STR("w"), NULL, &expires));
}

static void the_owner_is_not_told_that_it_put_its_own_job(void)
{
	struct qless_put p = a_put("q", "j");

	put(1, "q", "j");
	pop(2, "q", "w", 1);
	forget_events();
	p.worker = STR("w");
	OK(qless_put(q, 3, &p));
	ASSERT_EVENTS("ql:log {\"jid\":\"j\",\"event\":\"put\",\"queue\":\"q\"}\n");
}

static void putting_a_completed_job_takes_it_off_the_list(void)
{
	put(1, "q", "j");
	pop(1, "q", "w", 1);
	complete(2, "q", "j", "w");
	TEST_ASSERT_EQUAL_STRING("j ", jobs_in(2, QLESS_LIST_COMPLETE, ""));
	put(3, "q", "j");
	TEST_ASSERT_EQUAL_STRING("", jobs_in(3, QLESS_LIST_COMPLETE, ""));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
}

static void putting_a_failed_job_counts_one_failed_less_where_it_failed(void)
{
	struct qless_stats stats;

	put(1, "q", "j");
	pop(1, "q", "w", 1);
	fail(2, "j", "w", "g");
	put(3, "r", "j");
	qless_stats(q, STR("q"), 0, &stats);
	TEST_ASSERT_EQUAL_INT64(0, stats.failed);
	TEST_ASSERT_EQUAL_INT64(1, stats.failures);
	qless_stats(q, STR("r"), 0, &stats);
	TEST_ASSERT_EQUAL_INT64(0, stats.failed);
	TEST_ASSERT_TRUE(info_of("j").has_failure);
}

static void a_put_that_fails_leaves_no_trace(void)
{
	struct qless_put p = a_put("q", "j");
	uint64_t changes;

	put(1, "q", "j");
	forget_events();
	changes = qless_changes(q);
	p.queue = STR("r");
	p.has_priority = true;
	p.priority = 1.0 / 0.0;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_put(q, 2, &p));
	p.priority = 0;
	p.delay = 0.0 / 0.0;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_put(q, 2, &p));
	p.delay = 0;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_put(q, 0.0 / 0.0, &p));
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
	ASSERT_STR("q", info_of("j").queue);
	ASSERT_EVENTS("");
}

static void requeue_needs_a_job(void)
{
	struct qless_put p = a_put("q", "j");

	ASSERT_ERROR(QLESS_ENOJOB, "requeue: job j does not exist", qless_requeue(q, 1, &p));
	put(1, "q", "j");
	OK(qless_requeue(q, 2, &p));
	TEST_ASSERT_EQUAL_STRING("put@1 put@2 ", history_of("j"));
}

static void due_times_stay_finite(void)
{
	put_delayed(1e308, "q", "j", 1.7e308);
	TEST_ASSERT_EQUAL_STRING("j ", jobs_in(1, QLESS_LIST_SCHEDULED, "q"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_new_job_waits_with_the_defaults);
	RUN(a_job_with_a_delay_is_scheduled);
	RUN(a_negative_delay_means_at_once);
	RUN(data_and_names_keep_every_byte);
	RUN(putting_again_inherits_the_options_that_are_not_given);
	RUN(data_of_any_length_replaces_data_of_any_length);
	RUN(putting_a_running_job_takes_it_away);
	RUN(the_owner_is_not_told_that_it_put_its_own_job);
	RUN(putting_a_completed_job_takes_it_off_the_list);
	RUN(putting_a_failed_job_counts_one_failed_less_where_it_failed);
	RUN(a_put_that_fails_leaves_no_trace);
	RUN(requeue_needs_a_job);
	RUN(due_times_stay_finite);
	return UNIT_RESULT();
}
