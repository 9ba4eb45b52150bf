/*
 * MPOP and BPOP: pops from several queues, clients that wait for jobs, and everything that wakes
 * them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "luatext.h"

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"
#include "waiting.h"

/* Number of clients that wait at once, or fewer if the system allows fewer open files. */
#define MANY	    10000
#define FEW	    1000
#define MANY_QUEUES 100
/* Bytes that a waiting client may take for each queue that it names. */
#define PLACE_BYTES 100
#define DUE_JOBS    50
/* Number of attempts to measure something on a busy machine. */
#define ATTEMPTS 20
/* An idle server wakes less often than this. */
#define WAKE_UPS   8
#define WAKE_UP_MS 250
/* Bytes of the log, after which the disk fails. */
#define FULL_BYTES 64

/* Bytes of requests after BPOP: more than the server reads from other connections on hold. */
#define MANY_REQUEST_BYTES 1500000

static struct qlessd q;
static struct peer *p;
static struct peer *workers[4];
static struct ahead ahead;

static void connect_all(void)
{
	p = peer_connect(&q);
	for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
		workers[i] = peer_connect(&q);
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

static void ask_jobs(struct peer *worker, const char *words, const char *jids)
{
	peer_send_words(worker, words);
	waiting_expect_jobs(worker, jids);
}

/* Waits until the clock of the server has advanced. */
static void await_time(double seconds)
{
	int64_t until_us = peer_ask_number(p, "INFO server", "server_time_usec:");

	until_us += (int64_t)(seconds * 1e6);
	WAIT_UNTIL(peer_ask_number(p, "INFO server", "server_time_usec:") > until_us);
}

/* ---- MPOP ---- */

static void fill_example(void)
{
	for (int i = 0; i < 5; i++) {
		char jid[8];

		snprintf(jid, sizeof jid, "A%d", i);
		waiting_put(p, "A", jid);
		jid[0] = 'B';
		if (i < 2)
			waiting_put(p, "B", jid);
		jid[0] = 'C';
		if (i < 3)
			waiting_put(p, "C", jid);
	}
}

static void ordered_empties_the_first_queue_first(void)
{
	static const char *const jids[] = { "C0", "C1", "C2", "B0", "B1",
					    "A0", "A1", "A2", "A3", "A4" };

	fill_example();
	for (size_t i = 0; i < sizeof jids / sizeof jids[0]; i++)
		ask_jobs(p, "MPOP w 3 C B A", jids[i]);
	ASK(p, "MPOP w 3 C B A", "$2\r\n[]\r\n");
}

static void round_robin_takes_from_each_queue_in_turn(void)
{
	static const char *const jids[] = { "C0", "B0", "A0", "C1", "B1",
					    "A1", "C2", "A2", "A3", "A4" };

	fill_example();
	for (size_t i = 0; i < sizeof jids / sizeof jids[0]; i++)
		ask_jobs(p, "MPOP w 3 C B A ORDER roundrobin", jids[i]);
	ASK(p, "BPOP 0.01 w 3 C B A ORDER roundrobin", WAITING_NOTHING);
}

static void a_count_continues_in_the_next_queues(void)
{
	fill_example();
	ask_jobs(p, "MPOP w 3 C B A COUNT 4", "C0 C1 C2 B0");
	ask_jobs(p, "bpop 0 w 3 C B A count 100 order Ordered", "B1 A0 A1 A2 A3 A4");
}

static void round_robin_with_a_count_goes_on_where_it_stopped(void)
{
	fill_example();
	ask_jobs(p, "MPOP w 3 C B A COUNT 4 ORDER roundrobin", "C0 B0 A0 C1");
	/* Another worker, and another list, begin with their first queue. */
	ask_jobs(p, "MPOP other 3 C B A ORDER roundrobin", "C2");
	ask_jobs(p, "MPOP w 2 A B ORDER roundrobin", "A1");
	ask_jobs(p, "MPOP w 3 C B A COUNT 9 ORDER roundrobin", "B1 A2 A3 A4");
}

static void a_pop_without_jobs_changes_nothing(void)
{
	ASK(p, "MPOP w 2 x y", "$2\r\n[]\r\n");
	ASK(p, "BPOP 0.01 w 2 x y", WAITING_NOTHING);
	ASK(p, "WORKERS", "$2\r\n[]\r\n");
	ASK(p, "QUEUES", "$2\r\n[]\r\n");
}

static void bad_arguments_are_named(void)
{
	ASK_HAS(p, "MPOP w 0 q", "-BADARG numqueues must be a whole number above 0; found \"0\"");
	ASK_HAS(p, "MPOP w x q", "-BADARG numqueues must be a whole number above 0; found \"x\"");
	ASK_HAS(p, "MPOP w 3 q r", "-BADARG numqueues is 3, but 2 arguments follow");
	ASK_HAS(p, "MPOP w 1 q COUNT", "-BADARG Option \"COUNT\" has no value");
	ASK_HAS(p, "MPOP w 1 q COUNT 0",
		"-BADARG COUNT must be a whole number above 0; found \"0\"");
	ASK_HAS(p, "MPOP w 1 q COUNT 1 COUNT 1", "-BADARG Option \"COUNT\" is repeated");
	ASK_HAS(p, "MPOP w 1 q ORDER x",
		"-BADARG ORDER must be \"ordered\" or \"roundrobin\"; found \"x\"");
	ASK_HAS(p, "MPOP w 1 q TIMEOUT 1", "-BADARG Unknown option \"TIMEOUT\"");
	ASK_HAS(p, "BPOP 0 w 1 q COUNT 1000000000", "-LIMIT ");
	peer_send_text(p, "*4\r\n$4\r\nMPOP\r\n$0\r\n\r\n$1\r\n1\r\n$1\r\nq\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), "-BADARG worker must not be empty"));
	ASK_HAS(p, "BPOP -1 w 1 q", "-BADARG timeout must be a number of seconds from 0 to ");
	ASK_HAS(p, "BPOP x w 1 q", "-BADARG timeout must be ");
	ASK_HAS(p, "BPOP nan w 1 q", "-BADARG timeout must be ");
	ASK_HAS(p, "BPOP 1e300 w 1 q", "-BADARG timeout must be ");
	ASK_HAS(p, "BPOP 0 w 1", "-ERR wrong number of arguments");
	ASK_HAS(p, "QLESS mpop 1 w 1 q", "-ERR Unknown command mpop");
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients(p));
}

static void the_queues_are_keys(void)
{
	ASK(p, "COMMAND GETKEYS BPOP 0 w 2 a b COUNT 3", "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
	ASK(p, "COMMAND GETKEYS MPOP w 1 a", "*1\r\n$1\r\na\r\n");
	ASK_HAS(p, "COMMAND INFO BPOP", "blocking");
}

/* ---- what wakes ---- */

static void a_put_serves_the_workers_in_their_order(void)
{
	for (int i = 0; i < 3; i++)
		waiting_begin(p, workers[i], "BPOP 0 w 2 q r");
	waiting_put(p, "r", "j0");
	waiting_expect_jobs(workers[0], "j0");
	waiting_put(p, "q", "j1");
	waiting_expect_jobs(workers[1], "j1");
	/* The first worker is now the last. */
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	ASK(p, "MULTIPUT w q 0 jobs j2 klass {} j3 klass {} j4 klass {}",
	    "*3\r\n$2\r\nj2\r\n$2\r\nj3\r\n$2\r\nj4\r\n");
	waiting_expect_jobs(workers[2], "j2");
	waiting_expect_jobs(workers[0], "j3");
	ask_jobs(p, "POP q w 1", "j4");
	waiting_await(p, 0);
}

/* A pop right after the put, even in the same transmission, does not overtake those that wait. */
static void a_poll_does_not_overtake_a_waiting_worker(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_send_text(p, "PUT w q j1 klass {} 0\r\nPOP q poller 1\r\nMPOP poller 1 q\r\n");
	peer_expect(p, "$2\r\nj1\r\n$2\r\n[]\r\n$2\r\n[]\r\n");
	waiting_expect_jobs(workers[0], "j1");
}

static void a_worker_gets_jobs_of_the_queues_whose_first_it_is(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w0 1 b");
	waiting_begin(p, workers[1], "BPOP 0 w1 2 a b COUNT 5");
	peer_send_text(p, "MULTI\r\nPUT w b j1 klass {} 0\r\nPUT w b j2 klass {} 0\r\n"
			  "PUT w a j3 klass {} 0\r\nEXEC\r\n");
	peer_skip_replies(p, 5);
	waiting_expect_jobs(workers[0], "j1");
	waiting_expect_jobs(workers[1], "j3 j2");
}

static void everything_that_makes_a_job_available_serves(void)
{
	struct peer *w = workers[0];

	/* Requeue. */
	waiting_put(p, "other", "j");
	waiting_begin(p, w, "BPOP 0 w 1 q");
	peer_ask(p, "REQUEUE w q j klass {} 0");
	waiting_expect_jobs(w, "j");
	/* Retry. */
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q");
	ASK(p, "RETRY j q w", ":4\r\n");
	waiting_expect_jobs(workers[1], "j");
	/* Timeout. */
	waiting_begin(p, w, "BPOP 0 w 1 q");
	peer_ask(p, "TIMEOUT j");
	waiting_expect_jobs(w, "j");
	/* Unfail. */
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q");
	peer_ask(p, "FAIL j w group message");
	waiting_expect_nothing_yet(p, workers[1]);
	peer_ask(p, "UNFAIL q group");
	waiting_expect_jobs(workers[1], "j");
	/* The next queue. */
	waiting_begin(p, w, "BPOP 0 w 1 q2");
	peer_ask(p, "COMPLETE j w1 q {} next q2");
	waiting_expect_jobs(w, "j");
	/* The last dependency. */
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q");
	peer_ask(p, "PUT w q after klass {} 0 depends [\"j\"]");
	waiting_expect_nothing_yet(p, workers[1]);
	peer_ask(p, "COMPLETE j w q2 {}");
	waiting_expect_jobs(workers[1], "after");
	/* A dependency that is removed. */
	waiting_put(p, "other", "first");
	waiting_begin(p, w, "BPOP 0 w 1 q");
	peer_ask(p, "PUT w q second klass {} 0 depends [\"first\"]");
	waiting_expect_nothing_yet(p, w);
	peer_ask(p, "DEPENDS second off first");
	waiting_expect_jobs(w, "second");
	waiting_await(p, 0);
}

static void unpause_serves(void)
{
	ASK(p, "PAUSE q", "$-1\r\n");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_put(p, "q", "j");
	waiting_expect_nothing_yet(p, workers[0]);
	peer_ask(p, "UNPAUSE q");
	waiting_expect_jobs(workers[0], "j");
}

static void the_limit_on_running_jobs_serves(void)
{
	peer_ask(p, "CONFIG.SET q-max-concurrency 1");
	for (int i = 0; i < 3; i++)
		waiting_begin(p, workers[i], "BPOP 0 w 1 q");
	waiting_put(p, "q", "j1");
	waiting_put(p, "q", "j2");
	waiting_put(p, "q", "j3");
	waiting_expect_jobs(workers[0], "j1");
	waiting_expect_nothing_yet(p, workers[1]);
	/* A run ends. */
	peer_ask(p, "COMPLETE j1 w q {}");
	waiting_expect_jobs(workers[1], "j2");
	waiting_expect_nothing_yet(p, workers[2]);
	/* The option changes. */
	peer_ask(p, "CONFIG.SET q-max-concurrency 2");
	waiting_expect_jobs(workers[2], "j3");
}

static void due_jobs_serve(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_ask(p, "PUT w q j1 klass {} 0.02");
	waiting_expect_jobs(workers[0], "j1");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_ask(p, "RECUR q tick klass {} interval 1000 0.02");
	waiting_expect_jobs(workers[0], "tick-1");
	waiting_await(p, 0);
}

/* The pop when the lock expires warns the owner, and the pop after the grace period takes the job.
 */
static void an_expired_lock_serves_after_its_grace_period(void)
{
	peer_ask(p, "CONFIG.SET heartbeat 0.02");
	peer_ask(p, "CONFIG.SET grace-period 0.02");
	waiting_put(p, "q", "j1");
	waiting_put(p, "q", "j2");
	ask_jobs(p, "POP q lost 2", "j1 j2");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_begin(p, workers[1], "BPOP 0 w 1 q");
	waiting_expect_jobs(workers[0], "j1");
	waiting_expect_jobs(workers[1], "j2");
	ASK_HAS(p, "GET j1", "timed-out");
}

/* With many due jobs and many workers, the loop runs a few turns for each due time, not more. */
static void due_times_need_no_polling(void)
{
	char words[128];
	int64_t turns, begin_ms;

	for (int i = 0; i < DUE_JOBS; i++) {
		snprintf(words, sizeof words, "PUT w q j%d klass {} 0.%d", i, 5 + i % 3);
		peer_ask(p, words);
	}
	peer_send_words(workers[0], "BPOP 0 w 1 q COUNT 100");
	begin_ms = wait_now_ms();
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(workers[0]), "\"jid\""));
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:") - turns;
	TEST_ASSERT_LESS_THAN_INT64(10 + (wait_now_ms() - begin_ms) / WAKE_UP_MS, turns);
}

