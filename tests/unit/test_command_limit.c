/*
 * LIMIT.SET and its relatives, the option `limits` of the commands that put jobs, and JOB.WHY.
 */
#include "native.h"

#include "command/attach.h"
#include "flatmap.h"

static struct native_fixture f;
static size_t listeners;

static const struct databases_limits strict = {
	.engine = { .is_strict = true, .max_limits = 3 },
	.max_json_depth = 1000,
};

void setUp(void)
{
	native_setup(&f);
	databases_set_limits(f.call.env.databases, &strict);
	listeners = 1;
}

void tearDown(void)
{
	native_teardown(&f);
}

static void put(const char *queue, const char *jid, const char *limits)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", queue, jid, "k", "{}", "0", "limits", limits);
	f.now += 0.001;
}

/* Pops one job, and expects this jid; "" for none. */
static void expect_pop(const char *queue, const char *jid)
{
	const char *reply = NATIVE(&f, "POP", queue, "w", "1");
	char expected[100];

	snprintf(expected, sizeof expected, "{\"jid\":\"%s\"", jid);
	if (*jid == '\0')
		TEST_ASSERT_EQUAL_STRING("$2\r\n[]\r\n", reply);
	else
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, expected), reply);
}

static void complete(const char *queue, const char *jid)
{
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", jid, "w", queue, "{}");
}

#define LIMIT_SET(...) ASSERT_NATIVE("+OK\r\n", &f, "LIMIT.SET", __VA_ARGS__)

#define ASSERT_LIMIT(expected, member, limit) \
	ASSERT_MEMBER(expected, member, NATIVE(&f, "LIMIT.GET", limit))
#define ASSERT_WHY(expected, member, jid) \
	ASSERT_MEMBER(expected, member, NATIVE(&f, "JOB.WHY", jid))

/* ---- rules ---- */

static void a_rule_has_what_was_set(void)
{
	LIMIT_SET("a", "concurrency", "3", "rate", "10", "per", "0.5", "burst", "4", "weight",
		  "2.5", "ttl", "60");
	ASSERT_LIMIT("a", "name", "a");
	ASSERT_LIMIT("a", "rule", "a");
	ASSERT_LIMIT("3", "concurrency", "a");
	ASSERT_LIMIT("10", "rate", "a");
	ASSERT_LIMIT("0.5", "per", "a");
	ASSERT_LIMIT("4", "burst", "a");
	ASSERT_LIMIT("4", "tokens", "a");
	ASSERT_LIMIT("2.5", "weight", "a");
	ASSERT_LIMIT("1060", "expires", "a");
	ASSERT_LIMIT("open", "state", "a");
	ASSERT_LIMIT("null", "opens", "a");
	ASSERT_LIMIT("null", "held-until", "a");
	ASSERT_LIMIT("0", "running", "a");
	ASSERT_LIMIT("*0\r\n", "holders", "a");
}

static void a_rule_keeps_what_is_not_set_again(void)
{
	LIMIT_SET("a", "CONCURRENCY", "3", "RATE", "10", "PER", "5");
	LIMIT_SET("a", "CONCURRENCY", "4");
	ASSERT_LIMIT("4", "concurrency", "a");
	ASSERT_LIMIT("10", "rate", "a");
	LIMIT_SET("a", "RATE", "0");
	ASSERT_LIMIT("0", "rate", "a");
	ASSERT_LIMIT("4", "concurrency", "a");
	LIMIT_SET("a", "TTL", "5");
	LIMIT_SET("a", "TTL", "0");
	ASSERT_LIMIT("null", "expires", "a");
}

static void a_name_without_a_rule_and_without_jobs_is_null(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "LIMIT.GET", "a");
	LIMIT_SET("a", "CONCURRENCY", "1");
	ASSERT_NATIVE(":1\r\n", &f, "LIMIT.DELETE", "a");
	ASSERT_NATIVE(":0\r\n", &f, "LIMIT.DELETE", "a");
	ASSERT_NATIVE("$-1\r\n", &f, "LIMIT.GET", "a");
	put("q", "j", "[\"a\"]");
	ASSERT_LIMIT("null", "rule", "a");
	ASSERT_LIMIT("1", "waiting", "a");
}

