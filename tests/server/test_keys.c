/*
 * The ql:* keys over a socket: cases that need a whole server. tests/unit/test_command_key*.c test
 * the commands.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"

static struct qlessd q;
static struct peer *p;

void setUp(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void info_counts_the_keys_of_each_database(void)
{
	ASK_LACKS(p, "INFO keyspace", "db0");
	ASK(p, "QLESS put 1 w q a klass {} 0", "$1\r\na\r\n");
	ASK(p, "SELECT 3", "+OK\r\n");
	ASK(p, "QLESS config.set 1 heartbeat 30", "$-1\r\n");
	ASK_HAS(p, "INFO keyspace", "db0:keys=4,expires=0,avg_ttl=0\r\ndb3:keys=1,expires=0,");
	ASK(p, "DBSIZE", ":1\r\n");
	ASK(p, "FLUSHALL", "+OK\r\n");
	ASK_LACKS(p, "INFO keyspace", "db0");
}

/* Every row that reads keys or is refused, in each form of the table. */
static void every_key_command_answers(void)
{
	static const char *const requests[] = {
		"DBSIZE",
		"EXISTS ql:queues",
		"EXPIRETIME ql:queues",
		"KEYS *",
		"OBJECT ENCODING ql:queues",
		"OBJECT HELP",
		"OBJECT IDLETIME ql:queues",
		"OBJECT REFCOUNT ql:queues",
		"PEXPIRETIME ql:queues",
		"PTTL ql:queues",
		"RANDOMKEY",
		"SCAN 0",
		"TTL ql:queues",
		"TYPE ql:queues",
		"MEMORY USAGE ql:queues",
		"HEXISTS ql:j:a jid",
		"HGET ql:j:a jid",
		"HGETALL ql:j:a",
		"HKEYS ql:j:a",
		"HLEN ql:j:a",
		"HMGET ql:j:a jid",
		"HSCAN ql:j:a 0",
		"HSTRLEN ql:j:a jid",
		"HVALS ql:j:a",
		"LINDEX ql:j:a-history 0",
		"LLEN ql:j:a-history",
		"LRANGE ql:j:a-history 0 -1",
		"SCARD ql:failures",
		"SISMEMBER ql:failures g",
		"SMEMBERS ql:failures",
		"SMISMEMBER ql:failures g",
		"SSCAN ql:failures 0",
		"ZCARD ql:queues",
		"ZCOUNT ql:queues 0 1",
		"ZLEXCOUNT ql:queues - +",
		"ZMSCORE ql:queues q",
		"ZRANGE ql:queues 0 -1",
		"ZRANGEBYLEX ql:queues - +",
		"ZRANGEBYSCORE ql:queues 0 1",
		"ZRANK ql:queues q",
		"ZREVRANGE ql:queues 0 -1",
		"ZREVRANGEBYLEX ql:queues + -",
		"ZREVRANGEBYSCORE ql:queues 1 0",
		"ZREVRANK ql:queues q",
		"ZSCAN ql:queues 0",
		"ZSCORE ql:queues q",
	};
	static const char *const refused[] = {
		"DEL ql:j:a",	      "EXPIRE ql:j:a 1",    "HSET ql:j:a jid b", "LPUSH ql:f:g b",
		"RENAME ql:j:a b",    "SADD ql:failures g", "SET ql:j:a b",	 "UNLINK ql:j:a",
		"ZADD ql:queues 1 r", "ZREM ql:queues q",
	};

	ASK(p, "QLESS put 1 w q a klass {} 0", "$1\r\na\r\n");
	for (int proto = 2; proto <= 3; proto++) {
		peer_ask(p, proto == 2 ? "HELLO 2" : "HELLO 3");
		for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
			TEST_ASSERT_TRUE_MESSAGE(peer_ask(p, requests[i])[0] != '-', requests[i]);
	}
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		ASK_HAS(p, refused[i], ": keys are a read-only view of queues and jobs; use ");
	ASK(p, "DBSIZE", ":4\r\n");
}

static void randomkey_returns_different_keys(void)
{
	char first[64];
	int others = 0;

	ASK(p, "QLESS put 1 w q a klass {} 0", "$1\r\na\r\n");
	snprintf(first, sizeof first, "%s", peer_ask(p, "RANDOMKEY"));
	for (int i = 0; i < 64; i++)
		others += strcmp(first, peer_ask(p, "RANDOMKEY")) != 0;
	TEST_ASSERT_GREATER_THAN_INT(0, others);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(info_counts_the_keys_of_each_database);
	RUN(every_key_command_answers);
	RUN(randomkey_returns_different_keys);
	return UNIT_RESULT();
}
