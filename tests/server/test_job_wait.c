/*
 * JOB.WAIT and JOB.RESULT: clients that wait until jobs end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"
#include "waiting.h"

/* Number of clients that wait at once, or fewer if the system allows fewer open files. */
#define MANY 10000
#define FEW  1000
/* Jobs of MULTICOMPLETE that clients wait for, more than a turn answers. */
#define MANY_AT_ONCE 900
/* Number of attempts to measure something on a busy machine. */
#define ATTEMPTS 20
/* An idle server wakes less often than this. */
#define WAKE_UPS   8
#define WAKE_UP_MS 250
/* Microseconds of processor time that a turn with an answer takes at most. */
#define ANSWER_US 1000

static struct qlessd q;
static struct peer *p;
static struct peer *clients[4];
static struct ahead ahead;

static void connect_all(void)
{
	p = peer_connect(&q);
	for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++)
		clients[i] = peer_connect(&q);
}

void setUp(void)
{
	ahead_init(&ahead);
	AHEAD_START(&q, NULL);
	connect_all();
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

/* Puts a job into queue `q`. */
static void put(const char *jid)
{
	waiting_put(p, "q", jid);
}

/* Puts a job, and lets worker `w` have it. */
static void run(const char *jid)
{
	put(jid);
	peer_send_words(p, "POP q w 1");
	waiting_expect_jobs(p, jid);
}

static void complete(const char *jid)
{
	char words[64];

	snprintf(words, sizeof words, "COMPLETE %s w q {}", jid);
	ASK(p, words, "$8\r\ncomplete\r\n");
}

static void fail(const char *jid)
{
	char words[64];

	snprintf(words, sizeof words, "FAIL %s w group broken", jid);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, words)[0]);
}

/* The replies about a single job, whose jid has one byte. */
#define ENDED(jid, state, value) "*1\r\n*3\r\n$1\r\n" jid "\r\n" state value
#define COMPLETE		 "$8\r\ncomplete\r\n"
#define FAILED			 "$6\r\nfailed\r\n"
#define NOTHING			 "$-1\r\n"

/* ---- ends ---- */

static void a_job_that_has_ended_is_answered_at_once(void)
{
	run("a");
	complete("a");
	run("b");
	fail("b");
	ASK(p, "JOB.WAIT 0 a", ENDED("a", COMPLETE, NOTHING));
	ASK(p, "JOB.WAIT 0 b", ENDED("b", FAILED, "$6\r\nbroken\r\n"));
	ASK(p, "JOB.WAIT 0 none", "*1\r\n*3\r\n$4\r\nnone\r\n$-1\r\n$-1\r\n");
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients(p));
}

static void each_kind_of_end_ends_the_wait(void)
{
	run("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	complete("a");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING));
	run("b");
	waiting_begin(p, clients[0], "job.wait 0 b");
	fail("b");
	peer_expect(clients[0], ENDED("b", FAILED, "$6\r\nbroken\r\n"));
	put("c");
	waiting_begin(p, clients[0], "JOB.WAIT 0 c");
	peer_ask(p, "CANCEL c");
	peer_expect(clients[0], ENDED("c", NOTHING, NOTHING));
	peer_ask(p, "PUT w q d klass {} 0 retries 0");
	peer_ask(p, "POP q w 1");
	waiting_begin(p, clients[0], "JOB.WAIT 0 d");
	ASK(p, "RETRY d q w 0 gone much", ":-1\r\n");
	peer_expect(clients[0], ENDED("d", FAILED, "$4\r\nmuch\r\n"));
}

static void the_last_retry_of_a_lost_lock_ends_the_wait(void)
{
	peer_ask(p, "PUT w q a klass {} 0 retries 0");
	peer_ask(p, "POP q w 1");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	ahead_pass(&ahead, &q, 100);
	peer_ask(p, "POP q w 1");
	waiting_expect_nothing_yet(p, clients[0]);
	ahead_pass(&ahead, &q, 200);
	peer_ask(p, "POP q w 1");
	peer_expect(clients[0],
		    ENDED("a", FAILED, "$34\r\nJob exhausted retries in queue \"q\"\r\n"));
}

static void a_step_of_a_job_does_not_end_the_wait(void)
{
	run("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	peer_ask(p, "COMPLETE a w q {} next r");
	peer_ask(p, "POP r w 1");
	peer_ask(p, "TIMEOUT a");
	peer_ask(p, "POP r w 1");
	peer_ask(p, "RETRY a r w");
	peer_ask(p, "POP r w 1");
	waiting_expect_nothing_yet(p, clients[0]);
	peer_ask(p, "COMPLETE a w r {}");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING));
}

