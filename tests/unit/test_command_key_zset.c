#include "keycall.h"

#include <stdio.h>
#include <stdlib.h>

static struct call_fixture f;

void setUp(void)
{
	keycall_setup(&f);
}

void tearDown(void)
{
	keycall_teardown(&f);
}

#define KEY "ql:queues"

#define A "$1\r\na\r\n"
#define B "$1\r\nb\r\n"
#define C "$1\r\nc\r\n"
#define D "$1\r\nd\r\n"

/* Queues a, b, c, d, first seen at 1, 2, 2 and 3.5. */
static void make_queues(void)
{
	PUT(&f, "1", "a", "1");
	PUT(&f, "2", "b", "2");
	PUT(&f, "2", "c", "3");
	PUT(&f, "3.5", "d", "4");
}

/* ---- one member ---- */

static void members_have_scores_and_ranks(void)
{
	make_queues();
	ASSERT_REPLY(":4\r\n", &f, "zcard", KEY);
	ASSERT_REPLY("$3\r\n3.5\r\n", &f, "zscore", KEY, "d");
	ASSERT_REPLY("$-1\r\n", &f, "zscore", KEY, "e");
	ASSERT_REPLY("*2\r\n$1\r\n1\r\n$-1\r\n", &f, "zmscore", KEY, "a", "e");
	ASSERT_REPLY(":2\r\n", &f, "zrank", KEY, "c");
	ASSERT_REPLY(":1\r\n", &f, "zrevrank", KEY, "c");
	ASSERT_REPLY("$-1\r\n", &f, "zrank", KEY, "e");
	call_use_proto(&f, 3);
	ASSERT_REPLY(",3.5\r\n", &f, "zscore", KEY, "d");
	ASSERT_REPLY("*2\r\n,1\r\n_\r\n", &f, "zmscore", KEY, "a", "e");
}

/* Put a job with a limit in the queue of the key. */
static void put_limited(double now, const char *jid)
{
	const struct qless_str limit = STR("x");
	struct qless_put put = { .queue = STR("q"),
				 .jid = str_from(jid),
				 .klass = STR("k"),
				 .data = STR("{}"),
				 .has_limits = true,
				 .limits = &limit,
				 .limit_count = 1 };

	databases_get(f.env.databases, 0);
	TEST_ASSERT_EQUAL_INT(0, qless_put(databases_peek(f.env.databases, 0), now, &put));
}

#define WORK "ql:q:q-work"

static void waiting_jobs_with_and_without_limits_are_in_one_sorted_set(void)
{
	put_limited(1, "d");
	ASSERT_REPLY("*1\r\n" D, &f, "zrange", WORK, "0", "-1");
	PUT(&f, "2", "q", "c");
	put_limited(3, "b");
	PUT(&f, "4", "q", "a");
	ASSERT_REPLY(":4\r\n", &f, "zcard", WORK);
	ASSERT_REPLY("*4\r\n" A B C D, &f, "zrange", WORK, "0", "-1");
	ASSERT_REPLY("*2\r\n" D C, &f, "zrevrange", WORK, "0", "1");
	ASSERT_REPLY("*2\r\n" B C, &f, "zrange", WORK, "1", "2");
	ASSERT_REPLY(":1\r\n", &f, "zrank", WORK, "b");
	ASSERT_REPLY(":2\r\n", &f, "zrevrank", WORK, "b");
	ASSERT_REPLY("$6\r\n-3e-10\r\n", &f, "zscore", WORK, "b");
	ASSERT_REPLY("*2\r\n" B C, &f, "zrangebyscore", WORK, "-3e-10", "-2e-10");
	ASSERT_REPLY(":3\r\n", &f, "zcount", WORK, "-3e-10", "inf");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*8\r\n" A "$23\r\n-4.0000000000000001e-10\r\n" B
		     "$6\r\n-3e-10\r\n" C "$23\r\n-2.0000000000000001e-10\r\n" D "$6\r\n-1e-10\r\n",
		     &f, "zscan", WORK, "0");
}