/* The second peer puts a job for the first. Epoll reports sockets in the order in which they
 * became readable. */
static bool is_readable_first(struct peer *first, struct peer *second)
{
	struct epoll_event events[2] = { { .events = EPOLLIN, .data.ptr = first },
					 { .events = EPOLLIN, .data.ptr = second } };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	bool ret;

	TEST_ASSERT_EQUAL_INT(0, epoll_ctl(fd, EPOLL_CTL_ADD, second->fd, &events[1]));
	TEST_ASSERT_EQUAL_INT(0, epoll_ctl(fd, EPOLL_CTL_ADD, first->fd, &events[0]));
	peer_send_words(second, "PUT w q j klass {} 0");
	WAIT_UNTIL(peer_has_input(first, 0) && peer_has_input(second, 0));
	TEST_ASSERT_EQUAL_INT(2, epoll_wait(fd, events, 2, 0));
	ret = events[0].data.ptr == first;
	close(fd);
	return ret;
}

static void a_worker_gets_its_job_before_the_putter_gets_its_reply(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	TEST_ASSERT_TRUE(is_readable_first(workers[0], workers[1]));
	waiting_expect_jobs(workers[0], "j");
	peer_expect(workers[1], "$1\r\nj\r\n");
}

/* A reply that waits for the next turn is in the same write as the job of that turn. */
static void a_worker_that_completes_and_waits_gets_both_replies_at_once(void)
{
	int64_t writes;

	peer_close_all();
	qlessd_stop(&q);
	QLESSD_START(&q, "--commands-per-turn", "2");
	connect_all();
	waiting_put(p, "q", "j1");
	ask_jobs(workers[0], "POP q w 1", "j1");
	writes = peer_ask_number(p, "INFO stats", "total_writes_processed:");
	qlessd_halt(&q);
	peer_send_text(workers[0], "COMPLETE j1 w q {}\r\nBPOP 0 w 1 q\r\n");
	/* The put is in a later turn than the first requests. */
	peer_send_text(workers[1], "PING\r\nPING\r\nPING\r\nPING\r\nPUT w q j2 klass {} 0\r\n");
	qlessd_go_on(&q);
	peer_expect(workers[0], "$8\r\ncomplete\r\n");
	waiting_expect_jobs(workers[0], "j2");
	peer_expect(workers[1], "+PONG\r\n+PONG\r\n+PONG\r\n+PONG\r\n$2\r\nj2\r\n");
	/* One for INFO, two for the client that put, and one for the worker. */
	TEST_ASSERT_EQUAL_INT64(writes + 4,
				peer_ask_number(p, "INFO stats", "total_writes_processed:"));
	/* Without a job, the reply arrives, too. */
	peer_send_text(workers[0], "COMPLETE j2 w q {}\r\nBPOP 0 w 1 q\r\n");
	peer_expect(workers[0], "$8\r\ncomplete\r\n");
}

