/*
 * The server deletes old failed jobs by itself, and records that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ahead_server.h"
#include "peer.h"
#include "tempdir.h"
#include "unit.h"
#include "wait.h"

static void fail_job(const char *jid, const char *group)
{
	char words[100];

	snprintf(words, sizeof words, "PUT me q %s k {} 0", jid);
	peer_ask(p, words);
	ASK_HAS(p, "POP q w 1", jid);
	snprintf(words, sizeof words, "FAIL %s w %s message", jid, group);
	ASK_HAS(p, words, jid);
}

static bool is_gone(const char *jid)
{
	char words[64];

	snprintf(words, sizeof words, "GET %s", jid);
	return strcmp(peer_ask(p, words), "$-1\r\n") == 0;
}

static int64_t swept(void)
{
	return peer_ask_number(p, "INFO queues", "failed_swept:");
}

static void failed_jobs_are_deleted_when_their_time_is_over(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET failed-history 1000", "$-1\r\n");
	fail_job("old", "g");
	fail_job("needed", "other");
	ASK(p, "PUT me q after k {} 0 depends [\"needed\"]", "$5\r\nafter\r\n");
	pass(600);
	fail_job("young", "g");
	TEST_ASSERT_FALSE(is_gone("old"));
	pass(500);
	WAIT_UNTIL(is_gone("old"));
	TEST_ASSERT_EQUAL_INT64(1, swept());
	ASK_HAS(p, "FAILED", "\"g\":1");
	/* A job goes when no other one needs it any more. */
	ASK(p, "CANCEL after", "*1\r\n$5\r\nafter\r\n");
	WAIT_UNTIL(is_gone("needed"));
	TEST_ASSERT_EQUAL_INT64(2, swept());
	TEST_ASSERT_FALSE(is_gone("young"));
}

static void failed_jobs_are_deleted_when_there_are_too_many(void)
{
	char jid[16];

	p = ahead_connect(&q, false);
	for (int i = 0; i < 300; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		fail_job(jid, i % 3 == 0 ? "g" : "other");
	}
	ASK(p, "CONFIG.SET failed-history-count 10", "$-1\r\n");
	WAIT_UNTIL(swept() == 290);
	TEST_ASSERT_TRUE(is_gone("j289"));
	TEST_ASSERT_FALSE(is_gone("j290"));
	/* With time, nothing else goes, and nothing is recorded. */
	pass(1000000);
	TEST_ASSERT_EQUAL_INT64(290, swept());
}

static void a_restart_does_not_bring_deleted_jobs_back(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET failed-history-count 1", "$-1\r\n");
	fail_job("a", "g");
	fail_job("b", "g");
	WAIT_UNTIL(is_gone("a"));
	for (int i = 0; i < 2; i++) {
		ahead_end(&q);
		p = ahead_connect(&q, true);
		TEST_ASSERT_TRUE(is_gone("a"));
		TEST_ASSERT_FALSE(is_gone("b"));
		/* The first restart reads the log, and the second one a snapshot. */
		ASK_HAS(p, "BGREWRITEAOF", "+");
		WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrite_in_progress:") == 0);
	}
	fail_job("c", "other");
	WAIT_UNTIL(is_gone("b"));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(failed_jobs_are_deleted_when_their_time_is_over);
	RUN(failed_jobs_are_deleted_when_there_are_too_many);
	RUN(a_restart_does_not_bring_deleted_jobs_back);
	return UNITY_END();
}
