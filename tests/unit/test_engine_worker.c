#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

/* Name, jobs and stalled jobs of each worker. */
static const char *workers(double now)
{
	static char text[256];
	struct qless_workers list;
	size_t len = 0;
	size_t i;

	advance(now, QLESS_ADVANCE_WORKERS, "", INT64_MAX);
	OK(qless_workers(q, now, &list));
	text[0] = '\0';
	for (i = 0; i < list.count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s:%d:%d ",
					(int)list.items[i].name.len, list.items[i].name.ptr,
					(int)list.items[i].jobs, (int)list.items[i].stalled);
	return text;
}

static void workers_are_listed_last_seen_first(void)
{
	double expires;

	put(1, "q", "j");
	pop(1, "q", "a", 1);
	pop(2, "q", "b", 1);
	TEST_ASSERT_EQUAL_STRING("b:0:0 a:1:0 ", workers(3));
	OK(qless_heartbeat(q, 4, STR("j"), STR("a"), NULL, &expires));
	TEST_ASSERT_EQUAL_STRING("a:1:0 b:0:0 ", workers(5));
}

static void the_jobs_of_a_worker_have_valid_or_expired_locks(void)
{
	struct qless_list jobs;
	struct qless_list stalled;

	put(0, "q", "a");
	put(0, "q", "b");
	pop(0, "q", "w", 1);
	pop(5, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("w:1:2 ", workers(65));
	OK(qless_worker_jobs(q, 60, STR("w"), &jobs, &stalled));
	TEST_ASSERT_EQUAL_STRING("a b ", words(&jobs));
	TEST_ASSERT_EQUAL_STRING("b ", words(&stalled));
	OK(qless_worker_jobs(q, 60, STR("nope"), &jobs, &stalled));
	TEST_ASSERT_EQUAL_STRING("", words(&jobs));
}

static void a_worker_that_is_not_seen_for_long_is_forgotten(void)
{
	struct qless_list jobs;
	struct qless_list stalled;

	put(0, "q", "a");
	pop(0, "q", "w", 1);
	TEST_ASSERT_EQUAL_STRING("w:0:1 ", workers(86399));
	TEST_ASSERT_EQUAL_STRING("", workers(86400));
	OK(qless_worker_jobs(q, 10, STR("w"), &jobs, &stalled));
	TEST_ASSERT_EQUAL_STRING("", words(&jobs));
	/* The job still knows its worker. */
	TEST_ASSERT_EQUAL_STRING("a ", jobs_in(10, QLESS_LIST_RUNNING, "q"));
	complete(86401, "q", "a", "w");
}

static void a_worker_can_deregister(void)
{
	struct qless_str names[] = { STR_INIT("w"), STR_INIT("nope") };

	put(0, "q", "a");
	pop(0, "q", "w", 1);
	OK(qless_worker_deregister(q, 1, names, 2));
	TEST_ASSERT_EQUAL_STRING("", workers(2));
	complete(3, "q", "a", "w");
}

static void a_timed_out_job_stays_on_the_list_of_its_worker(void)
{
	struct qless_str jid = STR("j");

	put(0, "q", "j");
	pop(0, "q", "old", 1);
	OK(qless_timeout(q, 1, &jid, 1));
	pop(2, "q", "new", 1);
	TEST_ASSERT_EQUAL_STRING("new:1:0 old:1:0 ", workers(3));
	/* Even when the job is gone, until the worker holds another job of that jid. */
	OK(qless_cancel(q, 4, &jid, 1));
	TEST_ASSERT_EQUAL_STRING("new:0:0 old:1:0 ", workers(5));
	put(6, "q", "j");
	pop(6, "q", "old", 1);
	TEST_ASSERT_EQUAL_STRING("old:1:0 new:0:0 ", workers(7));
	complete(8, "q", "j", "old");
	TEST_ASSERT_EQUAL_STRING("old:0:0 new:0:0 ", workers(9));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(workers_are_listed_last_seen_first);
	RUN(the_jobs_of_a_worker_have_valid_or_expired_locks);
	RUN(a_worker_that_is_not_seen_for_long_is_forgotten);
	RUN(a_worker_can_deregister);
	RUN(a_timed_out_job_stays_on_the_list_of_its_worker);
	return UNIT_RESULT();
}