static void all_jobs_must_end(void)
{
	run("a");
	run("b");
	put("c");
	waiting_begin(p, clients[0], "JOB.WAIT 0 c b a b");
	complete("b");
	peer_ask(p, "CANCEL c");
	waiting_expect_nothing_yet(p, clients[0]);
	fail("a");
	peer_expect(clients[0], "*4\r\n*3\r\n$1\r\nc\r\n$-1\r\n$-1\r\n"
				"*3\r\n$1\r\nb\r\n$8\r\ncomplete\r\n$-1\r\n"
				"*3\r\n$1\r\na\r\n$6\r\nfailed\r\n$6\r\nbroken\r\n"
				"*3\r\n$1\r\nb\r\n$8\r\ncomplete\r\n$-1\r\n");
}

static void any_job_may_end(void)
{
	run("a");
	run("b");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a b any");
	complete("b");
	peer_expect(clients[0], ENDED("b", COMPLETE, NOTHING));
	ASK(p, "JOB.WAIT 0 a b ANY", ENDED("b", COMPLETE, NOTHING));
	/* Alone, the word is a jid. */
	ASK(p, "JOB.WAIT 0 ANY", "*1\r\n*3\r\n$3\r\nANY\r\n$-1\r\n$-1\r\n");
}

/* The job that ended first runs again when the second one ends. */
static void an_end_counts_whatever_happens_later(void)
{
	run("a");
	run("b");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a b");
	fail("a");
	peer_ask(p, "UNFAIL q group");
	complete("b");
	peer_expect(clients[0], "*2\r\n*3\r\n$1\r\na\r\n$6\r\nfailed\r\n$6\r\nbroken\r\n"
				"*3\r\n$1\r\nb\r\n$8\r\ncomplete\r\n$-1\r\n");
}

static void a_job_that_is_purged_at_once_counts(void)
{
	ASK_HAS(p, "QLESS config.set 1 jobs-history-count 0", "$");
	run("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	complete("a");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING));
	ASK(p, "GET a", "$-1\r\n");
}

static void all_clients_that_wait_for_a_job_are_answered(void)
{
	run("a");
	for (int i = 0; i < 4; i++)
		waiting_begin(p, clients[i], "JOB.WAIT 0 a");
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO clients", "awaited_jobs:"));
	complete("a");
	for (int i = 0; i < 4; i++)
		peer_expect(clients[i], ENDED("a", COMPLETE, NOTHING));
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "INFO clients", "awaited_jobs:"));
}

static void flushing_ends_the_wait(void)
{
	put("a");
	ASK(clients[1], "SELECT 3", "+OK\r\n");
	peer_ask(clients[1], "PUT w q a klass {} 0");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	waiting_begin(p, clients[1], "JOB.WAIT 0 a");
	ASK(p, "FLUSHDB", "+OK\r\n");
	peer_expect(clients[0], ENDED("a", NOTHING, NOTHING));
	waiting_expect_nothing_yet(p, clients[1]);
	ASK(p, "FLUSHALL", "+OK\r\n");
	peer_expect(clients[1], ENDED("a", NOTHING, NOTHING));
	/* The new database tells of ends, too. */
	run("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	complete("a");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING));
}

static void databases_have_jobs_of_their_own(void)
{
	run("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	ASK(clients[1], "SELECT 3", "+OK\r\n");
	peer_ask(clients[1], "PUT w q a klass {} 0");
	peer_ask(clients[1], "CANCEL a");
	waiting_expect_nothing_yet(p, clients[0]);
	complete("a");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING));
}

static void a_transaction_that_ends_a_job_answers(void)
{
	run("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	peer_send_text(p, "MULTI\r\nCOMPLETE a w q {}\r\nEXEC\r\n");
	peer_expect(p, "+OK\r\n+QUEUED\r\n*1\r\n$8\r\ncomplete\r\n");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING));
}

