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

/* ---- keys ---- */

static void an_empty_database_has_no_keys(void)
{
	ASSERT_REPLY(":0\r\n", &f, "dbsize");
	ASSERT_REPLY("*0\r\n", &f, "keys", "*");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*0\r\n", &f, "scan", "0");
	ASSERT_REPLY("$-1\r\n", &f, "randomkey");
	ASSERT_REPLY("+none\r\n", &f, "type", "ql:j:a");
	ASSERT_REPLY(":0\r\n", &f, "exists", "ql:j:a", "ql:queues");
	ASSERT_REPLY(":-2\r\n", &f, "ttl", "ql:j:a");
	call_use_proto(&f, 3);
	ASSERT_REPLY("_\r\n", &f, "randomkey");
}

static void a_job_makes_the_keys_of_qless(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY(":4\r\n", &f, "dbsize");
	ASSERT_REPLY("+hash\r\n", &f, "type", "ql:j:a");
	ASSERT_REPLY("+list\r\n", &f, "type", "ql:j:a-history");
	ASSERT_REPLY("+zset\r\n", &f, "type", "ql:q:q-work");
	ASSERT_REPLY("+zset\r\n", &f, "type", "ql:queues");
	ASSERT_REPLY("+none\r\n", &f, "type", "ql:q:q-locks");
	ASSERT_REPLY(":-1\r\n", &f, "ttl", "ql:j:a");
	f.session.db = 1;
	ASSERT_REPLY(":0\r\n", &f, "dbsize");
	ASSERT_REPLY("+none\r\n", &f, "type", "ql:j:a");
}

static void exists_counts_each_mention_of_a_key(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY(":3\r\n", &f, "exists", "ql:j:a", "ql:j:b", "ql:queues", "ql:j:a");
}

static void keys_takes_patterns_and_names(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("*1\r\n$11\r\nql:q:q-work\r\n", &f, "keys", "ql:q:*");
	ASSERT_REPLY("*1\r\n$9\r\nql:queues\r\n", &f, "keys", "*s");
	ASSERT_REPLY("*1\r\n$6\r\nql:j:a\r\n", &f, "keys", "ql:j:a");
	ASSERT_REPLY("*1\r\n$6\r\nql:j:a\r\n", &f, "keys", "ql:[i-k]:a");
	ASSERT_REPLY("*1\r\n$6\r\nql:j:a\r\n", &f, "keys", "ql:j:\\a");
	ASSERT_REPLY("*0\r\n", &f, "keys", "ql:j:b");
	ASSERT_REPLY("*0\r\n", &f, "keys", "x*");
	ASSERT_REPLY("*0\r\n", &f, "keys", "");
}

static void a_random_key_exists_and_is_drawn_evenly(void)
{
	int jobs = 0;

	for (int i = 0; i < 10; i++) {
		char jid[8];

		snprintf(jid, sizeof jid, "%d", i);
		PUT(&f, "1", "q", jid);
	}
	/* 22 keys, of which 20 belong to jobs. */
	for (int i = 0; i < 1000; i++) {
		char key[64];
		const char *reply = CALL(&f, "randomkey");

		jobs += strstr(reply, "ql:j:") != NULL;
		snprintf(key, sizeof key, "%.*s", (int)strcspn(strchr(reply, 'q'), "\r"),
			 strchr(reply, 'q'));
		ASSERT_REPLY(":1\r\n", &f, "exists", key);
	}
	TEST_ASSERT_INT_WITHIN(40, 909, jobs);
}

/* ---- SCAN ---- */

#define STABLE_JOBS 500

/* Count the keys of jobs in a reply to SCAN; returns its cursor. */
static unsigned long count_jobs(const char *reply, int seen[STABLE_JOBS])
{
	const char *cursor = strchr(reply + strlen("*2\r\n"), '\n') + 1;
	const char *at = reply;

	while ((at = strstr(at, "ql:j:s")) != NULL) {
		char *end;
		long i = strtol(at + strlen("ql:j:s"), &end, 10);

		if (*end == '\r')
			seen[i]++;
		at = end;
	}
	return strtoul(cursor, NULL, 10);
}

