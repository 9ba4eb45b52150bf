/*
 * QUEUE.JOBS, RECUR.LIST, and the lists of JOBS that only native commands have.
 */
#include "native.h"

#include "flatmap.h"

static struct native_fixture f;

static const struct databases_limits strict = {
	.engine = { .is_strict = true },
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

static void put(const char *queue, const char *jid)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", queue, jid, "k", "{}", "0", "retries", "5");
	f.now += 1;
}

static void pop(const char *queue, const char *count)
{
	ASSERT_BEGINS("$", &f, "POP", queue, "w", count);
	f.now += 1;
}

static void complete(const char *queue, const char *jid)
{
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", jid, "w", queue, "{}");
	f.now += 1;
}

static void fail(const char *jid, const char *group)
{
	ASSERT_BEGINS("$", &f, "FAIL", jid, "w", group, "it broke");
	f.now += 1;
}

/* Puts a job into queue `q`, and leads it to a state. */
static void make_job(const char *jid, const char *state)
{
	if (strcmp(state, "scheduled") == 0) {
		ASSERT_BEGINS("$", &f, "PUT", "me", "q", jid, "k", "{}", "10000");
		return;
	}
	if (strcmp(state, "depends") == 0) {
		ASSERT_BEGINS("$", &f, "PUT", "me", "q", jid, "k", "{}", "0", "depends",
			      "[\"elsewhere\"]");
		return;
	}
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", jid, "k", "{}", "0", "priority", "9");
	if (strcmp(state, "waiting") == 0)
		return;
	pop("q", "1");
	if (strcmp(state, "complete") == 0)
		complete("q", jid);
	else if (strcmp(state, "failed") == 0)
		fail(jid, "group");
	else if (strcmp(state, "stalled") == 0)
		ASSERT_BEGINS("$", &f, "TIMEOUT", jid);
}

/* A job in each state, named after it. The waiting and the stalled one are last, so that no pop
 * takes them. */
static void make_jobs(void)
{
	static const char *const states[] = { "scheduled", "depends", "complete", "failed",
					      "running",   "stalled", "waiting" };

	put("other", "elsewhere");
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		make_job(states[i], states[i]);
}

/* ---- walks ---- */

#define JOBS_MAX 1000

/* How often a walk listed each of the jobs `j0`, `j1` and so on, and all of them together. */
struct walk {
	char cursor[32];
	unsigned calls;
	unsigned listed;
	unsigned times[JOBS_MAX];
};

static const char *skip_to_jobs(const char *reply, char cursor[32])
{
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, sscanf(reply, "*2\r\n$%*d\r\n%31s", cursor), reply);
	return flatmap_skip(strstr(reply, "\r\n") + 2);
}

/* Returns whether the walk has not ended. */
static bool walk_on(struct walk *walk, const char *queue, const char *count)
{
	const char *at = skip_to_jobs(
		NATIVE(&f, "QUEUE.JOBS", queue, "CURSOR", walk->cursor, "COUNT", count),
		walk->cursor);

	walk->calls++;
	for (; (at = strstr(at, "\r\nj")) != NULL; at++) {
		unsigned long number = strtoul(at + 3, NULL, 10);

		TEST_ASSERT_LESS_THAN_size_t(JOBS_MAX, number);
		walk->times[number]++;
		walk->listed++;
	}
	return strcmp(walk->cursor, "0") != 0;
}

static void put_numbered(const char *queue, unsigned number)
{
	char jid[32];

	snprintf(jid, sizeof jid, "j%u", number);
	put(queue, jid);
}

static void a_walk_lists_each_job_of_the_queue_once(void)
{
	struct walk walk = { .cursor = "0" };

	for (unsigned i = 0; i < JOBS_MAX; i++)
		put_numbered(i % 2 == 0 ? "q" : "other", i);
	while (walk_on(&walk, "q", "10"))
		continue;
	for (unsigned i = 0; i < JOBS_MAX; i++)
		TEST_ASSERT_EQUAL_UINT(i % 2 == 0, walk.times[i]);
	TEST_ASSERT_GREATER_THAN_UINT(10, walk.calls);
}