static void a_limit_tells_from_which_pattern_its_rule_is(void)
{
	LIMIT_SET("domain:*", "RATE", "1", "PER", "2");
	LIMIT_SET("domain:org.*", "RATE", "2", "PER", "2");
	ASSERT_LIMIT("domain:*", "rule", "domain:com");
	ASSERT_LIMIT("domain:org.*", "rule", "domain:org.x");
	ASSERT_LIMIT("2", "rate", "domain:org.x");
	LIMIT_SET("domain:com", "CONCURRENCY", "5");
	ASSERT_LIMIT("domain:com", "rule", "domain:com");
	ASSERT_LIMIT("0", "rate", "domain:com");
	ASSERT_NATIVE(":1\r\n", &f, "LIMIT.DELETE", "domain:org.*");
	ASSERT_LIMIT("domain:*", "rule", "domain:org.x");
}

static void the_concurrency_of_a_queue_is_its_option(void)
{
	LIMIT_SET("queue:mail", "CONCURRENCY", "7");
	ASSERT_NATIVE("$1\r\n7\r\n", &f, "CONFIG.GET", "mail-max-concurrency");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "mail-max-concurrency", "2");
	ASSERT_LIMIT("2", "concurrency", "queue:mail");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.UNSET", "mail-max-concurrency");
	ASSERT_NATIVE("$-1\r\n", &f, "LIMIT.GET", "queue:mail");
}

/* ---- the option of jobs ---- */

static void a_job_shows_its_limits_in_native_replies_alone(void)
{
	put("q", "j", "[\"a\",\"b\",\"a\"]");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "j"), "\"limits\":[\"a\",\"b\"]"));
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "QLESS", "get", "2000", "j"), "limits"));
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "plain", "k", "{}", "0");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "GET", "plain"), "limits"));
}

static void a_job_keeps_its_limits_unless_others_are_given(void)
{
	put("q", "j", "[\"a\"]");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "j", "k", "{}", "0");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "j"), "\"limits\":[\"a\"]"));
	ASSERT_BEGINS("$", &f, "REQUEUE", "me", "q", "j", "k", "{}", "0", "LIMITS", "[\"b\"]");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "j"), "\"limits\":[\"b\"]"));
	expect_pop("q", "j");
	ASSERT_NATIVE("$7\r\nwaiting\r\n", &f, "COMPLETE", "j", "w", "q", "{}", "next", "out");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "j"), "\"limits\":[\"b\"]"));
	expect_pop("out", "j");
	ASSERT_NATIVE("$7\r\nwaiting\r\n", &f, "COMPLETE", "j", "w", "out", "{}", "next", "in",
		      "limits", "[\"c\",\"d\"]");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "j"), "\"limits\":[\"c\",\"d\"]"));
	put("q", "j", "[]");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "GET", "j"), "limits"));
}

static void all_jobs_of_a_call_have_its_limits(void)
{
	NATIVE(&f, "MULTIPUT", "me", "q", "0", "limits", "[\"a\"]", "jobs", "i", "k", "{}", "j",
	       "k", "{}");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "i"), "\"limits\":[\"a\"]"));
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "j"), "\"limits\":[\"a\"]"));
}