/* ---- ends without a job ---- */

static void a_timeout_ends_the_wait(void)
{
	ASK(p, "BPOP 0.01 w 2 q r", WAITING_NOTHING);
	ASK(p, "BPOP 0.000001 w 1 q", WAITING_NOTHING);
	ASK_HAS(p, "HELLO 3", "proto");
	ASK(p, "BPOP 0.01 w 1 q", "_\r\n");
	waiting_await(p, 0);
	/* Nobody is left who would get the job. */
	waiting_put(p, "q", "j");
	ask_jobs(p, "POP q w 1", "j");
}

static void unblock(const char *how, struct peer *worker)
{
	char words[64];
	long long id = strtoll(peer_ask(worker, "CLIENT ID") + 1, NULL, 10);

	waiting_begin(p, worker, "BPOP 0 w 1 q");
	snprintf(words, sizeof words, "CLIENT UNBLOCK %lld%s", id, how);
	ASK(p, words, ":1\r\n");
	ASK(p, words, ":0\r\n");
}

static void client_unblock_ends_the_wait(void)
{
	unblock("", workers[0]);
	peer_expect(workers[0], WAITING_NOTHING);
	unblock(" TIMEOUT", workers[0]);
	peer_expect(workers[0], WAITING_NOTHING);
	unblock(" ERROR", workers[0]);
	peer_expect(workers[0], "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
	ASK(workers[0], "PING", "+PONG\r\n");
	waiting_put(p, "q", "j");
	ask_jobs(p, "POP q w 1", "j");
}

static void later_requests_wait(void)
{
	peer_send_text(workers[0], "BPOP 0 w 1 q\r\nPING\r\nBPOP 0 w 1 q\r\nECHO x\r\n");
	waiting_await(p, 1);
	waiting_expect_nothing_yet(p, workers[0]);
	ASK_HAS(p, "CLIENT LIST", "flags=b ");
	waiting_put(p, "q", "j1");
	waiting_expect_jobs(workers[0], "j1");
	peer_expect(workers[0], "+PONG\r\n");
	waiting_await(p, 1);
	waiting_put(p, "q", "j2");
	waiting_expect_jobs(workers[0], "j2");
	peer_expect(workers[0], "$1\r\nx\r\n");
}

static void a_transaction_does_not_wait(void)
{
	waiting_put(p, "q", "j");
	peer_send_text(
		p, "MULTI\r\nBPOP 0 w 1 none\r\nMPOP w 1 none\r\nBPOP 0 w 2 none q\r\nEXEC\r\n");
	peer_expect(p, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n" WAITING_NOTHING
		       "$2\r\n[]\r\n");
	waiting_expect_jobs(p, "j");
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients(p));
}