static unsigned draw(unsigned *state, unsigned below)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 16) % below;
}

/* Changes jobs that a walk is not about: those from number 200 on come and go. Jobs below 200 stay
 * in the queue, but their priorities change, and their locks are renewed. */
static void disturb(unsigned *state)
{
	char jid[32], priority[32];

	f.now += 1;
	for (int i = 0; i < 20; i++) {
		snprintf(jid, sizeof jid, "j%u", 200 + draw(state, JOBS_MAX - 200));
		if (draw(state, 2) == 0)
			NATIVE(&f, "CANCEL", jid);
		else
			put("q", jid);
		snprintf(jid, sizeof jid, "j%u", draw(state, 100));
		snprintf(priority, sizeof priority, "%u", draw(state, 50));
		NATIVE(&f, "PRIORITY", jid, priority);
		snprintf(jid, sizeof jid, "j%u", 100 + draw(state, 100));
		ASSERT_BEGINS(":", &f, "HEARTBEAT", jid, "w");
	}
}

static void jobs_that_stay_are_listed_once_while_others_come_and_go(void)
{
	unsigned state = 4711;

	ASSERT_BEGINS("$", &f, "CONFIG.SET", "heartbeat", "1000000");
	for (unsigned i = 100; i < 200; i++)
		put_numbered("q", i);
	pop("q", "100");
	for (unsigned i = 0; i < 100; i++)
		put_numbered("q", i);
	for (int round = 0; round < 20; round++) {
		struct walk walk = { .cursor = "0" };

		while (walk_on(&walk, "q", "7"))
			disturb(&state);
		for (unsigned i = 0; i < 200; i++)
			TEST_ASSERT_EQUAL_UINT(1, walk.times[i]);
		for (unsigned i = 200; i < JOBS_MAX; i++)
			TEST_ASSERT_LESS_OR_EQUAL_UINT(1, walk.times[i]);
	}
}

static void a_call_ends_where_its_bytes_are_enough(void)
{
	static char data[300 * 1024];
	struct qless_str parts[] = { STR("PUT"), STR("me"), STR("q"), STR(""),
				     STR("k"),	 STR(""),   STR("0") };
	char jid[8], cursor[32];

	memset(data, 'x', sizeof data);
	data[0] = data[sizeof data - 1] = '"';
	parts[5] = str_make(data, sizeof data);
	for (int i = 0; i < 64; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		parts[3] = str_from(jid);
		call_run_argv(&f.call, parts, 7);
	}
	skip_to_jobs(NATIVE(&f, "QUEUE.JOBS", "q", "WITH", "data"), cursor);
	TEST_ASSERT_NOT_EQUAL_INT(0, strcmp(cursor, "0"));
	skip_to_jobs(NATIVE(&f, "QUEUE.JOBS", "q", "WITH", "jid"), cursor);
	TEST_ASSERT_EQUAL_STRING("0", cursor);
}

/* ---- states ---- */

static void states_select_jobs(void)
{
	static const char *const states[] = { "waiting", "running", "stalled", "scheduled",
					      "depends", "failed",  "complete" };
	char expected[100];

	make_jobs();
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		snprintf(expected, sizeof expected, "*2\r\n$1\r\n0\r\n*1\r\n$%zu\r\n%s\r\n",
			 strlen(states[i]), states[i]);
		ASSERT_NATIVE(expected, &f, "QUEUE.JOBS", "q", "STATE", states[i]);
	}
	ASSERT_BEGINS("*2\r\n$1\r\n0\r\n*7\r\n", &f, "QUEUE.JOBS", "q");
	ASSERT_BEGINS("*2\r\n$1\r\n0\r\n*3\r\n", &f, "QUEUE.JOBS", "q", "state", "Waiting",
		      "failed", "complete", "count", "50");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*0\r\n", &f, "QUEUE.JOBS", "none");
}

