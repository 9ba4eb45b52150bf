/*
 * QUEUE.COUNT: numbers of jobs by state and by other fields.
 */
#include "native.h"

#include "command/job_tally.h"
#include "flatmap.h"

#define LONG_NAME 60000

static struct native_fixture f;

static const struct databases_limits strict = {
	.engine = { .is_strict = true, .max_name_bytes = LONG_NAME },
	.max_json_depth = 1000,
};

void setUp(void)
{
	native_setup(&f);
	databases_set_limits(f.call.env.databases, &strict);
}

void tearDown(void)
{
	native_teardown(&f);
}

static void put(const char *queue, const char *jid, const char *klass, const char *priority)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", queue, jid, klass, "{}", "0", "priority", priority,
		      "retries", "5");
	f.now += 1;
}

static void pop(const char *worker)
{
	ASSERT_BEGINS("$", &f, "POP", "q", worker, "1");
	f.now += 1;
}

/* Makes two waiting jobs, and one in each other state. The two that wait have the lowest priority,
 * so that no pop takes them. */
static void make_jobs(void)
{
	put("other", "elsewhere", "send", "0");
	put("q", "waiting", "send", "-1");
	put("q", "waiting2", "send", "-1");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "scheduled", "send", "{}", "10000");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "depends", "load", "{}", "0", "depends",
		      "[\"elsewhere\"]");
	put("q", "complete", "load", "9");
	pop("w1");
	ASSERT_BEGINS("$", &f, "COMPLETE", "complete", "w1", "q");
	put("q", "failed", "load", "9");
	pop("w1");
	ASSERT_BEGINS("$", &f, "FAIL", "failed", "w1", "broken", "m");
	put("q", "reserved", "send", "9");
	pop("w1");
	put("q", "started", "send", "9");
	pop("w2");
	ASSERT_BEGINS("$", &f, "JOB.START", "started", "w2");
}

/* ---- states ---- */

static void the_queue_has_a_number_for_each_state(void)
{
	make_jobs();
	ASSERT_NATIVE("*12\r\n$7\r\nwaiting\r\n:2\r\n$7\r\nrunning\r\n:2\r\n$7\r\nstalled\r\n:0\r\n"
		      "$9\r\nscheduled\r\n:1\r\n$7\r\ndepends\r\n:1\r\n$6\r\nfailed\r\n:1\r\n",
		      &f, "QUEUE.COUNT", "q");
	call_use_proto(&f.call, 3);
	ASSERT_BEGINS("%6\r\n", &f, "QUEUE.COUNT", "q");
}

static void an_unknown_queue_has_no_jobs(void)
{
	ASSERT_NATIVE("*4\r\n$7\r\nrunning\r\n:0\r\n$6\r\nfailed\r\n:0\r\n", &f, "QUEUE.COUNT",
		      "none", "STATE", "failed", "running");
	ASSERT_NATIVE("*2\r\n$8\r\ncomplete\r\n:0\r\n", &f, "QUEUE.COUNT", "none", "STATE",
		      "complete");
	ASSERT_NATIVE("*0\r\n", &f, "QUEUE.COUNT", "none", "BY", "state");
}

static void states_select_what_is_counted(void)
{
	make_jobs();
	ASSERT_NATIVE("*4\r\n$7\r\nwaiting\r\n:2\r\n$8\r\ncomplete\r\n:1\r\n", &f, "QUEUE.COUNT",
		      "q", "state", "Complete", "waiting");
	ASSERT_NATIVE("*2\r\n$7\r\nrunning\r\n:2\r\n", &f, "QUEUE.COUNT", "q", "STATE", "running");
	ASSERT_NATIVE("*4\r\n$8\r\nreserved\r\n:1\r\n$7\r\nstarted\r\n:1\r\n", &f, "QUEUE.COUNT",
		      "q", "STATE", "reserved", "started");
	ASSERT_NATIVE("*2\r\n$7\r\nstarted\r\n:1\r\n", &f, "QUEUE.COUNT", "q", "STATE", "started");
}