static void nothing_is_handed_out_during_a_pause(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_send_text(p, "PUT w q j klass {} 0.05\r\nCLIENT PAUSE 1000000 WRITE\r\n");
	peer_expect(p, "$1\r\nj\r\n+OK\r\n");
	await_time(0.1);
	waiting_expect_nothing_yet(p, workers[0]);
	ASK_HAS(p, "GET j", "\"scheduled\"");
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	waiting_expect_jobs(workers[0], "j");
}

static void a_timeout_ends_during_a_pause(void)
{
	waiting_begin(p, workers[0], "BPOP 1000 w 1 q");
	ASK(p, "CLIENT PAUSE 100000000 WRITE", "+OK\r\n");
	ahead_pass(&ahead, &q, 1001);
	peer_expect(workers[0], WAITING_NOTHING);
}

static void flushing_keeps_the_workers(void)
{
	waiting_put(p, "other", "j");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_ask(p, "PUT w q later klass {} 1000");
	ASK(p, "FLUSHALL", "+OK\r\n");
	waiting_put(p, "q", "j");
	waiting_expect_jobs(workers[0], "j");
}

static void databases_have_lines_of_their_own(void)
{
	ASK(workers[0], "SELECT 3", "+OK\r\n");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_put(p, "q", "j0");
	waiting_expect_nothing_yet(p, workers[0]);
	ASK(p, "SELECT 3", "+OK\r\n");
	waiting_put(p, "q", "j3");
	waiting_expect_jobs(workers[0], "j3");
}