static void a_job_with_an_expired_lock_is_stalled(void)
{
	put("q", "j");
	pop("q", "1");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*0\r\n", &f, "QUEUE.JOBS", "q", "STATE", "stalled");
	f.now += 1000;
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*1\r\n$1\r\nj\r\n", &f, "QUEUE.JOBS", "q", "STATE",
		      "stalled");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*0\r\n", &f, "QUEUE.JOBS", "q", "STATE", "running");
}

static void a_due_job_is_waiting(void)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "j", "k", "{}", "10");
	f.now += 11;
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*1\r\n$1\r\nj\r\n", &f, "QUEUE.JOBS", "q", "STATE",
		      "waiting");
}

static void a_complete_job_belongs_to_its_last_queue(void)
{
	put("first", "j");
	pop("first", "1");
	ASSERT_BEGINS("$", &f, "COMPLETE", "j", "w", "first", "{}", "next", "last");
	pop("last", "1");
	complete("last", "j");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*0\r\n", &f, "QUEUE.JOBS", "first");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*1\r\n$1\r\nj\r\n", &f, "QUEUE.JOBS", "last");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "complete", "first");
	ASSERT_NATIVE("*1\r\n$1\r\nj\r\n", &f, "JOBS", "complete", "last");
}

/* Makes more jobs in another queue than a call looks at. */
static void make_many_others(void)
{
	ASSERT_BEGINS("$", &f, "RECUR", "other", "r", "k", "{}", "interval", "1", "0");
	f.now += 110000;
	for (int i = 0; i < 120; i++)
		ASSERT_BEGINS("$", &f, "PEEK", "other", "1000");
}

static void a_small_queue_is_listed_at_once_whatever_else_there_is(void)
{
	static const char *const states[] = { "scheduled", "depends", "complete",
					      "running",   "stalled", "waiting" };
	const char *reply;

	put("other", "elsewhere");
	make_many_others();
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		make_job(states[i], states[i]);
	reply = NATIVE(&f, "QUEUE.JOBS", "q");
	TEST_ASSERT_EQUAL_STRING_LEN("*2\r\n$1\r\n0\r\n*6\r\n", reply, 15);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		char text[64];

		snprintf(text, sizeof text, "*2\r\n$1\r\n0\r\n*1\r\n$%zu\r\n%s\r\n",
			 strlen(states[i]), states[i]);
		ASSERT_NATIVE(text, &f, "QUEUE.JOBS", "q", "STATE", states[i]);
	}
	/* More jobs than the client wants come with a cursor. */
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "QUEUE.JOBS", "q", "COUNT", "5"), "*2\r\n$1\r\n0\r\n"));
	/* Failed jobs are in no list of the queue. */
	fail("running", "group");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "QUEUE.JOBS", "q"), "*2\r\n$1\r\n0\r\n"));
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "QUEUE.JOBS", "q", "STATE", "waiting", "stalled"),
				    "*2\r\n$1\r\n0\r\n*2\r\n"));
}

/* ---- fields ---- */

/* The map of the only job that is listed. */
#define JOB_MAP(state)                                                                           \
	(strstr(NATIVE(&f, "QUEUE.JOBS", "q", "STATE", state, "WITH", "jid", "state", "klass",   \
		       "queue", "data", "priority", "retries", "remaining", "worker", "expires", \
		       "lock", "since", "due", "tracked", "group", "message", "failed-at"),      \
		"*34\r\n"))
#define ASSERT_FIELD(expected, name, state) ASSERT_MEMBER(expected, name, JOB_MAP(state))

static void fields_come_in_the_order_in_which_they_were_named(void)
{
	put("q", "j");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*1\r\n*4\r\n$5\r\nklass\r\n$1\r\nk\r\n$3\r\njid\r\n"
		      "$1\r\nj\r\n",
		      &f, "QUEUE.JOBS", "q", "WITH", "KLASS", "jid");
}

