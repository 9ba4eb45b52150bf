/*
 * Hashes, lists and sets.
 */
#include "keycall.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"

static struct call_fixture f;

void setUp(void)
{
	keycall_setup(&f);
}

void tearDown(void)
{
	keycall_teardown(&f);
}

/* ---- hashes ---- */

static void hget_hexists_and_hstrlen_read_one_field(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("$7\r\nwaiting\r\n", &f, "hget", "ql:j:a", "state");
	ASSERT_REPLY("$-1\r\n", &f, "hget", "ql:j:a", "nosuch");
	ASSERT_REPLY("$-1\r\n", &f, "hget", "ql:j:b", "state");
	ASSERT_REPLY(":1\r\n", &f, "hexists", "ql:j:a", "worker");
	ASSERT_REPLY(":0\r\n", &f, "hexists", "ql:j:a", "failure");
	ASSERT_REPLY(":0\r\n", &f, "hexists", "ql:j:b", "worker");
	ASSERT_REPLY(":5\r\n", &f, "hstrlen", "ql:j:a", "klass");
	ASSERT_REPLY(":0\r\n", &f, "hstrlen", "ql:j:a", "nosuch");
	ASSERT_REPLY(":12\r\n", &f, "hlen", "ql:j:a");
	ASSERT_REPLY(":0\r\n", &f, "hlen", "ql:j:b");
	call_use_proto(&f, 3);
	ASSERT_REPLY("_\r\n", &f, "hget", "ql:j:a", "nosuch");
}

static void hmget_answers_in_the_order_of_the_request(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("*4\r\n$1\r\nq\r\n$-1\r\n$1\r\na\r\n$1\r\nq\r\n", &f, "hmget", "ql:j:a",
		     "queue", "nosuch", "jid", "queue");
	ASSERT_REPLY("*2\r\n$-1\r\n$-1\r\n", &f, "hmget", "ql:j:b", "queue", "jid");
}

static void whole_hashes_are_maps_in_resp3(void)
{
	QLESS(&f, "config.set", "1", "heartbeat", "30");
	ASSERT_REPLY("*2\r\n$9\r\nheartbeat\r\n$2\r\n30\r\n", &f, "hgetall", "ql:config");
	ASSERT_REPLY("*1\r\n$9\r\nheartbeat\r\n", &f, "hkeys", "ql:config");
	ASSERT_REPLY("*1\r\n$2\r\n30\r\n", &f, "hvals", "ql:config");
	ASSERT_REPLY("*0\r\n", &f, "hgetall", "ql:j:a");
	call_use_proto(&f, 3);
	ASSERT_REPLY("%1\r\n$9\r\nheartbeat\r\n$2\r\n30\r\n", &f, "hgetall", "ql:config");
	ASSERT_REPLY("*1\r\n$9\r\nheartbeat\r\n", &f, "hkeys", "ql:config");
	ASSERT_REPLY("%0\r\n", &f, "hgetall", "ql:j:a");
	ASSERT_REPLY("*0\r\n", &f, "hvals", "ql:j:a");
}

static void hscan_returns_all_fields_that_match(void)
{
	QLESS(&f, "config.set", "1", "heartbeat", "30");
	QLESS(&f, "config.set", "1", "x", "y");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*2\r\n$1\r\nx\r\n$1\r\ny\r\n", &f, "hscan", "ql:config", "0",
		     "match", "?", "count", "1");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*0\r\n", &f, "hscan", "ql:j:a", "0");
	ASSERT_REPLY("-ERR invalid cursor\r\n", &f, "hscan", "ql:config", "x");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "hscan", "ql:config", "0", "type", "hash");
}

/* ---- lists ---- */

#define PUT_1	   "$19\r\n[1,\"put\",{\"q\":\"q\"}]\r\n"
#define LOGGED(at) "$9\r\n[" at ",\"log\"]\r\n"

static void make_history(void)
{
	PUT(&f, "1", "q", "a");
	QLESS(&f, "log", "2", "a", "log");
	QLESS(&f, "log", "3", "a", "log");
}

static void lists_are_cut_by_index(void)
{
	make_history();
	ASSERT_REPLY(":3\r\n", &f, "llen", "ql:j:a-history");
	ASSERT_REPLY("*2\r\n" LOGGED("2") LOGGED("3"), &f, "lrange", "ql:j:a-history", "1", "9");
	ASSERT_REPLY("*2\r\n" LOGGED("2") LOGGED("3"), &f, "lrange", "ql:j:a-history", "-2", "-1");
	ASSERT_REPLY("*3\r\n" PUT_1 LOGGED("2") LOGGED("3"), &f, "lrange", "ql:j:a-history", "-9",
		     "-1");
	ASSERT_REPLY("*0\r\n", &f, "lrange", "ql:j:a-history", "2", "1");
	ASSERT_REPLY("*0\r\n", &f, "lrange", "ql:j:a-history", "3", "9");
	ASSERT_REPLY("*0\r\n", &f, "lrange", "ql:j:a-history", "-9", "-8");
	ASSERT_REPLY("*0\r\n", &f, "lrange", "ql:j:b-history", "0", "-1");
	ASSERT_REPLY("*3\r\n" PUT_1 LOGGED("2") LOGGED("3"), &f, "lrange", "ql:j:a-history",
		     "-9223372036854775808", "9223372036854775807");
	ASSERT_REPLY("-ERR value is not an integer or out of range\r\n", &f, "lrange",
		     "ql:j:a-history", "0", "x");
}