/* ---- connections ---- */

static void a_dead_connection_gets_nothing(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q");
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q");
	waiting_begin(p, workers[2], "BPOP 0 w2 1 q");
	waiting_begin(p, workers[3], "BPOP 0 w3 1 q");
	/* The server learns of the ends and of the put at the same time. */
	qlessd_halt(&q);
	peer_send_words(p, "PUT w q j klass {} 0");
	peer_reset(workers[0]);
	peer_close(workers[1]);
	peer_shutdown(workers[2]);
	qlessd_go_on(&q);
	peer_expect(p, "$1\r\nj\r\n");
	waiting_expect_jobs(workers[3], "j");
	ASK_HAS(p, "GET j", "\"worker\":\"w3\"");
	peer_expect_end(workers[2]);
	waiting_await(p, 0);
}

static void a_connection_that_ends_leaves_the_line(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_begin(p, workers[1], "BPOP 0 w 1 q");
	peer_close(workers[0]);
	waiting_await(p, 1);
	peer_shutdown(workers[1]);
	peer_expect_end(workers[1]);
	waiting_await(p, 0);
	waiting_begin(p, workers[2], "BPOP 0 w 1 q");
	ASK(p, "CLIENT KILL TYPE normal SKIPME yes", ":2\r\n");
	peer_expect_end(workers[2]);
	waiting_put(p, "q", "j");
	ask_jobs(p, "POP q w 1", "j");
}

/* Its input ends while BPOP is on hold. */
static void a_dead_connection_does_not_begin_to_wait(void)
{
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	peer_send_words(workers[0], "BPOP 0 w 1 q");
	peer_close(workers[0]);
	WAIT_UNTIL(strstr(peer_ask(p, "CLIENT LIST"), " events= ") != NULL);
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 4);
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients(p));
}

/* The server stops reading from other connections on hold before that. */
static void a_connection_that_ends_after_many_requests_leaves_the_line(void)
{
	char *requests = malloc(MANY_REQUEST_BYTES);

	memset(requests, '\n', MANY_REQUEST_BYTES);
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_send_blindly(workers[0], requests, MANY_REQUEST_BYTES);
	peer_close(workers[0]);
	waiting_await(p, 0);
	free(requests);
}