static void fields_tell_about_a_job(void)
{
	make_jobs();
	ASSERT_FIELD("waiting", "jid", "waiting");
	ASSERT_FIELD("waiting", "state", "waiting");
	ASSERT_FIELD("k", "klass", "waiting");
	ASSERT_FIELD("q", "queue", "waiting");
	ASSERT_FIELD("{}", "data", "waiting");
	ASSERT_FIELD("9", "priority", "waiting");
	ASSERT_FIELD("5", "retries", "waiting");
	ASSERT_FIELD("5", "remaining", "waiting");
	ASSERT_FIELD("0", "tracked", "waiting");
	ASSERT_FIELD("null", "worker", "waiting");
	ASSERT_FIELD("null", "expires", "waiting");
	ASSERT_FIELD("null", "lock", "waiting");
	ASSERT_FIELD("null", "due", "waiting");
	ASSERT_FIELD("null", "group", "waiting");
	ASSERT_FIELD("null", "message", "waiting");
	ASSERT_FIELD("null", "failed-at", "waiting");
	ASSERT_FIELD("11001", "due", "scheduled");
	ASSERT_FIELD("w", "worker", "running");
	ASSERT_FIELD("3", "lock", "running");
	ASSERT_FIELD("running", "state", "running");
	ASSERT_FIELD("running", "state", "reserved");
	ASSERT_FIELD("stalled", "state", "stalled");
	ASSERT_FIELD("group", "group", "failed");
	ASSERT_FIELD("it broke", "message", "failed");
	ASSERT_FIELD("q", "queue", "complete");
}

static void field_state_is_the_word_that_selects_the_job(void)
{
	put("q", "j");
	pop("q", "1");
	ASSERT_FIELD("running", "state", "running");
	f.now += 100;
	ASSERT_FIELD("stalled", "state", "stalled");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*0\r\n", &f, "QUEUE.JOBS", "q", "STATE", "running");
}

/* A field of the only job of queue `q`. */
#define ASSERT_PAST(expected, name)                                                      \
	ASSERT_MEMBER(expected, name,                                                    \
		      strstr(NATIVE(&f, "QUEUE.JOBS", "q", "WITH", "created", "updated", \
				    "attempts", "since"),                                \
			     "*8\r\n"))

static void fields_tell_about_the_past_of_a_job(void)
{
	f.now = 100;
	put("q", "j");
	ASSERT_PAST("100", "created");
	ASSERT_PAST("100", "updated");
	ASSERT_PAST("0", "attempts");
	f.now = 200;
	pop("q", "1");
	ASSERT_PAST("200", "updated");
	ASSERT_PAST("1", "attempts");
	f.now = 300;
	ASSERT_BEGINS(":", &f, "RETRY", "j", "q", "w");
	ASSERT_PAST("1", "attempts");
	pop("q", "1");
	ASSERT_PAST("2", "attempts");
	f.now = 400;
	fail("j", "group");
	ASSERT_PAST("100", "created");
	ASSERT_PAST("400", "updated");
	ASSERT_PAST("300", "since");
	ASSERT_PAST("2", "attempts");
	f.now = 500;
	put("q", "j");
	ASSERT_PAST("100", "created");
	ASSERT_PAST("500", "updated");
	ASSERT_PAST("0", "attempts");
	pop("q", "1");
	complete("q", "j");
	ASSERT_PAST("1", "attempts");
}

static void log_entries_change_a_job(void)
{
	f.now = 100;
	put("q", "j");
	f.now = 150;
	NATIVE(&f, "LOG", "j", "message");
	ASSERT_PAST("150", "updated");
	ASSERT_PAST("100", "since");
}