static void members_of_every_kind_of_sorted_set_are_found(void)
{
	QLESS(&f, "put", "1", "w", "q", "a", "klass", "{}", "0", "tags", "[\"x\"]");
	QLESS(&f, "put", "1", "w", "q", "s", "klass", "{}", "10");
	QLESS(&f, "put", "1", "w", "q", "d", "klass", "{}", "0", "depends", "[\"a\"]");
	QLESS(&f, "recur", "1", "q", "r", "klass", "{}", "interval", "60", "5");
	QLESS(&f, "track", "2", "track", "a");
	ASSERT_REPLY("$6\r\n-1e-10\r\n", &f, "zscore", "ql:q:q-work", "a");
	ASSERT_REPLY("$2\r\n11\r\n", &f, "zscore", "ql:q:q-scheduled", "s");
	ASSERT_REPLY("$1\r\n1\r\n", &f, "zscore", "ql:q:q-depends", "d");
	ASSERT_REPLY("$1\r\n6\r\n", &f, "zscore", "ql:q:q-recur", "r");
	ASSERT_REPLY("$1\r\n2\r\n", &f, "zscore", "ql:tracked", "a");
	ASSERT_REPLY("$1\r\n1\r\n", &f, "zscore", "ql:tags", "x");
	ASSERT_REPLY("$1\r\n1\r\n", &f, "zscore", "ql:t:x", "a");
	ASSERT_REPLY("$-1\r\n", &f, "zscore", "ql:t:x", "s");
	ASSERT_REPLY("$-1\r\n", &f, "zscore", "ql:q:q-work", "s");
	QLESS(&f, "pop", "3", "q", "v", "1");
	ASSERT_REPLY("$2\r\n63\r\n", &f, "zscore", "ql:q:q-locks", "a");
	ASSERT_REPLY("$2\r\n63\r\n", &f, "zscore", "ql:w:v:jobs", "a");
	ASSERT_REPLY("$1\r\n3\r\n", &f, "zscore", "ql:workers", "v");
	QLESS(&f, "complete", "4", "a", "v", "q", "{}");
	ASSERT_REPLY("$1\r\n4\r\n", &f, "zscore", "ql:completed", "a");
	ASSERT_REPLY("$-1\r\n", &f, "zscore", "ql:completed", "d");
}

/* ---- ranges ---- */

static void a_range_by_rank_takes_indices_from_either_end(void)
{
	make_queues();
	ASSERT_REPLY("*4\r\n" A B C D, &f, "zrange", KEY, "0", "-1");
	ASSERT_REPLY("*2\r\n" B C, &f, "zrange", KEY, "1", "2");
	ASSERT_REPLY("*2\r\n" C B, &f, "zrange", KEY, "1", "2", "REV");
	ASSERT_REPLY("*1\r\n" D, &f, "zrevrange", KEY, "-9", "0");
	ASSERT_REPLY("*0\r\n", &f, "zrange", KEY, "4", "9");
	ASSERT_REPLY("*0\r\n", &f, "zrange", KEY, "2", "1");
	ASSERT_REPLY("*0\r\n", &f, "zrange", "ql:workers", "0", "-1");
	ASSERT_REPLY("-ERR value is not an integer or out of range\r\n", &f, "zrange", KEY, "0",
		     "1.5");
}

static void scores_follow_members_and_form_pairs_in_resp3(void)
{
	make_queues();
	ASSERT_REPLY("*4\r\n" C "$1\r\n2\r\n" D "$3\r\n3.5\r\n", &f, "zrange", KEY, "2", "3",
		     "WITHSCORES");
	call_use_proto(&f, 3);
	ASSERT_REPLY("*2\r\n*2\r\n" C ",2\r\n*2\r\n" D ",3.5\r\n", &f, "zrange", KEY, "2", "3",
		     "withscores");
	ASSERT_REPLY("*1\r\n" C, &f, "zrange", KEY, "2", "2");
}

static void a_range_by_score_has_open_and_closed_ends(void)
{
	make_queues();
	ASSERT_REPLY("*3\r\n" A B C, &f, "zrangebyscore", KEY, "1", "2");
	ASSERT_REPLY("*2\r\n" B C, &f, "zrangebyscore", KEY, "(1", "2");
	ASSERT_REPLY("*1\r\n" A, &f, "zrangebyscore", KEY, "-inf", "(2");
	ASSERT_REPLY("*0\r\n", &f, "zrangebyscore", KEY, "(2", "(2");
	ASSERT_REPLY("*0\r\n", &f, "zrangebyscore", KEY, "2", "1");
	ASSERT_REPLY("*3\r\n" D C B, &f, "zrevrangebyscore", KEY, "+inf", "(1");
	ASSERT_REPLY("*3\r\n" D C B, &f, "zrange", KEY, "+inf", "(1", "BYSCORE", "REV");
	ASSERT_REPLY(":3\r\n", &f, "zcount", KEY, "(1", "inf");
	ASSERT_REPLY(":0\r\n", &f, "zcount", KEY, "9", "1");
	ASSERT_REPLY(":0\r\n", &f, "zcount", "ql:workers", "0", "1");
}

static void a_range_by_member_needs_equal_scores(void)
{
	PUT(&f, "1", "a", "1");
	PUT(&f, "1", "b", "2");
	PUT(&f, "1", "c", "3");
	ASSERT_REPLY("*3\r\n" A B C, &f, "zrangebylex", KEY, "-", "+");
	ASSERT_REPLY("*2\r\n" B C, &f, "zrangebylex", KEY, "(a", "[c");
	ASSERT_REPLY("*1\r\n" A, &f, "zrangebylex", KEY, "[", "(b");
	ASSERT_REPLY("*0\r\n", &f, "zrangebylex", KEY, "+", "-");
	ASSERT_REPLY("*2\r\n" C B, &f, "zrevrangebylex", KEY, "+", "[b");
	ASSERT_REPLY("*2\r\n" C B, &f, "zrange", KEY, "+", "(aa", "REV", "BYLEX");
	ASSERT_REPLY(":2\r\n", &f, "zlexcount", KEY, "[b", "[cc");
	ASSERT_REPLY("-ERR min or max not valid string range item\r\n", &f, "zlexcount", KEY, "b",
		     "+");
}