static void a_recurring_job_gives_its_limits_to_its_jobs(void)
{
	ASSERT_BEGINS("$", &f, "RECUR", "q", "r", "k", "{}", "interval", "60", "0", "limits",
		      "[\"a\"]");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "RECUR.GET", "r"), "\"limits\":[\"a\"]"));
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "QLESS", "recur.get", "1", "r"), "limits"));
	expect_pop("q", "r-1");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "r-1"), "\"limits\":[\"a\"]"));
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "limits", "[\"b\",\"c\"]");
	f.now += 60;
	expect_pop("q", "r-2");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "GET", "r-2"), "\"limits\":[\"b\",\"c\"]"));
	ASSERT_NATIVE(":1\r\n", &f, "RECUR.UPDATE", "r", "limits", "[]");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "RECUR.GET", "r"), "limits"));
}

static void the_forms_of_the_reference_ignore_the_option(void)
{
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "QLESS", "put", "2000", "me", "other", "j", "k", "{}", "0",
		      "limits", "x");
	ASSERT_NATIVE("$1\r\nr\r\n", &f, "QLESS", "recur", "2000", "q", "r", "k", "{}", "interval",
		      "60", "0", "limits", "x");
	ASSERT_NATIVE("-ERR Recur(): Unrecognized option \"limits\"\r\n", &f, "QLESS",
		      "recur.update", "2000", "r", "limits", "[]");
	ASSERT_NATIVE("-ERR Multiput(): Unknown option \"limits\"\r\n", &f, "QLESS", "multiput",
		      "2000", "me", "q", "0", "limits", "[]", "jobs", "j", "k", "{}");
	f.now = 2001;
	expect_pop("q", "r-1");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "QLESS", "complete", "2001", "r-1", "w", "q", "{}",
		      "limits", "x");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "GET", "j"), "limits"));
}

static void a_job_cannot_name_more_than_max_limits_per_job(void)
{
	ASSERT_NATIVE("-LIMIT A job would have more limits than max-limits-per-job (3)\r\n", &f,
		      "PUT", "me", "q", "j", "k", "{}", "0", "limits", "[\"a\",\"b\",\"c\",\"d\"]");
	put("q", "j", "[\"a\",\"b\",\"c\",\"a\"]");
}

static void a_limit_has_no_long_name(void)
{
	static const struct databases_limits narrow = { .engine = { .max_name_bytes = 8 },
							.max_json_depth = 8 };

	databases_set_limits(f.call.env.databases, &narrow);
	ASSERT_NATIVE("-LIMIT A limit is longer than max-name-length (8 bytes)\r\n", &f, "PUT",
		      "me", "q", "j", "k", "{}", "0", "limits", "[\"123456789\"]");
	ASSERT_NATIVE("-LIMIT The name is longer than max-name-length (8 bytes)\r\n", &f,
		      "LIMIT.SET", "123456789", "CONCURRENCY", "1");
	ASSERT_NATIVE("-LIMIT The name is longer than max-name-length (8 bytes)\r\n", &f,
		      "LIMIT.HOLD", "123456789", "1");
}

/* ---- states ---- */

static void a_full_limit_shows_its_holders(void)
{
	LIMIT_SET("db", "CONCURRENCY", "1");
	put("in", "i", "[\"db\"]");
	put("out", "j", "[\"db\"]");
	expect_pop("in", "i");
	expect_pop("out", "");
	ASSERT_LIMIT("full", "state", "db");
	ASSERT_LIMIT("1", "running", "db");
	ASSERT_LIMIT("1", "waiting", "db");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "LIMIT.GET", "db"),
				    "*8\r\n$3\r\njid\r\n$1\r\ni\r\n$5\r\nqueue\r\n$2\r\nin\r\n"
				    "$6\r\nworker\r\n$1\r\nw\r\n$7\r\nexpires\r\n"));
	complete("in", "i");
	ASSERT_LIMIT("open", "state", "db");
	expect_pop("out", "j");
}