static void job_result_tells_how_a_job_ended(void)
{
	ASK(p, "JOB.RESULT none", "$-1\r\n");
	run("a");
	ASK(p, "JOB.RESULT a", "*4\r\n$3\r\njid\r\n$1\r\na\r\n$5\r\nstate\r\n$7\r\nrunning\r\n");
	complete("a");
	ASK(p, "JOB.RESULT a",
	    "*6\r\n$3\r\njid\r\n$1\r\na\r\n$5\r\nstate\r\n$8\r\ncomplete\r\n"
	    "$6\r\nresult\r\n$-1\r\n");
	run("b");
	fail("b");
	ASK(p, "JOB.RESULT b",
	    "*10\r\n$3\r\njid\r\n$1\r\nb\r\n$5\r\nstate\r\n$6\r\nfailed\r\n"
	    "$5\r\ngroup\r\n$5\r\ngroup\r\n$7\r\nmessage\r\n$6\r\nbroken\r\n"
	    "$5\r\nerror\r\n$6\r\nbroken\r\n");
}

static void reports_survive_a_restart(void)
{
	char *before;

	run("a");
	ASK(p, "JOB.START a w PID 42 NODE host1", "$2\r\n{}\r\n");
	ASK(p, "JOB.PROGRESS a w 50 half", "+OK\r\n");
	ASK(p, "JOB.META a SET owner anna", ":1\r\n");
	run("b");
	ASK(p, "COMPLETE b w q result done", "$8\r\ncomplete\r\n");
	run("c");
	ASK(p, "FAIL c w group m error text", "$1\r\nc\r\n");
	before = strdup(peer_ask(p, "MULTIGET a b c"));
	TEST_ASSERT_NOT_NULL(strstr(before, "\"pid\":42,\"node\":\"host1\",\"progress\":50"));
	peer_close_all();
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ NULL });
	connect_all();
	ASK(p, "MULTIGET a b c", before);
	waiting_begin(p, clients[0], "JOB.WAIT 0 a b c");
	complete("a");
	peer_expect(clients[0], "*3\r\n*3\r\n$1\r\na\r\n" COMPLETE NOTHING
				"*3\r\n$1\r\nb\r\n" COMPLETE "$4\r\ndone\r\n"
				"*3\r\n$1\r\nc\r\n" FAILED "$4\r\ntext\r\n");
	free(before);
}

/* ---- waits that end without ends ---- */

static void a_timeout_ends_the_wait(void)
{
	put("a");
	ASK(p, "JOB.WAIT 0.01 a", WAITING_NOTHING);
	ASK_HAS(p, "HELLO 3", "proto");
	ASK(p, "JOB.WAIT 0.01 a", "_\r\n");
	waiting_await(p, 0);
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "INFO clients", "awaited_jobs:"));
}

static void unblock(const char *how)
{
	char words[64];
	long long id = strtoll(peer_ask(clients[0], "CLIENT ID") + 1, NULL, 10);

	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	snprintf(words, sizeof words, "CLIENT UNBLOCK %lld%s", id, how);
	ASK(p, words, ":1\r\n");
	ASK(p, words, ":0\r\n");
}

static void client_unblock_ends_the_wait(void)
{
	put("a");
	unblock("");
	peer_expect(clients[0], WAITING_NOTHING);
	unblock(" ERROR");
	peer_expect(clients[0], "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
	ASK(clients[0], "PING", "+PONG\r\n");
}

static void later_requests_wait(void)
{
	run("a");
	peer_send_text(clients[0], "JOB.WAIT 0 a\r\nPING\r\n");
	waiting_await(p, 1);
	waiting_expect_nothing_yet(p, clients[0]);
	ASK_HAS(p, "CLIENT LIST", "flags=b ");
	complete("a");
	peer_expect(clients[0], ENDED("a", COMPLETE, NOTHING) "+PONG\r\n");
}

static void a_transaction_does_not_wait(void)
{
	run("a");
	peer_send_text(p, "MULTI\r\nJOB.WAIT 0 a\r\nJOB.WAIT 0 a none ANY\r\nEXEC\r\n");
	peer_expect(p, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" WAITING_NOTHING
		       "*1\r\n*3\r\n$4\r\nnone\r\n$-1\r\n$-1\r\n");
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients(p));
}

