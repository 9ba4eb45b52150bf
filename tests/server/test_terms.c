/*
 * Terms of jobs in the time of the server: runs that are over, and what a restart keeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ahead_server.h"
#include "peer.h"
#include "tempdir.h"
#include "unit.h"
#include "wait.h"

static bool is_in_state(const char *jid, const char *state)
{
	char words[64], text[64];

	snprintf(words, sizeof words, "GET %s", jid);
	snprintf(text, sizeof text, "\"state\":\"%s\"", state);
	return strstr(peer_ask(p, words), text) != NULL;
}

static void a_run_that_is_over_ends_although_nobody_asks_for_jobs(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "PUT me q j k {} 0 runtime 100 backoff fixed 50 50 retries 1", "$1\r\nj\r\n");
	ASK_HAS(p, "POP q w 1", "\"jid\":\"j\"");
	/* Nothing is popped from a paused queue, but its runs end. */
	ASK(p, "PAUSE q", "$-1\r\n");
	pass(59);
	ASK_HAS(p, "HEARTBEAT j w", ":");
	pass(30);
	TEST_ASSERT_TRUE(is_in_state("j", "running"));
	pass(12);
	WAIT_UNTIL(is_in_state("j", "scheduled"));
	ASK_HAS(p, "HEARTBEAT j w", "-NOTRUNNING ");
	pass(51);
	ASK(p, "UNPAUSE q", "$-1\r\n");
	ASK_HAS(p, "POP q w 1", "\"remaining\":0");
	pass(101);
	WAIT_UNTIL(is_in_state("j", "failed"));
	ASK_HAS(p, "FAILED", "{\"timed-out\":1}");
}

static void a_waiting_worker_gets_the_job_when_the_run_is_over(void)
{
	struct peer *waiting;

	p = ahead_connect(&q, false);
	ASK(p, "CONFIG.SET q-runtime 100", "$-1\r\n");
	ASK(p, "PUT me q j k {} 0", "$1\r\nj\r\n");
	ASK_HAS(p, "POP q w 1", "\"jid\":\"j\"");
	waiting = peer_connect(&q);
	peer_send_words(waiting, "BPOP 0 other 1 q");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 1);
	pass(59);
	ASK_HAS(p, "HEARTBEAT j w", ":");
	pass(42);
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(waiting), "\"remaining\":4"));
	ASK_HAS(p, "COMPLETE j w q {}", "-NOTOWNER ");
}

static void the_lock_of_an_attached_worker_ends_with_its_run(void)
{
	struct peer *worker;
	int64_t records;

	p = ahead_connect(&q, false);
	worker = peer_connect(&q);
	ASK_HAS(worker, "HELLO 3", "server");
	ASK_HAS(worker, "WORKER.ATTACH w", "OK");
	ASK(p, "PUT me q j k {} 0 runtime 100", "$1\r\nj\r\n");
	ASK_HAS(worker, "POP q w 1", "\"jid\":\"j\"");
	/* The server renews the lock while the run lasts. */
	pass(40);
	pass(40);
	TEST_ASSERT_TRUE(is_in_state("j", "running"));
	records = peer_ask_number(p, "INFO persistence", "log_last_sequence:");
	TEST_ASSERT_TRUE(records > 0);
	/* Now no renewal would extend it, so there is none. A few records are marks. */
	for (int i = 0; i < 20; i++)
		pass(0.5);
	records = peer_ask_number(p, "INFO persistence", "log_last_sequence:") - records;
	TEST_ASSERT_LESS_THAN_INT64(10, records);
	pass(11);
	WAIT_UNTIL(is_in_state("j", "waiting"));
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(worker), "lock_lost"));
}

static void a_run_that_was_over_while_the_server_was_down_ends_at_its_start(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "PUT me q j k {} 0 runtime 1000", "$1\r\nj\r\n");
	ASK(p, "PUT me q k k {} 0 runtime 4000", "$1\r\nk\r\n");
	ASK_HAS(p, "POP q w 2", "\"jid\":\"j\"");
	ahead_end(&q);
	ahead.us[0] += INT64_C(2000) * 1000000;
	p = ahead_connect(&q, true);
	/* After a pause of the server, a worker has time to come back. */
	pass(1000);
	WAIT_UNTIL(is_in_state("j", "waiting"));
	TEST_ASSERT_TRUE(is_in_state("k", "running"));
	pass(3000);
	WAIT_UNTIL(is_in_state("k", "waiting"));
}