static void a_lock_that_expired_counts_as_stalled(void)
{
	put("q", "j", "send", "0");
	pop("w");
	f.now += 1000;
	ASSERT_MEMBER("1", "stalled", NATIVE(&f, "QUEUE.COUNT", "q"));
	ASSERT_MEMBER("0", "running", NATIVE(&f, "QUEUE.COUNT", "q"));
	ASSERT_NATIVE("*1\r\n*2\r\n$7\r\nstalled\r\n:1\r\n", &f, "QUEUE.COUNT", "q", "BY", "state");
}

/* The queue counts this job among those that wait, and the walk as stalled, as QUEUE.JOBS does. */
static void a_job_that_was_taken_from_its_worker_counts_as_stalled_by_state(void)
{
	put("q", "j", "send", "0");
	pop("w");
	ASSERT_BEGINS("$", &f, "TIMEOUT", "j");
	ASSERT_MEMBER("1", "waiting", NATIVE(&f, "QUEUE.COUNT", "q"));
	ASSERT_NATIVE("*4\r\n$7\r\nwaiting\r\n:0\r\n$7\r\nstalled\r\n:1\r\n", &f, "QUEUE.COUNT",
		      "q", "STATE", "waiting", "stalled");
	ASSERT_NATIVE("*1\r\n*2\r\n$7\r\nstalled\r\n:1\r\n", &f, "QUEUE.COUNT", "q", "BY", "state");
}

static void a_due_job_counts_as_waiting(void)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "j", "send", "{}", "10");
	f.now += 11;
	ASSERT_MEMBER("1", "waiting", NATIVE(&f, "QUEUE.COUNT", "q"));
}

/* ---- fields ---- */

static void fields_have_rows_sorted_by_number(void)
{
	make_jobs();
	ASSERT_NATIVE("*2\r\n*2\r\n$4\r\nsend\r\n:5\r\n*2\r\n$4\r\nload\r\n:3\r\n", &f,
		      "QUEUE.COUNT", "q", "BY", "KLASS");
	ASSERT_NATIVE(
		"*3\r\n*2\r\n$1\r\n9\r\n:4\r\n*2\r\n$2\r\n-1\r\n:2\r\n*2\r\n$1\r\n0\r\n:2\r\n", &f,
		"QUEUE.COUNT", "q", "BY", "priority");
	ASSERT_NATIVE("*6\r\n*2\r\n$7\r\nrunning\r\n:2\r\n*2\r\n$7\r\nwaiting\r\n:2\r\n"
		      "*2\r\n$8\r\ncomplete\r\n:1\r\n*2\r\n$7\r\ndepends\r\n:1\r\n"
		      "*2\r\n$6\r\nfailed\r\n:1\r\n*2\r\n$9\r\nscheduled\r\n:1\r\n",
		      &f, "QUEUE.COUNT", "q", "BY", "state");
	ASSERT_NATIVE("*1\r\n*2\r\n$1\r\n5\r\n:6\r\n", &f, "QUEUE.COUNT", "q", "STATE", "waiting",
		      "running", "complete", "failed", "BY", "remaining");
}

static void a_missing_field_is_null(void)
{
	make_jobs();
	ASSERT_NATIVE("*3\r\n*2\r\n$-1\r\n:6\r\n*2\r\n$2\r\nw1\r\n:1\r\n*2\r\n$2\r\nw2\r\n:1\r\n",
		      &f, "QUEUE.COUNT", "q", "BY", "worker");
	ASSERT_NATIVE("*2\r\n*2\r\n$-1\r\n:7\r\n*2\r\n$6\r\nbroken\r\n:1\r\n", &f, "QUEUE.COUNT",
		      "q", "BY", "group");
}