static void a_rate_shows_its_tokens_and_when_it_opens(void)
{
	LIMIT_SET("api", "RATE", "1", "PER", "10", "BURST", "2");
	put("q", "i", "[\"api\"]");
	put("q", "j", "[\"api\"]");
	put("q", "k", "[\"api\"]");
	f.now = 2000;
	expect_pop("q", "i");
	ASSERT_LIMIT("1", "tokens", "api");
	expect_pop("q", "j");
	expect_pop("q", "");
	ASSERT_LIMIT("0", "tokens", "api");
	ASSERT_LIMIT("rate", "state", "api");
	ASSERT_LIMIT("2010", "opens", "api");
	f.now = 2010;
	ASSERT_LIMIT("open", "state", "api");
	expect_pop("q", "k");
}

/* As native JSON has them. */
static void times_have_four_decimals(void)
{
	put("q", "i", "[\"api\"]");
	f.now = 1700000000.123456;
	ASSERT_NATIVE("+OK\r\n", &f, "LIMIT.HOLD", "api", "30");
	ASSERT_LIMIT("1700000030.1235", "opens", "api");
	ASSERT_WHY("1700000030.1235", "opens", "i");
}

static void a_hold_shows_when_it_ends(void)
{
	put("q", "j", "[\"api\"]");
	f.now = 2000;
	ASSERT_NATIVE("+OK\r\n", &f, "LIMIT.HOLD", "api", "30");
	expect_pop("q", "");
	ASSERT_LIMIT("held", "state", "api");
	ASSERT_LIMIT("2030", "held-until", "api");
	ASSERT_LIMIT("2030", "opens", "api");
	ASSERT_NATIVE("+OK\r\n", &f, "LIMIT.HOLD", "api", "0");
	ASSERT_LIMIT("open", "state", "api");
	expect_pop("q", "j");
}

/* ---- lists ---- */

/* Counts the limits of a walk with pages of `count`, which match the pattern. */
static size_t walk(const char *pattern, const char *count)
{
	char cursor[32] = "0";
	size_t found = 0;

	do {
		const char *reply = NATIVE(&f, "LIMIT.LIST", "MATCH", pattern, "CURSOR", cursor,
					   "COUNT", count);

		TEST_ASSERT_EQUAL_INT_MESSAGE(1, sscanf(reply, "*2\r\n$%*d\r\n%31s", cursor),
					      reply);
		for (const char *at = reply; (at = strstr(at, "$4\r\nname\r\n")) != NULL; at++)
			found++;
	} while (strcmp(cursor, "0") != 0);
	return found;
}

static void a_walk_lists_each_limit_once(void)
{
	char name[32], limits[64];

	TEST_ASSERT_EQUAL_size_t(0, walk("*", "10"));
	LIMIT_SET("domain:*", "RATE", "1", "PER", "10");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "j%d", i);
		snprintf(limits, sizeof limits, "[\"%s:%d\"]", i % 3 == 0 ? "tenant" : "domain", i);
		put("q", name, limits);
	}
	TEST_ASSERT_EQUAL_size_t(301, walk("*", "10"));
	TEST_ASSERT_EQUAL_size_t(301, walk("*", "10000"));
	TEST_ASSERT_EQUAL_size_t(100, walk("tenant:*", "7"));
	TEST_ASSERT_EQUAL_size_t(1, walk("domain:1", "100"));
}

static void a_page_has_about_as_many_limits_as_it_should(void)
{
	char name[32];
	size_t found = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "limit%d", i);
		LIMIT_SET(name, "CONCURRENCY", "1");
	}
	for (const char *at = NATIVE(&f, "LIMIT.LIST", "COUNT", "50");
	     (at = strstr(at, "$4\r\nname\r\n")) != NULL; at++)
		found++;
	TEST_ASSERT_GREATER_OR_EQUAL_size_t(50, found);
	TEST_ASSERT_LESS_THAN_size_t(150, found);
}

/* ---- JOB.WHY ---- */

static size_t count_listeners(void *arg, unsigned db, struct qless_str queue)
{
	(void)arg;
	(void)db;
	(void)queue;
	return listeners;
}

static void watch_listeners(void)
{
	static const struct attach_ops ops = { .count_listeners = count_listeners };

	f.call.env.presence = &ops;
}