static void attempts_count_retries_if_the_history_was_cut(void)
{
	f.now = 100;
	ASSERT_BEGINS("$", &f, "CONFIG.SET", "max-job-history", "3");
	put("q", "j");
	for (int i = 0; i < 4; i++) {
		pop("q", "1");
		ASSERT_BEGINS(":", &f, "RETRY", "j", "q", "w");
	}
	ASSERT_PAST("4", "attempts");
	pop("q", "1");
	ASSERT_PAST("5", "attempts");
	ASSERT_PAST("100", "created");
}

static void a_history_of_many_entries_is_not_read(void)
{
	f.now = 100;
	ASSERT_BEGINS("$", &f, "CONFIG.SET", "max-job-history", "0");
	put("q", "j");
	pop("q", "1");
	for (int i = 0; i < 198; i++)
		NATIVE(&f, "LOG", "j", "message");
	f.now = 300;
	NATIVE(&f, "LOG", "j", "message");
	ASSERT_PAST("101", "updated");
	ASSERT_PAST("100", "created");
	ASSERT_PAST("1", "attempts");
}

static void the_field_job_is_the_whole_job(void)
{
	char expected[2000];

	put("q", "j");
	snprintf(expected, sizeof expected, "*2\r\n$1\r\n0\r\n*1\r\n*2\r\n$3\r\njob\r\n%s",
		 NATIVE(&f, "GET", "j"));
	ASSERT_NATIVE(expected, &f, "QUEUE.JOBS", "q", "WITH", "job");
}

/* ---- JOBS ---- */

static void waiting_jobs_come_in_the_order_of_pops(void)
{
	put("q", "a");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "b", "k", "{}", "0", "limits", "[\"x\"]");
	f.now += 1;
	put("q", "c");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "d", "k", "{}", "0", "priority", "5");
	ASSERT_NATIVE("*4\r\n$1\r\nd\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", &f, "JOBS", "waiting",
		      "q");
	ASSERT_NATIVE("*2\r\n$1\r\na\r\n$1\r\nb\r\n", &f, "JOBS", "Waiting", "q", "1", "2");
	ASSERT_NATIVE("*1\r\n$1\r\nc\r\n", &f, "JOBS", "waiting", "q", "3", "10");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "waiting", "q", "4", "10");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "waiting", "q", "0", "0");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "waiting", "none");
}

static void complete_jobs_of_a_queue_come_newest_first(void)
{
	for (unsigned i = 0; i < 6; i++)
		put_numbered(i % 3 == 0 ? "other" : "q", i);
	pop("q", "10");
	pop("other", "10");
	complete("q", "j1");
	complete("other", "j0");
	complete("q", "j4");
	complete("q", "j2");
	ASSERT_NATIVE("*3\r\n$2\r\nj2\r\n$2\r\nj4\r\n$2\r\nj1\r\n", &f, "JOBS", "complete", "q");
	ASSERT_NATIVE("*1\r\n$2\r\nj4\r\n", &f, "JOBS", "complete", "q", "1", "1");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "complete", "q", "0", "0");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "complete", "q", "3");
	ASSERT_NATIVE("*4\r\n$2\r\nj2\r\n$2\r\nj4\r\n$2\r\nj0\r\n$2\r\nj1\r\n", &f, "JOBS",
		      "complete");
	ASSERT_NATIVE("*1\r\n$2\r\nj4\r\n", &f, "JOBS", "complete", "1", "1");
}

static void failed_jobs_of_a_queue_come_newest_first_from_all_groups(void)
{
	char jid[32], group[32];

	for (unsigned i = 0; i < 300; i++)
		put_numbered(i % 3 == 0 ? "other" : "q", i);
	pop("q", "1000");
	pop("other", "1000");
	for (unsigned i = 0; i < 300; i++) {
		snprintf(jid, sizeof jid, "j%u", i * 7 % 300);
		snprintf(group, sizeof group, "group-%u", i % 20);
		fail(jid, group);
	}
	ASSERT_NATIVE("*3\r\n$4\r\nj293\r\n$4\r\nj286\r\n$4\r\nj272\r\n", &f, "JOBS", "failed", "q",
		      "0", "3");
	ASSERT_NATIVE("*2\r\n$4\r\nj286\r\n$4\r\nj272\r\n", &f, "JOBS", "FAILED", "q", "1", "2");
	ASSERT_NATIVE("*1\r\n$2\r\nj7\r\n", &f, "JOBS", "failed", "q", "199", "5");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "failed", "q", "200", "5");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "failed", "q", "5", "0");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "failed", "none");
	ASSERT_BEGINS("*25\r\n", &f, "JOBS", "failed", "q");
	ASSERT_BEGINS("*200\r\n", &f, "JOBS", "failed", "q", "0", "1000");
}