static void a_waiting_connection_has_the_limit_on_input(void)
{
	char *requests = malloc(MANY_REQUEST_BYTES);

	memset(requests, '\n', MANY_REQUEST_BYTES);
	ASK(p, "CONFIG SET client-query-buffer-limit 1048576", "+OK\r\n");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	peer_send_blindly(workers[0], requests, MANY_REQUEST_BYTES);
	waiting_await(p, 0);
	peer_expect_end(workers[0]);
	free(requests);
}

static void stopping_ends_the_wait(void)
{
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_put(p, "other", "j");
	kill(q.pid, SIGTERM);
	peer_expect_end(workers[0]);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

static void lost_rights_end_the_wait(void)
{
	ASK(p, "ACL SETUSER joe on nopass ~a ~b +@all", "+OK\r\n");
	for (int i = 0; i < 3; i++)
		ASK(workers[i], "AUTH joe x", "+OK\r\n");
	ASK(workers[0], "BPOP 0 w 2 a c", "-NOPERM No permissions to access a key\r\n");
	waiting_begin(p, workers[0], "BPOP 0 w 1 a");
	waiting_begin(p, workers[1], "BPOP 0 w 2 a b");
	ASK(p, "ACL SETUSER joe resetkeys ~a", "+OK\r\n");
	peer_expect(workers[1], "-NOPERM No permissions to access a key\r\n");
	waiting_expect_nothing_yet(p, workers[0]);
	ASK(p, "ACL SETUSER joe -bpop", "+OK\r\n");
	peer_expect(workers[0],
		    "-NOPERM this user has no permissions to run the 'bpop' command\r\n");
	ASK(p, "ACL SETUSER joe +bpop", "+OK\r\n");
	waiting_begin(p, workers[0], "BPOP 0 w 1 a");
	ASK(p, "ACL DELUSER joe", ":1\r\n");
	peer_expect_end(workers[0]);
	waiting_put(p, "a", "j");
	ask_jobs(p, "POP a w 1", "j");
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_FSIZE, &limit, NULL));
}

static void nothing_is_handed_out_while_the_log_cannot_be_written(void)
{
	peer_close_all();
	qlessd_stop(&q);
	AHEAD_START(&q, "--appendfsync", "always", "--log-segment-size", "64kb");
	connect_all();
	waiting_begin(p, workers[0], "BPOP 0 w 1 later");
	ASK(p, "PAUSE later", "$-1\r\n");
	peer_ask(p, "PUT w later due klass {} 0.01");
	waiting_begin(p, workers[1], "BPOP 0 w 1 other");
	peer_ask(p, "PUT w other soon klass {} 1000");
	set_file_limit(FULL_BYTES);
	peer_send_words(workers[2], "PUT w q j klass {} 0");
	peer_expect_end(workers[2]);
	ASK_HAS(workers[3], "BPOP 0 w 1 q", "-MISCONF ");
	ahead_pass(&ahead, &q, 1001);
	ASK_HAS(p, "INFO persistence", "log_state:failed");
	waiting_expect_nothing_yet(p, workers[1]);
	ASK_HAS(p, "GET soon", "\"scheduled\"");
	set_file_limit(RLIM_INFINITY);
	waiting_expect_jobs(workers[1], "soon");
	peer_ask(p, "UNPAUSE later");
	waiting_expect_jobs(workers[0], "due");
}

/* ---- figures ---- */

/* Waits for a tenth of a second. Returns whether the server counts less than 90 ms of it. */
static bool waits_without_counting(void)
{
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	ASK(p, "SLOWLOG RESET", "+OK\r\n");
	peer_ask(p, "LATENCY RESET");
	ASK(workers[0], "BPOP 0.1 w 1 q", WAITING_NOTHING);
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO commandstats", "cmdstat_bpop:calls="));
	return peer_ask_number(p, "SLOWLOG LEN", ":") == 0 &&
	       peer_ask_number(p, "LATENCY LATEST", "*") == 0 &&
	       peer_ask_number(p, "INFO commandstats", "cmdstat_bpop:calls=1,usec=") < 90000;
}

/* A busy machine may delay a turn for as long. */
static void the_time_of_waiting_is_not_counted(void)
{
	bool is_counted = true;

	ASK(p, "CONFIG SET slowlog-log-slower-than 90000", "+OK\r\n");
	ASK(p, "CONFIG SET latency-monitor-threshold 90", "+OK\r\n");
	for (int i = 0; i < ATTEMPTS && is_counted; i++)
		is_counted = !waits_without_counting();
	TEST_ASSERT_FALSE(is_counted);
}

/* ---- sharing queues ---- */