static void two_fields_are_crossed(void)
{
	make_jobs();
	ASSERT_NATIVE(
		"*3\r\n*3\r\n$7\r\nwaiting\r\n$2\r\n-1\r\n:2\r\n"
		"*3\r\n$8\r\nreserved\r\n$1\r\n9\r\n:1\r\n*3\r\n$7\r\nstarted\r\n$1\r\n9\r\n:1"
		"\r\n",
		&f, "QUEUE.COUNT", "q", "STATE", "waiting", "reserved", "started", "BY", "state",
		"priority");
	ASSERT_NATIVE("*2\r\n*3\r\n$2\r\n-1\r\n$1\r\n5\r\n:2\r\n*3\r\n$1\r\n9\r\n$1\r\n5\r\n:2\r\n",
		      &f, "QUEUE.COUNT", "q", "STATE", "waiting", "running", "BY", "priority",
		      "remaining");
}

/* ---- many values ---- */

static void values_that_find_no_place_are_under_other(void)
{
	char jid[32], klass[32], expected[64];
	const char *reply;

	for (int i = 0; i < JOB_TALLY_ROWS_MAX + 10; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		snprintf(klass, sizeof klass, "k%d", i);
		put("q", jid, klass, "0");
	}
	reply = NATIVE(&f, "QUEUE.COUNT", "q", "BY", "klass");
	snprintf(expected, sizeof expected, "*%d\r\n*2\r\n$", JOB_TALLY_ROWS_MAX + 1);
	TEST_ASSERT_EQUAL_INT(0, strncmp(reply, expected, strlen(expected)));
	TEST_ASSERT_NOT_NULL(strstr(reply, ":1\r\n*2\r\n$5\r\nother\r\n:10\r\n"));
	TEST_ASSERT_EQUAL_STRING("*2\r\n$5\r\nother\r\n:10\r\n",
				 strstr(reply, "*2\r\n$5\r\nother"));
	reply = NATIVE(&f, "QUEUE.COUNT", "q", "BY", "klass", "state");
	TEST_ASSERT_EQUAL_STRING("*3\r\n$5\r\nother\r\n$5\r\nother\r\n:10\r\n",
				 strstr(reply, "*3\r\n$5\r\nother"));
	ASSERT_NATIVE("*1\r\n*2\r\n$7\r\nwaiting\r\n:4010\r\n", &f, "QUEUE.COUNT", "q", "BY",
		      "state");
}

static void long_values_that_find_no_place_are_under_other(void)
{
	static char klass[LONG_NAME];
	struct qless_str parts[] = { STR("PUT"), STR("me"), STR("q"), STR(""),
				     STR(""),	 STR("{}"), STR("0") };
	char jid[2] = "a";
	int fitting = (int)(JOB_TALLY_BYTES_MAX / (LONG_NAME + sizeof(size_t)));
	char expected[16];
	const char *reply;

	for (int i = 0; i < fitting + 2; i++, jid[0]++) {
		memset(klass, 'a' + i, sizeof klass);
		parts[3] = str_from(jid);
		parts[4] = str_make(klass, sizeof klass);
		TEST_ASSERT_EQUAL_CHAR('$', call_run_argv(&f.call, parts, 7)[0]);
	}
	reply = NATIVE(&f, "QUEUE.COUNT", "q", "BY", "klass");
	snprintf(expected, sizeof expected, "*%d\r\n", fitting + 1);
	TEST_ASSERT_EQUAL_INT(0, strncmp(reply, expected, strlen(expected)));
	TEST_ASSERT_EQUAL_STRING("*2\r\n$5\r\nother\r\n:2\r\n", strstr(reply, "*2\r\n$5\r\nother"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_queue_has_a_number_for_each_state);
	RUN(an_unknown_queue_has_no_jobs);
	RUN(states_select_what_is_counted);
	RUN(a_lock_that_expired_counts_as_stalled);
	RUN(a_job_that_was_taken_from_its_worker_counts_as_stalled_by_state);
	RUN(a_due_job_counts_as_waiting);
	RUN(fields_have_rows_sorted_by_number);
	RUN(a_missing_field_is_null);
	RUN(two_fields_are_crossed);
	RUN(values_that_find_no_place_are_under_other);
	RUN(long_values_that_find_no_place_are_under_other);
	return UNIT_RESULT();
}