static void scan_returns_keys_that_exist_throughout_while_others_change(void)
{
	int seen[STABLE_JOBS] = { 0 };
	char jid[16], cursor[32] = "0";
	unsigned random = 1;

	for (int i = 0; i < STABLE_JOBS; i++) {
		snprintf(jid, sizeof jid, "s%d", i);
		PUT(&f, "1", "q", jid);
	}
	do {
		snprintf(cursor, sizeof cursor, "%lu",
			 count_jobs(CALL(&f, "scan", cursor, "count", "7"), seen));
		for (int i = 0; i < 30; i++) {
			random = random * 1103515245 + 12345;
			snprintf(jid, sizeof jid, "x%u", random >> 16 & 1023);
			if ((random >> 8 & 3) != 0)
				PUT(&f, "2", "q", jid);
			else
				QLESS(&f, "cancel", "2", jid);
		}
	} while (strcmp(cursor, "0") != 0);
	for (int i = 0; i < STABLE_JOBS; i++)
		TEST_ASSERT_EQUAL_INT(1, seen[i]);
}

static void scan_takes_patterns_and_types(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*1\r\n$11\r\nql:q:q-work\r\n", &f, "scan", "0", "count",
		     "1000", "match", "ql:q:*");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*1\r\n$6\r\nql:j:a\r\n", &f, "scan", "0", "COUNT", "1000",
		     "TYPE", "HASH");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*0\r\n", &f, "scan", "0", "COUNT", "1000", "TYPE", "stream");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*0\r\n", &f, "scan", "0", "COUNT", "1000", "TYPE", "hash",
		     "match", "*-*");
}

static void scan_refuses_what_redis_refuses(void)
{
	ASSERT_REPLY("-ERR invalid cursor\r\n", &f, "scan", "x");
	ASSERT_REPLY("-ERR invalid cursor\r\n", &f, "scan", "18446744073709551616");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "scan", "0", "count");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "scan", "0", "count", "0");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "scan", "0", "nosuch", "1");
	ASSERT_REPLY("-ERR value is not an integer or out of range\r\n", &f, "scan", "0", "count",
		     "x");
	/* An unknown cursor ends the scan. */
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("*2\r\n$1\r\n0\r\n*0\r\n", &f, "scan", "18446744073709551615");
}

/* ---- OBJECT and MEMORY ---- */

static void object_answers_like_redis(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("$9\r\nhashtable\r\n", &f, "object", "encoding", "ql:j:a");
	ASSERT_REPLY("$9\r\nquicklist\r\n", &f, "object", "encoding", "ql:j:a-history");
	ASSERT_REPLY("$8\r\nskiplist\r\n", &f, "object", "encoding", "ql:queues");
	ASSERT_REPLY(":1\r\n", &f, "object", "refcount", "ql:j:a");
	ASSERT_REPLY(":0\r\n", &f, "object", "idletime", "ql:j:a");
	TEST_ASSERT_TRUE(str_starts_with(str_from(CALL(&f, "object", "freq", "ql:j:a")),
					 STR("-ERR An LFU maxmemory policy is not selected")));
	ASSERT_REPLY("$-1\r\n", &f, "object", "encoding", "ql:j:b");
	ASSERT_REPLY("$-1\r\n", &f, "object", "freq", "ql:j:b");
}

static void memory_usage_grows_with_the_value(void)
{
	long before, after;

	PUT(&f, "1", "q", "a");
	before = strtol(CALL(&f, "memory", "usage", "ql:q:q-work") + 1, NULL, 10);
	PUT(&f, "1", "q", "b");
	after = strtol(CALL(&f, "memory", "usage", "ql:q:q-work", "samples", "0") + 1, NULL, 10);
	TEST_ASSERT_GREATER_THAN_INT64(0, before);
	TEST_ASSERT_GREATER_THAN_INT64(before, after);
	ASSERT_REPLY("$-1\r\n", &f, "memory", "usage", "ql:q:r-work");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "memory", "usage", "a", "samples");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "memory", "usage", "a", "samples", "-1");
	ASSERT_REPLY("-ERR syntax error\r\n", &f, "memory", "usage", "a", "nosuch", "1");
	ASSERT_REPLY("-ERR value is not an integer or out of range\r\n", &f, "memory", "usage", "a",
		     "samples", "x");
}

/* ---- refused commands ---- */