static void a_job_that_does_not_exist_has_no_reason(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "JOB.WHY", "none");
}

static void a_waiting_job_tells_its_place(void)
{
	watch_listeners();
	put("q", "i", "[]");
	put("q", "j", "[\"a\"]");
	put("q", "k", "[]");
	ASSERT_WHY("next", "reason", "i");
	ASSERT_WHY("0", "place", "i");
	ASSERT_WHY("in-line", "reason", "j");
	ASSERT_WHY("1", "place", "j");
	ASSERT_WHY("2", "place", "k");
	ASSERT_WHY("Waiting jobs that come before it in queue q: 2", "explanation", "k");
	ASSERT_WHY("1", "listeners", "k");
	listeners = 0;
	ASSERT_WHY("no-listener", "reason", "i");
	ASSERT_WHY("in-line", "reason", "j");
}

static void a_paused_queue_comes_before_other_reasons(void)
{
	put("q", "j", "[\"a\"]");
	NATIVE(&f, "LIMIT.HOLD", "a", "60");
	ASSERT_NATIVE("$-1\r\n", &f, "PAUSE", "q");
	ASSERT_WHY("paused", "reason", "j");
	ASSERT_WHY("Queue q is paused. UNPAUSE ends the pause", "explanation", "j");
	ASSERT_WHY("a", "limit", "j");
	ASSERT_WHY("1", "paused", "j");
}

static void a_job_tells_which_limit_holds_it(void)
{
	LIMIT_SET("db", "CONCURRENCY", "1");
	LIMIT_SET("api", "RATE", "1", "PER", "10");
	put("q", "i", "[\"db\",\"api\"]");
	f.now = 2000;
	expect_pop("q", "i");
	put("q", "d", "[\"db\"]");
	put("q", "a", "[\"api\"]");
	put("q", "h", "[\"held\"]");
	NATIVE(&f, "LIMIT.HOLD", "held", "30");
	f.now = 2001;
	ASSERT_WHY("limit", "reason", "d");
	ASSERT_WHY("db", "limit", "d");
	ASSERT_WHY("concurrency", "held-by", "d");
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "JOB.WHY", "d"), "$3\r\njid\r\n$1\r\ni\r\n"));
	ASSERT_WHY("rate", "held-by", "a");
	ASSERT_WHY("2010", "opens", "a");
	ASSERT_WHY("Limit api has handed out as many jobs as its rate allows. It opens in 9 "
		   "seconds",
		   "explanation", "a");
	ASSERT_WHY("hold", "held-by", "h");
	ASSERT_WHY("held", "limit", "h");
}

static void the_option_of_a_queue_is_a_limit_too(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-max-concurrency", "1");
	put("q", "i", "[]");
	put("q", "j", "[]");
	expect_pop("q", "i");
	ASSERT_WHY("limit", "reason", "j");
	ASSERT_WHY("queue:q", "limit", "j");
	ASSERT_WHY("concurrency", "held-by", "j");
}

static void a_running_job_tells_its_worker_and_since_when(void)
{
	put("q", "j", "[]");
	f.now = 2000;
	expect_pop("q", "j");
	f.now = 2010;
	ASSERT_WHY("running", "state", "j");
	ASSERT_WHY("running", "reason", "j");
	ASSERT_WHY("w", "worker", "j");
	ASSERT_WHY("2000", "since", "j");
	ASSERT_WHY("2060", "expires", "j");
	ASSERT_WHY("1", "lock", "j");
	f.now = 2061;
	ASSERT_WHY("expired", "reason", "j");
}

static void a_job_for_later_tells_when_it_is_due(void)
{
	f.now = 2000;
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "j", "k", "{}", "60");
	ASSERT_WHY("scheduled", "reason", "j");
	ASSERT_WHY("2060", "due", "j");
	ASSERT_WHY("The job is due in 60 seconds", "explanation", "j");
	f.now = 2061;
	ASSERT_WHY("due", "reason", "j");
}

