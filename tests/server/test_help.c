/*
 * HELP, and hints about commands whose worker and queue look swapped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "tempdir.h"
#include "unit.h"

static struct tempdir dir;
static struct qlessd q;
static struct peer *p;

void setUp(void)
{
	tempdir_init(&dir);
	QLESSD_START(&q, "--dir", dir.path);
	p = peer_connect(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
}

/* Hints in the reply to HELP. */
static int count_hints(struct peer *peer)
{
	int count = 0;

	for (const char *at = peer_ask(peer, "HELP"); (at = strstr(at, "Hint: ")) != NULL; at++)
		count++;
	return count;
}

static void help_shows_where_to_begin_and_what_a_command_expects(void)
{
	ASK_HAS(p, "HELP", "is a server for job queues");
	ASK(p, "HELP peek",
	    "*1\r\n$97\r\nReturns the jobs that a pop would return next, without locking them. "
	    "(expected: PEEK queue count)\r\n");
	ASK_HAS(p, "help Config Set", "(expected: CONFIG SET parameter value");
	ASK_HAS(p, "HELP client", "(expected: CLIENT and a subcommand; see CLIENT HELP)");
	ASK_HAS(p, "HELP nosuch", "-ERR unknown command 'nosuch'");
	ASK_HAS(p, "HELP config nosuch", "-ERR unknown subcommand 'nosuch'. Try CONFIG HELP.");
}

static void swapped_arguments_of_a_put_get_a_hint(void)
{
	ASK(p, "PUT web mail a k {} 0", "$1\r\na\r\n");
	TEST_ASSERT_EQUAL_INT(0, count_hints(p));
	ASK(p, "PUT mail web b k {} 0", "$1\r\nb\r\n");
	TEST_ASSERT_EQUAL_INT(1, count_hints(p));
	ASK_HAS(p, "HELP",
		"Hint: put named the queue 'web', which did not exist, and the worker 'mail', "
		"which "
		"has the name of a queue. Are they swapped? (expected: PUT worker queue jid ");
	/* The queue exists now, and the same hint is kept once. */
	ASK(p, "PUT mail web c k {} 0", "$1\r\nc\r\n");
	ASK(p, "PUT other-worker new d k {} 0", "$1\r\nd\r\n");
	TEST_ASSERT_EQUAL_INT(1, count_hints(p));
	ASK_HAS(p, "HELP put", "Hint: put");
	TEST_ASSERT_NULL(strstr(peer_ask(p, "HELP pop"), "Hint"));
	ASK(p, "MULTIPUT mail many 0 jobs e k {}", "*1\r\n$1\r\ne\r\n");
	ASK(p, "REQUEUE mail again e k {} 0", "$1\r\ne\r\n");
	TEST_ASSERT_EQUAL_INT(3, count_hints(p));
	/* Clients of the reference know the order. */
	ASK(p, "QLESS put 5 mail classic f k {} 0", "$1\r\nf\r\n");
	TEST_ASSERT_EQUAL_INT(3, count_hints(p));
}

static void swapped_arguments_of_a_pop_get_a_hint(void)
{
	ASK(p, "PUT w mail a k {} 0", "$1\r\na\r\n");
	ASK(p, "POP worker-1 mail 1", "$2\r\n[]\r\n");
	ASK(p, "POP worker-1 mail 1", "$2\r\n[]\r\n");
	TEST_ASSERT_EQUAL_INT(1, count_hints(p));
	ASK_HAS(p, "HELP pop", "Hint: pop named the queue 'worker-1'");
	ASK(p, "POP nowhere worker-1 1", "$2\r\n[]\r\n");
	TEST_ASSERT_EQUAL_INT(1, count_hints(p));
	ASK(p, "SELECT 1", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT(0, count_hints(p));
}

static void the_latest_hints_are_kept(void)
{
	char line[100];

	ASK(p, "PUT w mail a k {} 0", "$1\r\na\r\n");
	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof line, "POP worker-%d mail 1", i);
		ASK(p, line, "$2\r\n[]\r\n");
	}
	TEST_ASSERT_EQUAL_INT(8, count_hints(p));
	ASK_HAS(p, "HELP", "'worker-19'");
	ASK_HAS(p, "HELP", "'worker-12'");
	TEST_ASSERT_NULL(strstr(peer_ask(p, "HELP"), "'worker-11'"));
	/* One line a minute. */
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "may have swapped two arguments of pop: its queue "
					       "'worker-0' did not exist"));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "'worker-1'"));
}

static void a_limited_user_sees_hints_about_its_queues(void)
{
	struct peer *mail = peer_connect(&q);

	ASK(p, "ACL SETUSER mail on nopass ~mail* +@all", "+OK\r\n");
	ASK(mail, "AUTH mail x", "+OK\r\n");
	ASK(p, "PUT w bank a k {} 0", "$1\r\na\r\n");
	ASK(p, "PUT w mail b k {} 0", "$1\r\nb\r\n");
	ASK(p, "PUT bank mail-2 c k {} 0", "$1\r\nc\r\n");
	ASK(p, "PUT mail mail-3 d k {} 0", "$1\r\nd\r\n");
	TEST_ASSERT_EQUAL_INT(2, count_hints(p));
	TEST_ASSERT_EQUAL_INT(1, count_hints(mail));
	ASK_HAS(mail, "HELP", "'mail-3'");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(help_shows_where_to_begin_and_what_a_command_expects);
	RUN(swapped_arguments_of_a_put_get_a_hint);
	RUN(swapped_arguments_of_a_pop_get_a_hint);
	RUN(the_latest_hints_are_kept);
	RUN(a_limited_user_sees_hints_about_its_queues);
	return UNIT_RESULT();
}