static void load_script(char sha[41])
{
	char request[4096];

	snprintf(request, sizeof request, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
		 strlen(LUATEXT_CLASSIC), LUATEXT_CLASSIC);
	peer_send_text(p, request);
	snprintf(sha, 41, "%.40s", strchr(peer_reply(p), '\n') + 1);
}

/* One client polls with a script, and one waits. The poller gets what nobody waits for. */
static void clients_that_poll_and_clients_that_wait_share_a_queue(void)
{
	char jid[16], sha[41], poll[128];
	int polled = 0, waited = 0;

	load_script(sha);
	snprintf(poll, sizeof poll, "EVALSHA %s 0 pop 1 q poller 1", sha);

	peer_send_words(workers[0], "BPOP 0 waiter 1 q");
	waiting_await(p, 1);
	for (int i = 0; i < 20; i++) {
		snprintf(jid, sizeof jid, "a%d", i);
		waiting_put(p, "q", jid);
		snprintf(jid, sizeof jid, "b%d", i);
		waiting_put(p, "q", jid);
		polled += strstr(peer_ask(workers[1], poll), "\"jid\"") != NULL;
		waited += strstr(peer_reply(workers[0]), "\"jid\"") != NULL;
		peer_send_words(workers[0], "BPOP 0 waiter 1 q");
		waiting_await(p, 1);
	}
	TEST_ASSERT_EQUAL_INT(20, polled);
	TEST_ASSERT_EQUAL_INT(20, waited);
}

/* ---- the log ---- */

static char *copy_reply(const char *words)
{
	return strdup(peer_ask(p, words));
}

static void a_hand_over_is_in_the_log(void)
{
	static const char *const views[] = { "GET j1",
					     "GET j2",
					     "GET j3",
					     "QUEUES",
					     "WORKERS",
					     "STATS q 0",
					     "ZRANGE ql:q:q-locks 0 -1 WITHSCORES" };
	char *before[sizeof views / sizeof views[0]];

	peer_ask(p, "CONFIG.SET heartbeat 1000");
	waiting_begin(p, workers[0], "BPOP 0 w0 2 r q");
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q COUNT 3");
	peer_ask(p, "PUT w q j1 klass {} 0.01");
	waiting_expect_jobs(workers[0], "j1");
	waiting_put(p, "q", "j2");
	waiting_expect_jobs(workers[1], "j2");
	waiting_put(p, "r", "j3");
	ask_jobs(p, "MPOP w2 2 q r COUNT 2 ORDER roundrobin", "j3");
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
		before[i] = copy_reply(views[i]);
	peer_close_all();
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ NULL });
	p = peer_connect(&q);
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
		TEST_ASSERT_EQUAL_STRING(before[i], peer_ask(p, views[i]));
		free(before[i]);
	}
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

/* More pops than the records of a turn hold, unless they are a group. */
static void the_jobs_of_one_command_are_one_record(void)
{
	int64_t last;

	for (int i = 0; i < 500; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "j%d", i);
		waiting_put(p, i % 2 == 0 ? "q" : "r", jid);
	}
	last = peer_ask_number(p, "INFO persistence", "log_last_sequence:");
	TEST_ASSERT_NOT_NULL(
		strstr(peer_ask(p, "MPOP w 2 q r COUNT 500 ORDER roundrobin"), "\"j499\""));
	TEST_ASSERT_EQUAL_INT64(last + 1,
				peer_ask_number(p, "INFO persistence", "log_last_sequence:"));
}

/* ---- many ---- */

static void send_wait(struct peer *worker, int queues)
{
	char text[64];

	snprintf(text, sizeof text, "*%d\r\n$4\r\nBPOP\r\n$1\r\n0\r\n$1\r\nw\r\n$%d\r\n%d\r\n",
		 4 + queues, snprintf(NULL, 0, "%d", queues), queues);
	peer_send_text(worker, text);
	for (int i = 0; i < queues; i++) {
		snprintf(text, sizeof text, "$8\r\nq%07d\r\n", i);
		peer_send_text(worker, text);
	}
}

static void a_place_in_a_line_takes_little_memory(void)
{
	static struct peer *many[200];
	int64_t before, after;

	for (int i = 0; i < 200; i++) {
		many[i] = peer_connect(&q);
		send_wait(many[i], 1);
	}
	waiting_await(p, 200);
	before = peer_ask_number(p, "INFO memory", "used_memory:");
	for (int i = 0; i < 200; i++)
		peer_close(many[i]);
	waiting_await(p, 0);
	for (int i = 0; i < 200; i++) {
		many[i] = peer_connect(&q);
		send_wait(many[i], 501);
		/* It is the first in all lines. */
		if (i == 0)
			waiting_await(p, 1);
	}
	waiting_await(p, 200);
	after = peer_ask_number(p, "INFO memory", "used_memory:");
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN_INT64(INT64_C(200) * 500 * PLACE_BYTES, after - before);
	waiting_put(p, "q0000400", "j");
	waiting_expect_jobs(many[0], "j");
}