static void a_restart_keeps_terms_and_numbers(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "PUT me q + k {} 0 backoff exponential 1 60 runtime 7", "$1\r\n1\r\n");
	ASK(p, "CANCEL 1", "*1\r\n$1\r\n1\r\n");
	ASK(p, "MULTIPUT me q 0 nx backoff linear 2 60 runtime 8 jobs + k {} a k {}",
	    "*2\r\n$1\r\n2\r\n$1\r\na\r\n");
	ASK(p, "RECUR q + k {} interval 60 0 runtime 9", "$1\r\n3\r\n");
	for (int i = 0; i < 2; i++) {
		ASK_HAS(p, "GET a", "\"backoff\":{\"kind\":\"linear\",\"base\":2,\"max\":60}");
		ASK_HAS(p, "GET 2", "\"runtime\":8");
		ASK_HAS(p, "RECUR.GET 3", "\"runtime\":9");
		/* The first restart reads the log, and the second one a snapshot. */
		if (i == 1) {
			ASK_HAS(p, "BGREWRITEAOF", "+");
			WAIT_UNTIL(peer_ask_number(p, "INFO persistence",
						   "aof_rewrite_in_progress:") == 0);
		}
		ahead_end(&q);
		p = ahead_connect(&q, true);
	}
	ASK_HAS(p, "GET 2", "\"runtime\":8");
	ASK_HAS(p, "RECUR.GET 3", "\"runtime\":9");
	ASK(p, "PUT me q + k {} 0", "$1\r\n4\r\n");
}

/* Start a server whose allocator overwrites memory when it is freed. */
static struct peer *connect_to_junk(bool again)
{
	struct peer *peer;

	setenv("MALLOC_CONF", "junk:free", 1);
	peer = ahead_connect(&q, again);
	unsetenv("MALLOC_CONF");
	return peer;
}

/* The change frees the text of the key that it repeats, before the log gets the record. */
static void a_restart_keeps_a_key_with_a_new_end(void)
{
	char before[2048], key[513];

	memset(key, 'x', sizeof key - 1);
	key[sizeof key - 1] = '\0';
	p = connect_to_junk(false);
	snprintf(before, sizeof before, "RECUR q r k {} interval 60 0 unique %s", key);
	ASK(p, before, "$1\r\nr\r\n");
	ASK(p, "RECUR.UPDATE r until popped", ":1\r\n");
	snprintf(before, sizeof before, "%s", peer_ask(p, "RECUR.GET r"));
	TEST_ASSERT_NOT_NULL(strstr(before, key));
	TEST_ASSERT_NOT_NULL(strstr(before, "\"until\":\"popped\""));
	peer_close_all();
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	p = connect_to_junk(true);
	ASK(p, "RECUR.GET r", before);
}

static void a_transaction_numbers_its_jobs(void)
{
	p = ahead_connect(&q, false);
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "PUT me q + k {} 0", "+QUEUED\r\n");
	ASK(p, "PUT me q + k {} 0 nx", "+QUEUED\r\n");
	ASK(p, "PUT me q 1 k {} 0 nx", "+QUEUED\r\n");
	ASK(p, "EXEC", "*3\r\n$1\r\n1\r\n$1\r\n2\r\n$-1\r\n");
	ASK(p, "LENGTH q", ":2\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_run_that_is_over_ends_although_nobody_asks_for_jobs);
	RUN(a_waiting_worker_gets_the_job_when_the_run_is_over);
	RUN(the_lock_of_an_attached_worker_ends_with_its_run);
	RUN(a_run_that_was_over_while_the_server_was_down_ends_at_its_start);
	RUN(a_restart_keeps_terms_and_numbers);
	RUN(a_restart_keeps_a_key_with_a_new_end);
	RUN(a_transaction_numbers_its_jobs);
	return UNITY_END();
}