static void lindex_counts_from_either_end(void)
{
	make_history();
	ASSERT_REPLY(LOGGED("2"), &f, "lindex", "ql:j:a-history", "1");
	ASSERT_REPLY(PUT_1, &f, "lindex", "ql:j:a-history", "-3");
	ASSERT_REPLY("$-1\r\n", &f, "lindex", "ql:j:a-history", "3");
	ASSERT_REPLY("$-1\r\n", &f, "lindex", "ql:j:a-history", "-4");
	ASSERT_REPLY("$-1\r\n", &f, "lindex", "ql:j:b-history", "0");
}

static void a_group_of_failed_jobs_begins_with_the_newest(void)
{
	PUT(&f, "1", "q", "a");
	PUT(&f, "2", "q", "b");
	QLESS(&f, "pop", "3", "q", "w", "2");
	QLESS(&f, "fail", "4", "a", "w", "g", "m");
	QLESS(&f, "fail", "4", "b", "w", "g", "m");
	ASSERT_REPLY("*2\r\n$1\r\nb\r\n$1\r\na\r\n", &f, "lrange", "ql:f:g", "0", "-1");
	ASSERT_REPLY("$1\r\na\r\n", &f, "lindex", "ql:f:g", "-1");
	ASSERT_REPLY(":2\r\n", &f, "llen", "ql:f:g");
	ASSERT_REPLY("*1\r\n$1\r\ng\r\n", &f, "smembers", "ql:failures");
}

/* ---- sets ---- */

static void sets_are_sets_in_resp3(void)
{
	QLESS(&f, "pause", "1", "q", "p");
	ASSERT_REPLY("*2\r\n$1\r\np\r\n$1\r\nq\r\n", &f, "smembers", "ql:paused_queues");
	ASSERT_REPLY(":2\r\n", &f, "scard", "ql:paused_queues");
	ASSERT_REPLY(":1\r\n", &f, "sismember", "ql:paused_queues", "p");
	ASSERT_REPLY(":0\r\n", &f, "sismember", "ql:paused_queues", "r");
	ASSERT_REPLY("*2\r\n:0\r\n:1\r\n", &f, "smismember", "ql:paused_queues", "r", "q");
	ASSERT_REPLY("*1\r\n:0\r\n", &f, "smismember", "ql:failures", "r");
	ASSERT_REPLY("*0\r\n", &f, "smembers", "ql:failures");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*1\r\n$1\r\nq\r\n", &f, "sscan", "ql:paused_queues", "0",
		     "match", "q");
	call_use_proto(&f, 3);
	ASSERT_REPLY("~2\r\n$1\r\np\r\n$1\r\nq\r\n", &f, "smembers", "ql:paused_queues");
	ASSERT_REPLY("~0\r\n", &f, "smembers", "ql:failures");
}

static void dependencies_are_sets_on_both_sides(void)
{
	PUT(&f, "1", "q", "a");
	QLESS(&f, "put", "1", "w", "q", "b", "klass", "{}", "0", "depends", "[\"a\"]");
	ASSERT_REPLY("*1\r\n$1\r\na\r\n", &f, "smembers", "ql:j:b-dependencies");
	ASSERT_REPLY("*1\r\n$1\r\nb\r\n", &f, "smembers", "ql:j:a-dependents");
	ASSERT_REPLY(":1\r\n", &f, "sismember", "ql:j:b-dependencies", "a");
	ASSERT_REPLY("+none\r\n", &f, "type", "ql:j:a-dependencies");
}

/* ---- types ---- */

static void a_command_for_another_type_is_refused(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY(WRONGTYPE, &f, "hget", "ql:queues", "q");
	ASSERT_REPLY(WRONGTYPE, &f, "hmget", "ql:queues", "q");
	ASSERT_REPLY(WRONGTYPE, &f, "hgetall", "ql:queues");
	ASSERT_REPLY(WRONGTYPE, &f, "hscan", "ql:queues", "0");
	ASSERT_REPLY(WRONGTYPE, &f, "lrange", "ql:j:a", "0", "-1");
	ASSERT_REPLY(WRONGTYPE, &f, "llen", "ql:j:a");
	ASSERT_REPLY(WRONGTYPE, &f, "smembers", "ql:j:a");
	ASSERT_REPLY(WRONGTYPE, &f, "smismember", "ql:j:a", "b");
	ASSERT_REPLY(WRONGTYPE, &f, "zcard", "ql:j:a");
	ASSERT_REPLY(WRONGTYPE, &f, "zmscore", "ql:j:a", "b");
	ASSERT_REPLY(WRONGTYPE, &f, "zrange", "ql:j:a-history", "0", "-1");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(hget_hexists_and_hstrlen_read_one_field);
	RUN(hmget_answers_in_the_order_of_the_request);
	RUN(whole_hashes_are_maps_in_resp3);
	RUN(hscan_returns_all_fields_that_match);
	RUN(lists_are_cut_by_index);
	RUN(lindex_counts_from_either_end);
	RUN(a_group_of_failed_jobs_begins_with_the_newest);
	RUN(sets_are_sets_in_resp3);
	RUN(dependencies_are_sets_on_both_sides);
	RUN(a_command_for_another_type_is_refused);
	return UNIT_RESULT();
}