/* Raises the limit of open files. Returns how many clients a test may have. With poll(), each turn
 * looks at all descriptors, so that many clients take long to connect. */
static int count_many(void)
{
	struct rlimit limit;

	if (getenv("EVENT_NOEPOLL") != NULL)
		return FEW;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > MANY + FEW && !qlessd_is_sanitized() ? MANY : FEW;
}

static void many_waiting_clients_cost_no_wake_ups(void)
{
	static struct peer *many[MANY];
	int count = count_many();
	int64_t begin_ms;
	long switches;
	char queue[32];

	peer_close_all();
	qlessd_stop(&q);
	QLESSD_START(&q, "--maxclients", "11000");
	connect_all();
	for (int i = 0; i < count; i++) {
		char words[64];

		many[i] = peer_connect(&q);
		snprintf(words, sizeof words, "BPOP 0 w 1 q%d", i % MANY_QUEUES);
		peer_send_words(many[i], words);
		/* These are the first in their lines. */
		if (i == MANY_QUEUES - 1)
			waiting_await(p, MANY_QUEUES);
	}
	waiting_await(p, count);
	/* Nothing but the server's own work, about twice a second, wakes it. */
	switches = qlessd_proc_status(&q, "voluntary_ctxt_switches");
	begin_ms = wait_now_ms();
	WAIT_UNTIL(qlessd_proc_status(&q, "voluntary_ctxt_switches") >= switches + WAKE_UPS);
	TEST_ASSERT_GREATER_THAN_INT64(WAKE_UPS * WAKE_UP_MS, wait_now_ms() - begin_ms);
	for (int i = 0; i < MANY_QUEUES; i++) {
		char jid[32];

		snprintf(queue, sizeof queue, "q%d", i);
		snprintf(jid, sizeof jid, "j%d", i);
		waiting_put(p, queue, jid);
		waiting_expect_jobs(many[i], jid);
	}
	waiting_await(p, count - MANY_QUEUES);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(ordered_empties_the_first_queue_first);
	RUN(round_robin_takes_from_each_queue_in_turn);
	RUN(a_count_continues_in_the_next_queues);
	RUN(round_robin_with_a_count_goes_on_where_it_stopped);
	RUN(a_pop_without_jobs_changes_nothing);
	RUN(bad_arguments_are_named);
	RUN(the_queues_are_keys);
	RUN(a_put_serves_the_workers_in_their_order);
	RUN(a_poll_does_not_overtake_a_waiting_worker);
	RUN(a_worker_gets_jobs_of_the_queues_whose_first_it_is);
	RUN(everything_that_makes_a_job_available_serves);
	RUN(unpause_serves);
	RUN(the_limit_on_running_jobs_serves);
	RUN(due_jobs_serve);
	RUN(an_expired_lock_serves_after_its_grace_period);
	RUN(due_times_need_no_polling);
	RUN(a_worker_gets_its_job_before_the_putter_gets_its_reply);
	RUN(a_worker_that_completes_and_waits_gets_both_replies_at_once);
	RUN(a_timeout_ends_the_wait);
	RUN(client_unblock_ends_the_wait);
	RUN(later_requests_wait);
	RUN(a_transaction_does_not_wait);
	RUN(nothing_is_handed_out_during_a_pause);
	RUN(a_timeout_ends_during_a_pause);
	RUN(flushing_keeps_the_workers);
	RUN(databases_have_lines_of_their_own);
	RUN(a_dead_connection_gets_nothing);
	RUN(a_connection_that_ends_leaves_the_line);
	RUN(a_dead_connection_does_not_begin_to_wait);
	RUN(a_connection_that_ends_after_many_requests_leaves_the_line);
	RUN(a_waiting_connection_has_the_limit_on_input);
	RUN(stopping_ends_the_wait);
	RUN(lost_rights_end_the_wait);
	RUN(nothing_is_handed_out_while_the_log_cannot_be_written);
	RUN(the_time_of_waiting_is_not_counted);
	RUN(clients_that_poll_and_clients_that_wait_share_a_queue);
	RUN(a_hand_over_is_in_the_log);
	RUN(the_jobs_of_one_command_are_one_record);
	RUN(a_place_in_a_line_takes_little_memory);
	RUN(many_waiting_clients_cost_no_wake_ups);
	return UNIT_RESULT();
}