static void a_limit_cuts_a_range(void)
{
	make_queues();
	ASSERT_REPLY("*2\r\n" B C, &f, "zrangebyscore", KEY, "-inf", "inf", "LIMIT", "1", "2");
	ASSERT_REPLY("*2\r\n" C B, &f, "zrevrangebyscore", KEY, "inf", "-inf", "LIMIT", "1", "2");
	ASSERT_REPLY("*3\r\n" B C D, &f, "zrangebyscore", KEY, "-inf", "inf", "LIMIT", "1", "-5");
	ASSERT_REPLY("*0\r\n", &f, "zrangebyscore", KEY, "-inf", "inf", "LIMIT", "0", "0");
	ASSERT_REPLY("*0\r\n", &f, "zrangebyscore", KEY, "-inf", "inf", "LIMIT", "-1", "2");
	ASSERT_REPLY("*0\r\n", &f, "zrangebyscore", KEY, "-inf", "inf", "LIMIT", "4", "2");
	/* -1 is no limit for a range by rank, and its offset is ignored. */
	ASSERT_REPLY("*4\r\n" A B C D, &f, "zrange", KEY, "0", "-1", "LIMIT", "1", "-1");
}

static void ranges_refuse_what_redis_refuses(void)
{
	make_queues();
	ASSERT_REPLY("-ERR min or max is not a float\r\n", &f, "zrangebyscore", KEY, "x", "1");
	ASSERT_REPLY("-ERR min or max is not a float\r\n", &f, "zcount", KEY, "0", "nan");
	ASSERT_REPLY("-ERR min or max is not a float\r\n", &f, "zcount", KEY, "0", "5 ");
	ASSERT_REPLY("-ERR syntax error, LIMIT is only supported in combination with either "
		     "BYSCORE or BYLEX\r\n",
		     &f, "zrange", KEY, "0", "1", "LIMIT", "0", "1");
	ASSERT_REPLY("-ERR syntax error, WITHSCORES not supported in combination with BYLEX\r\n",
		     &f, "zrange", KEY, "-", "+", "BYLEX", "WITHSCORES");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "zrange", KEY, "0", "1", "BYSCORE", "BYLEX");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "zrevrange", KEY, "0", "1", "REV");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "zrangebyscore", KEY, "0", "1", "LIMIT", "0");
	ASSERT_REPLY("-ERR value is not an integer or out of range\r\n", &f, "zrangebyscore", KEY,
		     "0", "1", "LIMIT", "x", "0");
}

/* ---- ZSCAN ---- */

static void zscan_returns_a_small_set_at_once(void)
{
	make_queues();
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*4\r\n" C "$1\r\n2\r\n" D "$3\r\n3.5\r\n", &f, "zscan", KEY,
		     "0", "MATCH", "[cd]", "COUNT", "1");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*0\r\n", &f, "zscan", "ql:workers", "0");
	ASSERT_REPLY("-ERR invalid cursor\r\n", &f, "zscan", KEY, "-1");
}

#define MANY 1000

static void zscan_goes_through_a_large_set_while_it_changes(void)
{
	int seen[MANY] = { 0 };
	char name[16], now[16], cursor[32] = "0";
	int calls = 0, extra = 0;

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "s%d", i);
		snprintf(now, sizeof now, "%d",
			 i / 3 - 100); /* scores below zero, and equal ones */
		PUT(&f, now, name, name);
	}
	do {
		const char *reply = CALL(&f, "zscan", KEY, cursor, "count", "50");
		const char *at = reply;

		while ((at = strstr(at, "\ns")) != NULL)
			seen[strtol(at += 2, NULL, 10)]++;
		snprintf(cursor, sizeof cursor, "%llu",
			 strtoull(strchr(reply + strlen("*2\r\n"), '\n') + 1, NULL, 10));
		TEST_ASSERT_TRUE(strlen(cursor) < 19 || strcmp(cursor, "9223372036854775807") <= 0);
		/* Members come in front of where the scan is, and go. */
		snprintf(name, sizeof name, "x%d", extra++);
		PUT(&f, "-200", name, name);
		QLESS(&f, "queue.forget", "1", extra > 3 ? "x1" : "none");
		calls++;
	} while (strcmp(cursor, "0") != 0);
	for (int i = 0; i < MANY; i++)
		TEST_ASSERT_EQUAL_INT(1, seen[i]);
	TEST_ASSERT_INT_WITHIN(5, 20, calls);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(members_have_scores_and_ranks);
	RUN(waiting_jobs_with_and_without_limits_are_in_one_sorted_set);
	RUN(members_of_every_kind_of_sorted_set_are_found);
	RUN(a_range_by_rank_takes_indices_from_either_end);
	RUN(scores_follow_members_and_form_pairs_in_resp3);
	RUN(a_range_by_score_has_open_and_closed_ends);
	RUN(a_range_by_member_needs_equal_scores);
	RUN(a_limit_cuts_a_range);
	RUN(ranges_refuse_what_redis_refuses);
	RUN(zscan_returns_a_small_set_at_once);
	RUN(zscan_goes_through_a_large_set_while_it_changes);
	return UNIT_RESULT();
}
