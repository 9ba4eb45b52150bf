#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static struct qless_recur_put a_recur(double interval, double offset)
{
	return (struct qless_recur_put){ .queue = STR("q"),
					 .jid = STR("r"),
					 .klass = STR("Klass"),
					 .data = STR("{}"),
					 .interval = interval,
					 .offset = offset };
}

static void recur(double now, double interval, double offset)
{
	struct qless_recur_put put_recur = a_recur(interval, offset);

	OK(qless_recur(q, now, &put_recur));
}

static struct qless_recur_info recur_info(void)
{
	const struct qless_recur *recur_job = qless_recur_get(q, STR("r"));
	struct qless_recur_info info;

	TEST_ASSERT_NOT_NULL(recur_job);
	qless_recur_read(recur_job, &info);
	return info;
}

static void update(double now, struct qless_recur_change change)
{
	OK(qless_recur_update(q, now, STR("r"), &change, 1));
}

static void jobs_are_made_when_they_are_due(void)
{
	recur(10.7, 10, 0);
	TEST_ASSERT_EQUAL_STRING("", pop(10.6, "q", "w", 5));
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(10.7, "q", "w", 5));
	TEST_ASSERT_TRUE(info_of("r-1").retries == 0);
	ASSERT_STR("r", info_of("r-1").spawned_from);
	TEST_ASSERT_EQUAL_STRING("put@10 popped@10 ", history_of("r-1"));
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(20, "q", "w", 5));
	TEST_ASSERT_EQUAL_STRING("r-3 r-4 ", pop(45, "q", "w", 5));
	TEST_ASSERT_EQUAL_UINT64(4, recur_info().count);
}

static void a_run_with_too_many_taken_names_makes_no_job(void)
{
	char jid[32];

	for (int i = 1; i <= 15000; i++) {
		snprintf(jid, sizeof jid, "r-%d", i);
		put(1, "other", jid);
	}
	recur(10, 10, 0);
	TEST_ASSERT_EQUAL_STRING("", pop(30, "q", "w", 9));
	TEST_ASSERT_EQUAL_UINT64(10000, recur_info().count);
	TEST_ASSERT_EQUAL_STRING("r-15001 r-15002 ", pop(30, "q", "w", 9));
	TEST_ASSERT_EQUAL_STRING("", pop(39, "q", "w", 9));
}

static void no_more_jobs_are_made_than_are_asked_for(void)
{
	recur(0, 1, 0);
	TEST_ASSERT_EQUAL_STRING("r-1 r-2 ", pop(1000, "q", "w", 2));
	TEST_ASSERT_EQUAL_UINT64(2, recur_info().count);
}

static void a_backlog_limits_how_many_missed_runs_are_made_up_for(void)
{
	struct qless_recur_put put_recur = a_recur(10, 0);

	put_recur.backlog = 2;
	OK(qless_recur(q, 0, &put_recur));
	TEST_ASSERT_EQUAL_STRING("r-1 r-2 ", pop(99.9, "q", "w", 10));
}

static void jobs_that_exist_are_never_overwritten(void)
{
	put(1, "other", "r-1");
	put(1, "other", "r-2");
	recur(2, 10, 0);
	TEST_ASSERT_EQUAL_STRING("r-3 ", pop(2, "q", "w", 5));
	ASSERT_STR("other", info_of("r-1").queue);
}

static void a_changed_interval_moves_the_next_run(void)
{
	recur(0, 10, 0);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(0, "q", "w", 5));
	update(1, (struct qless_recur_change){ QLESS_RECUR_INTERVAL, .number = 4 });
	TEST_ASSERT_EQUAL_STRING("", pop(3.9, "q", "w", 5));
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(4, "q", "w", 5));
}

static void a_recurring_job_may_move_to_another_queue(void)
{
	recur(0, 10, 5);
	update(1, (struct qless_recur_change){ QLESS_RECUR_QUEUE, .text = STR("p") });
	TEST_ASSERT_EQUAL_STRING("", pop(5, "q", "w", 5));
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(5, "p", "w", 5));
}

static void an_update_applies_all_changes_or_none(void)
{
	struct qless_recur_change changes[] = {
		{ QLESS_RECUR_KLASS, .text = STR_INIT("Other") },
		{ QLESS_RECUR_INTERVAL, .number = 0 },
	};

	recur(0, 10, 0);
	ASSERT_ERROR(QLESS_EBADARG, "recur_update: interval must be greater than 0: 0",
		     qless_recur_update(q, 1, STR("r"), changes, 2));
	ASSERT_STR("Klass", recur_info().klass);
	changes[1].number = 7;
	OK(qless_recur_update(q, 1, STR("r"), changes, 2));
	ASSERT_STR("Other", recur_info().klass);
	TEST_ASSERT_TRUE(recur_info().interval == 7);
	ASSERT_ERROR(QLESS_ENOJOB, "recur_update: recurring job nope does not exist",
		     qless_recur_update(q, 1, STR("nope"), changes, 2));
}

static void defining_it_again_keeps_the_count(void)
{
	recur(0, 10, 0);
	pop(0, "q", "w", 5);
	recur(1, 20, 0);
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(1, "q", "w", 5));
}

