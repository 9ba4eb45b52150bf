#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

/* The jids that a job waits for, each followed by a blank. */
static const char *dependencies_of(const char *jid)
{
	static char text[256];
	const void *cursor = NULL;
	struct qless_str on;
	size_t len = 0;

	text[0] = '\0';
	while (qless_job_next_dependency(qless_get(q, str_from(jid)), &cursor, &on))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)on.len,
					on.ptr);
	return text;
}

static void a_job_waits_until_its_dependencies_complete(void)
{
	put(1, "q", "a");
	put(1, "q", "b");
	put_depending(2, "q", "j", "a");
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("a ", dependencies_of("j"));
	TEST_ASSERT_EQUAL_STRING("j ", jobs_in(2, QLESS_LIST_DEPENDS, "q"));
	TEST_ASSERT_EQUAL_STRING("b a ", pop(3, "q", "w", 5));
	complete(4, "q", "b", "w");
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
	complete(5, "q", "a", "w");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("", dependencies_of("j"));
}

static void complete_and_unknown_jobs_are_no_dependencies(void)
{
	struct qless_put p = a_put("q", "j");
	struct qless_str jids[] = { STR_INIT("done"), STR_INIT("nope") };

	put(1, "q", "done");
	pop(1, "q", "w", 1);
	complete(1, "q", "done", "w");
	p.depends = jids;
	p.depend_count = 2;
	OK(qless_put(q, 2, &p));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
}

static void moving_on_and_failing_release_no_dependents(void)
{
	struct qless_str next = STR("r");
	struct qless_complete c = { .jid = STR("a"),
				    .worker = STR("w"),
				    .queue = STR("q"),
				    .data = STR("{}"),
				    .next = &next };
	enum qless_state state;

	put(1, "q", "a");
	put_depending(1, "q", "j", "a");
	pop(2, "q", "w", 1);
	OK(qless_complete(q, 3, &c, &state));
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
	pop(4, "r", "w", 1);
	fail(5, "a", "w", "g");
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, info_of("j").state);
}

static void a_delay_begins_when_the_job_is_put(void)
{
	struct qless_put p = a_put("q", "j");
	struct qless_str on = STR("a");

	put(1, "q", "a");
	p.delay = 100;
	p.depends = &on;
	p.depend_count = 1;
	OK(qless_put(q, 1, &p));
	pop(2, "q", "w", 1);
	complete(3, "q", "a", "w");
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	TEST_ASSERT_EQUAL_STRING("", pop(100, "q", "w", 1));
	TEST_ASSERT_EQUAL_STRING("j ", pop(101, "q", "w", 1));
}

static void removing_dependencies_keeps_the_delay(void)
{
	struct qless_put p = a_put("q", "j");
	struct qless_str on = STR("a");

	put(1, "q", "a");
	p.delay = 100;
	p.depends = &on;
	p.depend_count = 1;
	OK(qless_put(q, 1, &p));
	OK(qless_depends_off(q, 2, STR("j"), &on, 1));
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, info_of("j").state);
	/* A put drops the delay. */
	OK(qless_put(q, 3, &p));
	put(4, "q", "j");
	OK(qless_depends_off_all(q, 5, STR("j")));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
}

static void dependencies_are_added_and_removed(void)
{
	struct qless_str jids[] = { STR_INIT("b"), STR_INIT("nope"), STR_INIT("a") };

	put(1, "q", "a");
	put(1, "q", "b");
	put_depending(1, "q", "j", "a");
	OK(qless_depends_on(q, 2, STR("j"), jids, 3));
	TEST_ASSERT_EQUAL_STRING("a b ", dependencies_of("j"));
	OK(qless_depends_off(q, 3, STR("j"), jids, 2));
	TEST_ASSERT_EQUAL_STRING("a ", dependencies_of("j"));
	OK(qless_depends_off(q, 3, STR("j"), jids, 3));
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
}

static void only_jobs_in_depends_can_be_given_dependencies(void)
{
	struct qless_str a = STR("a");

	ASSERT_ERROR(QLESS_ENOTDEPENDS, "depends: job j does not exist",
		     qless_depends_on(q, 1, STR("j"), &a, 1));
	put(1, "q", "j");
	ASSERT_ERROR(QLESS_ENOTDEPENDS,
		     "depends: job j does not wait for other jobs, its state is waiting",
		     qless_depends_off_all(q, 1, STR("j")));
}

static void a_put_replaces_dependencies_only_if_it_names_any(void)
{
	put(1, "q", "a");
	put(1, "q", "b");
	put_depending(1, "q", "j", "a");
	put(2, "q", "j");
	TEST_ASSERT_EQUAL_STRING("a ", dependencies_of("j"));
	put_depending(3, "q", "j", "b");
	TEST_ASSERT_EQUAL_STRING("b ", dependencies_of("j"));
	put_depending(4, "q", "j", "nope");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("j").state);
}

static void a_job_may_wait_for_itself_until_it_is_cancelled(void)
{
	struct qless_str jid = STR("j");

	put_depending(1, "q", "j", "j");
	put_depending(2, "q", "j", "j");
	TEST_ASSERT_EQUAL_STRING("j ", dependencies_of("j"));
	OK(qless_cancel(q, 2, &jid, 1));
	TEST_ASSERT_FALSE(exists("j"));
}

static void jobs_may_wait_for_each_other_until_they_are_cancelled(void)
{
	struct qless_str jids[] = { STR_INIT("x"), STR_INIT("y"), STR_INIT("x") };

	put(1, "q", "x");
	put_depending(2, "q", "y", "x");
	put_depending(3, "q", "x", "y");
	OK(qless_cancel(q, 4, jids, 3));
	TEST_ASSERT_FALSE(exists("x") || exists("y"));
}

static void many_jobs_may_wait_for_one(void)
{
	char jid[16];
	int i;

	put(1, "q", "a");
	for (i = 0; i < 1000; i++) {
		snprintf(jid, sizeof(jid), "j%03d", i);
		put_depending(2, "r", jid, "a");
	}
	pop(3, "q", "w", 1);
	complete(4, "q", "a", "w");
	TEST_ASSERT_EQUAL_UINT64(1000, qless_queue_length(q, STR("r")));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_job_waits_until_its_dependencies_complete);
	RUN(complete_and_unknown_jobs_are_no_dependencies);
	RUN(moving_on_and_failing_release_no_dependents);
	RUN(a_delay_begins_when_the_job_is_put);
	RUN(removing_dependencies_keeps_the_delay);
	RUN(dependencies_are_added_and_removed);
	RUN(only_jobs_in_depends_can_be_given_dependencies);
	RUN(a_put_replaces_dependencies_only_if_it_names_any);
	RUN(a_job_may_wait_for_itself_until_it_is_cancelled);
	RUN(jobs_may_wait_for_each_other_until_they_are_cancelled);
	RUN(many_jobs_may_wait_for_one);
	return UNIT_RESULT();
}