static void a_job_that_depends_on_others_tells_their_states(void)
{
	put("q", "first", "[]");
	put("q", "second", "[]");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "j", "k", "{}", "0", "depends",
		      "[\"first\",\"second\"]");
	expect_pop("q", "first");
	NATIVE(&f, "FAIL", "first", "w", "group", "message");
	ASSERT_WHY("dependencies", "reason", "j");
	ASSERT_WHY("2", "dependencies-left", "j");
	ASSERT_WHY("*2\r\n"
		   "*6\r\n$3\r\njid\r\n$5\r\nfirst\r\n$5\r\nstate\r\n$6\r\nfailed\r\n"
		   "$5\r\nqueue\r\n$1\r\nq\r\n"
		   "*6\r\n$3\r\njid\r\n$6\r\nsecond\r\n$5\r\nstate\r\n$7\r\nwaiting\r\n"
		   "$5\r\nqueue\r\n$1\r\nq\r\n",
		   "dependencies", "j");
}

static void a_failed_job_tells_how_it_failed(void)
{
	put("q", "j", "[]");
	expect_pop("q", "j");
	NATIVE(&f, "FAIL", "j", "w", "smtp", "no route");
	ASSERT_WHY("failed", "reason", "j");
	ASSERT_WHY("smtp", "group", "j");
	ASSERT_WHY("no route", "message", "j");
	ASSERT_WHY("w", "worker", "j");
	ASSERT_WHY("5", "retries-left", "j");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "tired", "k", "{}", "0", "retries", "0");
	expect_pop("q", "tired");
	NATIVE(&f, "RETRY", "tired", "q", "w");
	ASSERT_WHY("The job has used up its retries. UNFAIL, REQUEUE or PUT lets it run again",
		   "explanation", "tired");
}

static void a_complete_job_tells_when_it_completed(void)
{
	put("q", "j", "[]");
	expect_pop("q", "j");
	f.now = 3000;
	complete("q", "j");
	ASSERT_WHY("complete", "reason", "j");
	ASSERT_WHY("3000", "completed-at", "j");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_rule_has_what_was_set);
	RUN(a_rule_keeps_what_is_not_set_again);
	RUN(a_name_without_a_rule_and_without_jobs_is_null);
	RUN(a_limit_tells_from_which_pattern_its_rule_is);
	RUN(the_concurrency_of_a_queue_is_its_option);
	RUN(a_job_shows_its_limits_in_native_replies_alone);
	RUN(a_job_keeps_its_limits_unless_others_are_given);
	RUN(all_jobs_of_a_call_have_its_limits);
	RUN(a_recurring_job_gives_its_limits_to_its_jobs);
	RUN(the_forms_of_the_reference_ignore_the_option);
	RUN(a_job_cannot_name_more_than_max_limits_per_job);
	RUN(a_limit_has_no_long_name);
	RUN(a_full_limit_shows_its_holders);
	RUN(a_rate_shows_its_tokens_and_when_it_opens);
	RUN(times_have_four_decimals);
	RUN(a_hold_shows_when_it_ends);
	RUN(a_walk_lists_each_limit_once);
	RUN(a_page_has_about_as_many_limits_as_it_should);
	RUN(a_job_that_does_not_exist_has_no_reason);
	RUN(a_waiting_job_tells_its_place);
	RUN(a_paused_queue_comes_before_other_reasons);
	RUN(a_job_tells_which_limit_holds_it);
	RUN(the_option_of_a_queue_is_a_limit_too);
	RUN(a_running_job_tells_its_worker_and_since_when);
	RUN(a_job_for_later_tells_when_it_is_due);
	RUN(a_job_that_depends_on_others_tells_their_states);
	RUN(a_failed_job_tells_how_it_failed);
	RUN(a_complete_job_tells_when_it_completed);
	return UNIT_RESULT();
}