/* ---- RECUR.LIST ---- */

/* Counts the recurring jobs of a walk, and checks that none comes twice. */
static size_t walk_recurring(const char *queue, const char *count)
{
	char cursor[32] = "0";
	bool found[300] = { false };
	size_t sum = 0;

	do {
		const char *reply =
			queue != NULL ? NATIVE(&f, "RECUR.LIST", "COUNT", count, "CURSOR", cursor,
					       "QUEUE", queue)
				      : NATIVE(&f, "RECUR.LIST", "COUNT", count, "CURSOR", cursor);
		int number;

		TEST_ASSERT_EQUAL_INT_MESSAGE(1, sscanf(reply, "*2\r\n$%*d\r\n%31s", cursor),
					      reply);
		for (const char *at = reply; (at = strstr(at, "\"jid\":\"r")) != NULL;
		     at++, sum++) {
			TEST_ASSERT_EQUAL_INT(1, sscanf(at, "\"jid\":\"r%d\"", &number));
			TEST_ASSERT_TRUE(number >= 0 && number < 300 && !found[number]);
			found[number] = true;
		}
	} while (strcmp(cursor, "0") != 0);
	return sum;
}

static void a_walk_lists_each_recurring_job_once(void)
{
	char jid[16];

	TEST_ASSERT_EQUAL_size_t(0, walk_recurring(NULL, "10"));
	for (int i = 0; i < 300; i++) {
		snprintf(jid, sizeof jid, "r%d", i);
		ASSERT_BEGINS("$", &f, "RECUR", i % 3 == 0 ? "a" : "b", jid, "k", "{}", "interval",
			      "60", "0");
	}
	TEST_ASSERT_EQUAL_size_t(300, walk_recurring(NULL, "7"));
	TEST_ASSERT_EQUAL_size_t(300, walk_recurring(NULL, "10000"));
	TEST_ASSERT_EQUAL_size_t(100, walk_recurring("a", "20"));
	TEST_ASSERT_EQUAL_size_t(0, walk_recurring("c", "20"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_walk_lists_each_job_of_the_queue_once);
	RUN(jobs_that_stay_are_listed_once_while_others_come_and_go);
	RUN(a_call_ends_where_its_bytes_are_enough);
	RUN(states_select_jobs);
	RUN(a_job_with_an_expired_lock_is_stalled);
	RUN(a_due_job_is_waiting);
	RUN(a_complete_job_belongs_to_its_last_queue);
	RUN(a_small_queue_is_listed_at_once_whatever_else_there_is);
	RUN(fields_come_in_the_order_in_which_they_were_named);
	RUN(fields_tell_about_a_job);
	RUN(field_state_is_the_word_that_selects_the_job);
	RUN(fields_tell_about_the_past_of_a_job);
	RUN(log_entries_change_a_job);
	RUN(attempts_count_retries_if_the_history_was_cut);
	RUN(a_history_of_many_entries_is_not_read);
	RUN(the_field_job_is_the_whole_job);
	RUN(waiting_jobs_come_in_the_order_of_pops);
	RUN(complete_jobs_of_a_queue_come_newest_first);
	RUN(failed_jobs_of_a_queue_come_newest_first_from_all_groups);
	RUN(a_walk_lists_each_recurring_job_once);
	return UNIT_RESULT();
}