static void refused_writes_name_the_command_to_use(void)
{
	PUT(&f, "1", "q", "a");
	ASSERT_REPLY("-ERR 'del' cannot write to 'ql:j:a': keys are a read-only view of queues and "
		     "jobs; use CANCEL\r\n",
		     &f, "del", "ql:j:a", "ql:queues");
	ASSERT_REPLY("-ERR 'hset' cannot write to 'ql:config': keys are a read-only view of queues "
		     "and jobs; use CONFIG.SET or CONFIG.UNSET\r\n",
		     &f, "hset", "ql:config", "heartbeat", "60");
	ASSERT_REPLY("-ERR 'rename' cannot write to 'ql:t:x': keys are a read-only view of queues "
		     "and jobs; use TAG\r\n",
		     &f, "rename", "ql:t:x", "b");
	ASSERT_REPLY("-ERR 'del' cannot write to 'foo': qlessd is a server for job queues, not a "
		     "Redis database; use CANCEL to delete a job\r\n",
		     &f, "del", "foo");
	ASSERT_REPLY("-ERR 'lpush' cannot write to 'queue:default': qlessd is a server for job "
		     "queues, not a Redis database; use PUT to add a job\r\n",
		     &f, "lpush", "queue:default", "{}");
	ASSERT_REPLY(
		"-ERR 'zadd' cannot write to 'schedule': qlessd is a server for job queues, not "
		"a Redis database; use PUT with a delay to schedule a job\r\n",
		&f, "zadd", "schedule", "1", "{}");
	ASSERT_REPLY("-ERR 'expire' cannot write to 'rq:worker:1': qlessd is a server for job "
		     "queues, not a Redis database\r\n",
		     &f, "expire", "rq:worker:1", "5");
	ASSERT_REPLY("+hash\r\n", &f, "type", "ql:j:a");
}

/* ---- COMMAND GETKEYS and INFO ---- */

static void getkeys_knows_where_the_keys_are(void)
{
	ASSERT_REPLY("*1\r\n$1\r\na\r\n", &f, "command", "getkeys", "hget", "a", "b");
	ASSERT_REPLY("*2\r\n$1\r\na\r\n$1\r\nb\r\n", &f, "command", "getkeys", "exists", "a", "b");
	ASSERT_REPLY("*1\r\n$1\r\na\r\n", &f, "command", "getkeys", "object", "encoding", "a");
	ASSERT_REPLY("*1\r\n*2\r\n$1\r\na\r\n*2\r\n+RO\r\n+access\r\n", &f, "command",
		     "getkeysandflags", "type", "a");
	ASSERT_REPLY("*1\r\n*2\r\n$1\r\na\r\n*2\r\n+RW\r\n+update\r\n", &f, "command",
		     "getkeysandflags", "del", "a");
	ASSERT_REPLY("-ERR The command has no key arguments\r\n", &f, "command", "getkeys", "scan",
		     "0");
	ASSERT_REPLY("-ERR Invalid number of arguments specified for command\r\n", &f, "command",
		     "getkeys", "hget", "a");
	ASSERT_REPLY("-ERR Invalid command specified\r\n", &f, "command", "getkeys", "nosuch");
}

#define ASSERT_POSITIONS(expected, name)                                        \
	do {                                                                    \
		const char *reply_ = CALL(&f, "command", "info", name);         \
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply_, expected), reply_); \
	} while (0)

static void info_counts_the_keys_of_each_database(void)
{
	ASSERT_POSITIONS("\r\n:1\r\n:1\r\n:1\r\n", "hget");
	ASSERT_POSITIONS("\r\n:1\r\n:-1\r\n:1\r\n", "exists");
	ASSERT_POSITIONS("\r\n:1\r\n:2\r\n:1\r\n", "rename");
	ASSERT_POSITIONS("\r\n:2\r\n:2\r\n:1\r\n", "object|encoding");
	ASSERT_POSITIONS("\r\n:0\r\n:0\r\n:0\r\n", "qless");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_database_has_no_keys);
	RUN(a_job_makes_the_keys_of_qless);
	RUN(exists_counts_each_mention_of_a_key);
	RUN(keys_takes_patterns_and_names);
	RUN(a_random_key_exists_and_is_drawn_evenly);
	RUN(scan_returns_keys_that_exist_throughout_while_others_change);
	RUN(scan_takes_patterns_and_types);
	RUN(scan_refuses_what_redis_refuses);
	RUN(object_answers_like_redis);
	RUN(memory_usage_grows_with_the_value);
	RUN(refused_writes_name_the_command_to_use);
	RUN(getkeys_knows_where_the_keys_are);
	RUN(info_counts_the_keys_of_each_database);
	return UNIT_RESULT();
}
