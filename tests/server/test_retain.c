/*
 * The server keeps retained jobs for their time, deletes them by itself afterwards, and records
 * that.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ahead_server.h"
#include "peer.h"
#include "tempdir.h"
#include "unit.h"
#include "wait.h"
#include "waiting.h"

static void run_job(const char *jid, const char *options)
{
	char words[128];

	snprintf(words, sizeof words, "PUT me q %s k {} 0%s", jid, options);
	peer_ask(p, words);
	ASK_HAS(p, "POP q w 1", jid);
	snprintf(words, sizeof words, "COMPLETE %s w q {} result done-%s", jid, jid);
	ASK(p, words, "$8\r\ncomplete\r\n");
}

static bool is_gone(const char *jid)
{
	char words[64];

	snprintf(words, sizeof words, "GET %s", jid);
	return strcmp(peer_ask(p, words), "$-1\r\n") == 0;
}

static int64_t figure(const char *name)
{
	return peer_ask_number(p, "INFO queues", name);
}

static void kill_server(void)
{
	peer_close_all();
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	p = ahead_connect(&q, true);
}

static void rewrite(void)
{
	ASK_HAS(p, "BGREWRITEAOF", "+");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_in_progress:") == 0);
}

/* The jobs as clients see them. */
static const char *show(void)
{
	static const char *const words[] = { "JOBS complete", "GET acked", "GET timed",
					     "ZRANGE ql:completed 0 -1 WITHSCORES" };
	static char text[4096];
	size_t len = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s", peer_ask(p, words[i]));
	TEST_ASSERT_LESS_THAN_size_t(sizeof text, len);
	return text;
}

static void a_retained_job_is_deleted_after_its_time(void)
{
	p = ahead_connect(&q, false);
	run_job("a", " retain 1000");
	run_job("b", " retain ack");
	ASK(p, "CONFIG.SET q-retain 2000", "$-1\r\n");
	run_job("c", "");
	TEST_ASSERT_EQUAL_INT64(3, figure("jobs_retained:"));
	TEST_ASSERT_EQUAL_INT64(3, figure("jobs_complete:"));
	pass(600);
	TEST_ASSERT_FALSE(is_gone("a"));
	pass(500);
	WAIT_UNTIL(is_gone("a"));
	ASK_HAS(p, "JOB.RESULT c", "done-c");
	pass(1000);
	WAIT_UNTIL(is_gone("c"));
	ASK(p, "JOB.RESULT c", "$-1\r\n");
	pass(1e7);
	ASK_HAS(p, "JOB.WAIT 0 b", "done-b");
	TEST_ASSERT_EQUAL_INT64(2, figure("retained_swept:"));
	TEST_ASSERT_EQUAL_INT64(1, figure("jobs_retained:"));
	ASK(p, "JOB.DELETE b", ":1\r\n");
	TEST_ASSERT_TRUE(is_gone("b"));
}

static void a_job_that_is_not_retained_at_all_is_gone_at_once(void)
{
	struct peer *waiter;

	p = ahead_connect(&q, false);
	waiter = peer_connect(&q);
	peer_ask(p, "PUT me q a k {} 0 retain 0");
	waiting_begin(p, waiter, "JOB.WAIT 0 a");
	ASK_HAS(p, "POP q w 1", "\"a\"");
	ASK(p, "COMPLETE a w q {} result 42", "$8\r\ncomplete\r\n");
	TEST_ASSERT_TRUE(is_gone("a"));
	/* A client that waits for the end learns the result. */
	peer_expect(waiter, "*1\r\n*3\r\n$1\r\na\r\n$8\r\ncomplete\r\n$2\r\n42\r\n");
}

static void purges_do_not_count_retained_jobs(void)
{
	char jid[16];

	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET jobs-history-count 5", "$-1\r\n");
	for (int i = 0; i < 60; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		run_job(jid, i % 3 == 0 ? "" : " retain ack");
	}
	TEST_ASSERT_EQUAL_INT64(45, figure("jobs_complete:"));
	TEST_ASSERT_EQUAL_INT64(40, figure("jobs_retained:"));
	TEST_ASSERT_TRUE(is_gone("j42"));
	TEST_ASSERT_FALSE(is_gone("j45"));
	TEST_ASSERT_FALSE(is_gone("j1"));
	ASK(p, "ZCARD ql:completed", ":45\r\n");
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

static void restarts_keep_what_is_retained(void)
{
	char before[4096];

	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET jobs-history-count 1", "$-1\r\n");
	run_job("acked", " retain ack");
	run_job("timed", " retain 5000");
	run_job("short", " retain 100");
	run_job("x", "");
	run_job("y", "");
	pass(200);
	WAIT_UNTIL(is_gone("short"));
	for (int i = 0; i < 3; i++) {
		snprintf(before, sizeof before, "%s", show());
		/* The first restart reads the log, the second one a snapshot and the third one
		 * both.
		 */
		kill_server();
		TEST_ASSERT_EQUAL_STRING(before, show());
		TEST_ASSERT_TRUE(is_gone("short") && is_gone("x"));
		TEST_ASSERT_EQUAL_INT64(2, figure("jobs_retained:"));
		ASK_HAS(p, "GET timed", "\"retained_until\":");
		ASK_HAS(p, "GET acked", "\"retain\":\"ack\"");
		if (i == 0)
			rewrite();
		else
			run_job("z", "");
	}
	TEST_ASSERT_TRUE(is_gone("y"));
	pass(6000);
	WAIT_UNTIL(is_gone("timed"));
	TEST_ASSERT_FALSE(is_gone("acked") || is_gone("z"));
	kill_server();
	TEST_ASSERT_TRUE(is_gone("timed"));
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_retained_job_is_deleted_after_its_time);
	RUN(a_job_that_is_not_retained_at_all_is_gone_at_once);
	RUN(purges_do_not_count_retained_jobs);
	RUN(restarts_keep_what_is_retained);
	return UNITY_END();
}