static void the_jobs_it_made_outlive_it(void)
{
	recur(0, 10, 0);
	pop(0, "q", "w", 5);
	OK(qless_unrecur(q, 1, STR("r")));
	OK(qless_unrecur(q, 1, STR("r")));
	TEST_ASSERT_NULL(qless_recur_get(q, STR("r")));
	TEST_ASSERT_TRUE(exists("r-1"));
	TEST_ASSERT_EQUAL_STRING("", pop(100, "q", "w", 5));
}

static void the_jobs_it_makes_get_its_tags(void)
{
	struct qless_str tags[] = { STR_INIT("a"), STR_INIT("b"), STR_INIT("b") };
	struct qless_list jids;
	struct qless_str tag;
	size_t cursor = 0;

	recur(0, 10, 0);
	OK(qless_recur_tag(q, 0, STR("r"), tags, 1));
	OK(qless_recur_tag(q, 0, STR("r"), tags, 3));
	OK(qless_recur_untag(q, 0, STR("r"), tags, 1));
	TEST_ASSERT_TRUE(qless_recur_next_tag(qless_recur_get(q, STR("r")), &cursor, &tag));
	ASSERT_STR("b", tag);
	TEST_ASSERT_TRUE(qless_recur_next_tag(qless_recur_get(q, STR("r")), &cursor, &tag));
	TEST_ASSERT_FALSE(qless_recur_next_tag(qless_recur_get(q, STR("r")), &cursor, &tag));
	qless_tagged(q, STR("b"), 0, 25, &jids);
	TEST_ASSERT_EQUAL_STRING("", words(&jids));
	pop(0, "q", "w", 1);
	qless_tagged(q, STR("b"), 0, 25, &jids);
	TEST_ASSERT_EQUAL_STRING("r-1 ", words(&jids));
	ASSERT_ERROR(QLESS_ENOJOB, "recur_tag: recurring job nope does not exist",
		     qless_recur_tag(q, 0, STR("nope"), tags, 1));
	ASSERT_ERROR(QLESS_ENOJOB, "recur_untag: recurring job nope does not exist",
		     qless_recur_untag(q, 0, STR("nope"), tags, 1));
}

static void its_interval_is_positive_and_finite(void)
{
	struct qless_recur_put put_recur = a_recur(0, 0);

	ASSERT_ERROR(QLESS_EBADARG, "recur: interval must be greater than 0: 0",
		     qless_recur(q, 0, &put_recur));
	put_recur.interval = 1.0 / 0.0;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur(q, 0, &put_recur));
	TEST_ASSERT_NULL(qless_recur_get(q, STR("r")));
}

static void an_interval_too_small_to_count_does_no_harm(void)
{
	recur(1e15, 1e-300, 0);
	TEST_ASSERT_EQUAL_STRING("r-3 r-2 r-1 ", pop(1e15, "q", "w", 3));
}

/* As many tags as a request may have, against as many as a job may have. */
static void many_tags_come_and_go_at_once(void)
{
	enum { COUNT = 20000 };
	static char text[COUNT][8];
	static struct qless_str tags[COUNT];
	const struct qless_recur *job;
	struct qless_str tag;
	size_t cursor = 0;

	for (int i = 0; i < COUNT; i++) {
		int len = snprintf(text[i], sizeof(text[i]), "t%d", i);

		tags[i] = str_make(text[i], (size_t)len);
	}
	recur(0, 10, 0);
	OK(qless_recur_tag(q, 0, STR("r"), tags, COUNT));
	OK(qless_recur_tag(q, 0, STR("r"), tags, COUNT));
	OK(qless_recur_untag(q, 0, STR("r"), tags + 1, COUNT - 3));
	job = qless_recur_get(q, STR("r"));
	TEST_ASSERT_TRUE(qless_recur_next_tag(job, &cursor, &tag));
	ASSERT_STR("t0", tag);
	TEST_ASSERT_TRUE(qless_recur_next_tag(job, &cursor, &tag));
	ASSERT_STR("t19998", tag);
	TEST_ASSERT_TRUE(qless_recur_next_tag(job, &cursor, &tag));
	ASSERT_STR("t19999", tag);
	TEST_ASSERT_FALSE(qless_recur_next_tag(job, &cursor, &tag));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(jobs_are_made_when_they_are_due);
	RUN(a_run_with_too_many_taken_names_makes_no_job);
	RUN(no_more_jobs_are_made_than_are_asked_for);
	RUN(a_backlog_limits_how_many_missed_runs_are_made_up_for);
	RUN(jobs_that_exist_are_never_overwritten);
	RUN(a_changed_interval_moves_the_next_run);
	RUN(a_recurring_job_may_move_to_another_queue);
	RUN(an_update_applies_all_changes_or_none);
	RUN(defining_it_again_keeps_the_count);
	RUN(the_jobs_it_made_outlive_it);
	RUN(the_jobs_it_makes_get_its_tags);
	RUN(many_tags_come_and_go_at_once);
	RUN(its_interval_is_positive_and_finite);
	RUN(an_interval_too_small_to_count_does_no_harm);
	return UNIT_RESULT();
}