static void a_pause_of_changes_does_not_hold_the_command_back(void)
{
	run("a");
	complete("a");
	put("b");
	ASK(p, "CLIENT PAUSE 100000000 WRITE", "+OK\r\n");
	ASK(p, "JOB.WAIT 0 a", ENDED("a", COMPLETE, NOTHING));
	waiting_begin(p, clients[0], "JOB.WAIT 1000 b");
	ahead_pass(&ahead, &q, 1001);
	peer_expect(clients[0], WAITING_NOTHING);
}

static void connections_that_end_leave_no_wait(void)
{
	put("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	waiting_begin(p, clients[1], "JOB.WAIT 1000 a");
	peer_close(clients[0]);
	waiting_await(p, 1);
	ASK(p, "CLIENT KILL TYPE normal SKIPME yes", ":3\r\n");
	peer_expect_end(clients[1]);
	waiting_await(p, 0);
	TEST_ASSERT_EQUAL_INT64(0, peer_ask_number(p, "INFO clients", "awaited_jobs:"));
	peer_ask(p, "CANCEL a");
}

static void stopping_ends_the_wait(void)
{
	put("a");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	kill(q.pid, SIGTERM);
	peer_expect_end(clients[0]);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

/* ---- rights ---- */

static void lost_rights_end_the_wait(void)
{
	run("a");
	ASK(p, "ACL SETUSER joe on nopass ~q ~r +@all", "+OK\r\n");
	for (int i = 0; i < 3; i++)
		ASK(clients[i], "AUTH joe x", "+OK\r\n");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	ASK(p, "ACL SETUSER joe -job.wait", "+OK\r\n");
	peer_expect(clients[0],
		    "-NOPERM this user has no permissions to run the 'job.wait' command\r\n");
	ASK(p, "ACL SETUSER joe +job.wait", "+OK\r\n");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	ASK(p, "ACL SETUSER joe resetkeys ~r", "+OK\r\n");
	peer_expect(clients[0], "-NOPERM No permissions to access a key\r\n");
	ASK(clients[1], "JOB.WAIT 0 a", "-NOPERM No permissions to access a key\r\n");
	ASK(clients[1], "JOB.RESULT a", "-NOPERM No permissions to access a key\r\n");
	ASK(p, "ACL SETUSER joe ~q", "+OK\r\n");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	ASK(p, "ACL DELUSER joe", ":1\r\n");
	peer_expect_end(clients[0]);
}

/* The job ends in a queue that the user may not read. */
static void the_end_of_a_job_out_of_reach_is_not_told(void)
{
	run("a");
	ASK(p, "ACL SETUSER joe on nopass ~q +@all", "+OK\r\n");
	ASK(clients[0], "AUTH joe x", "+OK\r\n");
	waiting_begin(p, clients[0], "JOB.WAIT 0 a");
	peer_ask(p, "COMPLETE a w q {} next secret");
	peer_ask(p, "POP secret w 1");
	peer_ask(p, "FAIL a w group secret");
	peer_expect(clients[0], ENDED("a", NOTHING, NOTHING));
}

/* ---- many ---- */

/* Raises the limit of open files. Returns how many clients a test may have. */
static int count_many(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > MANY + FEW && !qlessd_is_sanitized() ? MANY : FEW;
}

static void restart_for_many(void)
{
	peer_close_all();
	qlessd_stop(&q);
	QLESSD_START(&q, "--maxclients", "11000");
	connect_all();
}

/* Lets worker `w` have the jobs j0, j1 and so on. */
static void run_many(int count)
{
	char words[64], jid[32];

	for (int i = 0; i < count; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		put(jid);
	}
	for (int left = count; left > 0; left -= 1000) {
		snprintf(words, sizeof words, "POP q w %d", left < 1000 ? left : 1000);
		peer_ask(p, words);
	}
}

static void begin_many(struct peer **many, int count)
{
	for (int i = 0; i < count; i++) {
		char words[64];

		many[i] = peer_connect(&q);
		snprintf(words, sizeof words, "JOB.WAIT 0 j%d", i);
		peer_send_words(many[i], words);
	}
	waiting_await(p, count);
}

static void expect_complete(struct peer *client, int number)
{
	char expected[100];

	snprintf(expected, sizeof expected, "*1\r\n*3\r\n$%d\r\nj%d\r\n" COMPLETE NOTHING,
		 1 + snprintf(NULL, 0, "%d", number), number);
	peer_expect(client, expected);
}

/* Returns the processor time of the longest turn in which job `number` ends. */
static int64_t end_one(struct peer **many, int number)
{
	char jid[32];

	snprintf(jid, sizeof jid, "j%d", number);
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	complete(jid);
	expect_complete(many[number], number);
	return peer_ask_number(p, "INFO stats", "eventloop_cpu_max:");
}

static void many_clients_cost_nothing_until_their_jobs_end(void)
{
	static struct peer *many[MANY];
	int count = count_many(), ended;
	int64_t begin_ms, cpu_us = INT64_MAX;
	long switches;

	restart_for_many();
	run_many(count);
	begin_many(many, count);
	TEST_ASSERT_EQUAL_INT64(count, peer_ask_number(p, "INFO clients", "awaited_jobs:"));
	/* Nothing but the server's own work, about twice a second, wakes it. */
	switches = qlessd_proc_status(&q, "voluntary_ctxt_switches");
	begin_ms = wait_now_ms();
	WAIT_UNTIL(qlessd_proc_status(&q, "voluntary_ctxt_switches") >= switches + WAKE_UPS);
	TEST_ASSERT_GREATER_THAN_INT64(WAKE_UPS * WAKE_UP_MS, wait_now_ms() - begin_ms);
	for (ended = 0; ended < ATTEMPTS && cpu_us >= ANSWER_US; ended++)
		cpu_us = end_one(many, ended);
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN_INT64(ANSWER_US, cpu_us);
	waiting_await(p, count - ended);
}

static void the_jobs_of_one_command_are_answered_over_several_turns(void)
{
	static struct peer *many[MANY_AT_ONCE];
	char text[64];

	count_many();
	restart_for_many();
	run_many(MANY_AT_ONCE);
	begin_many(many, MANY_AT_ONCE);
	snprintf(text, sizeof text, "*%d\r\n$13\r\nMULTICOMPLETE\r\n$1\r\nw\r\n$1\r\nq\r\n",
		 3 + 2 * MANY_AT_ONCE);
	peer_send_text(p, text);
	for (int i = 0; i < MANY_AT_ONCE; i++) {
		snprintf(text, sizeof text, "$%d\r\nj%d\r\n$2\r\n{}\r\n",
			 1 + snprintf(NULL, 0, "%d", i), i);
		peer_send_text(p, text);
	}
	TEST_ASSERT_EQUAL_INT('*', peer_reply(p)[0]);
	for (int i = 0; i < MANY_AT_ONCE; i++)
		expect_complete(many[i], i);
	waiting_await(p, 0);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_job_that_has_ended_is_answered_at_once);
	RUN(each_kind_of_end_ends_the_wait);
	RUN(the_last_retry_of_a_lost_lock_ends_the_wait);
	RUN(a_step_of_a_job_does_not_end_the_wait);
	RUN(all_jobs_must_end);
	RUN(any_job_may_end);
	RUN(an_end_counts_whatever_happens_later);
	RUN(a_job_that_is_purged_at_once_counts);
	RUN(all_clients_that_wait_for_a_job_are_answered);
	RUN(flushing_ends_the_wait);
	RUN(databases_have_jobs_of_their_own);
	RUN(a_transaction_that_ends_a_job_answers);
	RUN(job_result_tells_how_a_job_ended);
	RUN(reports_survive_a_restart);
	RUN(a_timeout_ends_the_wait);
	RUN(client_unblock_ends_the_wait);
	RUN(later_requests_wait);
	RUN(a_transaction_does_not_wait);
	RUN(a_pause_of_changes_does_not_hold_the_command_back);
	RUN(connections_that_end_leave_no_wait);
	RUN(stopping_ends_the_wait);
	RUN(lost_rights_end_the_wait);
	RUN(the_end_of_a_job_out_of_reach_is_not_told);
	RUN(many_clients_cost_nothing_until_their_jobs_end);
	RUN(the_jobs_of_one_command_are_answered_over_several_turns);
	return UNIT_RESULT();
}
