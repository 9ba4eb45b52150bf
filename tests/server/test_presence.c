/*
 * Attached workers: the server renews their locks, and releases their jobs when their connections
 * end. The clock of the server is set ahead where a test lets time pass.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "luatext.h"

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"

#define REPLY_BYTES 4096
#define NO_JOBS	    "$2\r\n[]\r\n"
#define NOTHING	    "*-1\r\n"
/* Number of attached workers that wait for nothing, or fewer if the system allows fewer open files.
 */
#define MANY 10000
#define FEW  1000
/* An idle server wakes less often than this. */
#define WAKE_UPS   8
#define WAKE_UP_MS 250
/* Seconds of the grace period that is measured, and what may come on top of it. */
#define GRACE_S	 0.2
#define MARGIN_S 0.1
#define ATTEMPTS 10
/* Number of workers that wait, and of queues that each of them names. */
#define NAMERS	     100
#define NAMED_QUEUES 501
/* Bytes that an attached worker that waits may take for each queue that it names, with its request.
 */
#define NAME_COST 100
/* Bytes of the log, after which the disk fails. */
#define FULL_BYTES 64

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

static void start(bool again, const char *const *args)
{
	ahead_begin_start();
	if (again)
		qlessd_start_again(&q, args);
	else
		qlessd_start_with(&q, args);
	ahead_end_start();
	connect_all();
}

static void restart(const char *const *args)
{
	peer_close_all();
	qlessd_stop(&q);
	start(false, args);
}

void setUp(void)
{
	ahead_init(&ahead);
	start(false, (const char *const[]){ NULL });
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

static void pass(double seconds)
{
	ahead_pass(&ahead, &q, seconds);
}

static double server_time(void)
{
	return (double)peer_ask_number(p, "INFO server", "server_time_usec:") / 1e6;
}

static int64_t waiting_clients(void)
{
	return peer_ask_number(p, "INFO clients", "blocked_clients:");
}

static int64_t clients(void)
{
	return peer_ask_number(p, "INFO clients", "connected_clients:");
}

/* Lets a worker wait. */
static void begin(struct peer *worker, const char *words)
{
	int64_t before = waiting_clients();

	peer_send_words(worker, words);
	WAIT_UNTIL(waiting_clients() == before + 1);
}

static void put(const char *queue, const char *jid)
{
	char words[256];

	snprintf(words, sizeof words, "PUT client %s %s klass {} 0", queue, jid);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, words)[0]);
}

static void put_many(const char *queue, int count)
{
	for (int i = 0; i < count; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "j%05d", i);
		put(queue, jid);
	}
}

/* Expects a reply with exactly these jobs, whose jids are separated by blanks. */
static const char *expect_jobs(struct peer *worker, const char *jids)
{
	const char *reply = peer_reply(worker), *at = reply;
	char list[REPLY_BYTES] = "";
	size_t len = 0;

	while ((at = strstr(at, "{\"jid\":\"")) != NULL) {
		at += strlen("{\"jid\":\"");
		len += (size_t)snprintf(list + len, sizeof list - len, "%s%.*s",
					len != 0 ? " " : "", (int)strcspn(at, "\""), at);
		TEST_ASSERT_LESS_THAN_size_t(sizeof list, len);
	}
	TEST_ASSERT_EQUAL_STRING_MESSAGE(jids, list, reply);
	return reply;
}

static void ask_jobs(struct peer *worker, const char *words, const char *jids)
{
	peer_send_words(worker, words);
	expect_jobs(worker, jids);
}

static void attach(struct peer *worker, const char *words)
{
	ASK(worker, words, "+OK\r\n");
}

static double number_after(const char *text, const char *field)
{
	const char *at = strstr(text, field);

	TEST_ASSERT_NOT_NULL_MESSAGE(at, text);
	return atof(at + strlen(field));
}

/* Seconds that are left of the lock on a job. */
static double lock_left(const char *jid)
{
	double now = server_time();
	char words[64];

	snprintf(words, sizeof words, "GET %s", jid);
	return number_after(peer_ask(p, words), "\"expires\":") - now;
}

static bool has_state(const char *jid, const char *state)
{
	char words[64], text[64];

	snprintf(words, sizeof words, "GET %s", jid);
	snprintf(text, sizeof text, "\"state\":\"%s\"", state);
	return strstr(peer_ask(p, words), text) != NULL;
}

/* ---- renewals ---- */

static void the_locks_of_an_attached_worker_do_not_expire(void)
{
	attach(workers[0], "WORKER.ATTACH w");
	put("q", "j1");
	put("q", "j2");
	ask_jobs(workers[0], "POP q w 1", "j1");
	for (int i = 0; i < 4; i++) {
		pass(31);
		WAIT_UNTIL(lock_left("j1") > 50);
	}
	/* A job that comes later, by a connection that the worker is not attached to. */
	ask_jobs(workers[1], "POP q w 1", "j2");
	pass(31);
	WAIT_UNTIL(lock_left("j1") > 50 && lock_left("j2") > 50);
	ASK(workers[2], "POP q v 5", NO_JOBS);
}

static void locks_are_renewed_without_a_log(void)
{
	restart((const char *const[]){ "--appendonly", "no", NULL });
	attach(workers[0], "WORKER.ATTACH w");
	put("q", "j1");
	ask_jobs(workers[0], "POP q w 1", "j1");
	for (int i = 0; i < 3; i++) {
		pass(31);
		WAIT_UNTIL(lock_left("j1") > 50);
	}
}

static void each_queue_has_its_own_lease(void)
{
	peer_ask(p, "CONFIG.SET short-heartbeat 10");
	attach(workers[0], "WORKER.ATTACH w");
	put("long", "l");
	put("short", "s");
	ask_jobs(workers[0], "POP long w 1", "l");
	ask_jobs(workers[0], "POP short w 1", "s");
	for (int i = 0; i < 8; i++) {
		pass(6);
		WAIT_UNTIL(lock_left("s") > 8);
		TEST_ASSERT_TRUE(lock_left("l") > 10);
	}
	TEST_ASSERT_TRUE(has_state("l", "running") && has_state("s", "running"));
}

/* A renewal is one record for many jobs. */
static void renewals_are_few_records(void)
{
	int64_t before;

	put_many("q", 60);
	attach(workers[0], "WORKER.ATTACH w");
	TEST_ASSERT_EQUAL_INT('$', peer_ask(workers[0], "POP q w 60")[0]);
	before = peer_ask_number(p, "INFO persistence", "log_last_sequence:");
	pass(31);
	WAIT_UNTIL(lock_left("j00000") > 50);
	TEST_ASSERT_TRUE(lock_left("j00059") > 50);
	TEST_ASSERT_EQUAL_INT64(before + 1,
				peer_ask_number(p, "INFO persistence", "log_last_sequence:"));
}

/* The first request that the server reads after it stood still is the pop of another worker. */
static void locks_survive_a_server_that_stood_still(void)
{
	peer_ask(p, "CONFIG.SET grace-period 0");
	attach(workers[0], "WORKER.ATTACH w");
	put("q", "j1");
	ask_jobs(workers[0], "POP q w 1", "j1");
	begin(workers[1], "BPOP 0 other 1 q");
	for (int i = 0; i < 3; i++) {
		qlessd_halt(&q);
		peer_send_text(workers[2], "POP q thief 1\r\n");
		WAIT_UNTIL(peer_is_delivered(workers[2]));
		ahead.us[0] += 100000000;
		ahead.us[1] += 100000000;
		qlessd_go_on(&q);
		peer_expect(workers[2], NO_JOBS);
	}
	/* Renewals wait for the end of a pause, as the pop does. */
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	peer_send_text(workers[2], "POP q thief 1\r\n");
	WAIT_UNTIL(waiting_clients() == 2);
	pass(100);
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	peer_expect(workers[2], NO_JOBS);
	TEST_ASSERT_FALSE(peer_has_input(workers[1], 0));
	ASK(workers[0], "COMPLETE j1 w q {}", "$8\r\ncomplete\r\n");
}

static void what_an_earlier_process_lost_stays_lost(void)
{
	put("q", "j1");
	ask_jobs(p, "POP q w 1", "j1");
	pass(61);
	attach(workers[0], "WORKER.ATTACH w");
	put("q", "j2");
	ask_jobs(workers[0], "POP other w 1", "");
	pass(10);
	ASK(p, "WORKER.HEARTBEAT w", ":0\r\n");
	TEST_ASSERT_TRUE(lock_left("j1") < 0);
}

static void heartbeat_renews_all_valid_locks(void)
{
	put("q", "j1");
	put("q", "j2");
	ask_jobs(p, "POP q w 2", "j1 j2");
	pass(50);
	ASK(p, "WORKER.HEARTBEAT w", ":2\r\n");
	TEST_ASSERT_TRUE(lock_left("j1") > 50 && lock_left("j2") > 50);
	ASK(p, "WORKER.HEARTBEAT nobody", ":0\r\n");
	pass(70);
	ASK(p, "WORKER.HEARTBEAT w", ":0\r\n");
	TEST_ASSERT_TRUE(lock_left("j1") < 0);
}

static void heartbeat_renews_more_locks_than_one_turn_does(void)
{
	put_many("q", 1000);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, "POP q w 1000")[0]);
	pass(50);
	ASK(p, "WORKER.HEARTBEAT w", ":1000\r\n");
	TEST_ASSERT_TRUE(lock_left("j00000") > 50 && lock_left("j00999") > 50);
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

/* ---- releases ---- */

static void release_returns_all_jobs(void)
{
	put("q", "j1");
	put("p", "j2");
	peer_ask(p, "POP q w 1");
	peer_ask(p, "POP p w 1");
	begin(workers[0], "BPOP 0 v 2 q p COUNT 2");
	ASK(p, "WORKER.RELEASE w", ":2\r\n");
	TEST_ASSERT_NOT_NULL(strstr(expect_jobs(workers[0], "j1 j2"), "\"what\":\"released\""));
	TEST_ASSERT_NOT_NULL(strstr(peer_ask(p, "GET j1"), "\"remaining\":5"));
	ASK_HAS(p, "HEARTBEAT j1 w LOCK 1", "-NOTOWNER ");
	ASK_HAS(p, "HEARTBEAT j1 w", "-NOTOWNER ");
	ASK(p, "WORKER.RELEASE w", ":0\r\n");
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

static void release_can_count_a_retry(void)
{
	peer_ask(p, "PUT client q j klass {} 0 retries 1");
	peer_ask(p, "POP q w 1");
	ASK(p, "WORKER.RELEASE w RETRY", ":1\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_ask(p, "GET j"), "\"remaining\":0"));
	peer_ask(p, "POP q w 1");
	ASK(p, "WORKER.RELEASE w retry", ":1\r\n");
	TEST_ASSERT_TRUE(has_state("j", "failed"));
	ASK_HAS(p, "FAILED", "\"failed-retries-q\":1");
}

static void release_returns_more_jobs_than_one_turn_does(void)
{
	put_many("q", 1000);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, "POP q w 1000")[0]);
	/* The worker waits, and gets jobs again: the release ends all the same. */
	begin(workers[0], "BPOP 0 w 1 q COUNT 10");
	ASK(p, "WORKER.RELEASE w", ":1000\r\n");
	TEST_ASSERT_EQUAL_INT('$', peer_reply(workers[0])[0]);
	ASK(p, "WORKER.RELEASE w", ":10\r\n");
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

/* ---- connections that end ---- */

static void close_it(struct peer *worker)
{
	peer_close(worker);
}

static void reset_it(struct peer *worker)
{
	peer_reset(worker);
}

static void kill_it(struct peer *worker)
{
	char words[64];

	snprintf(words, sizeof words, "CLIENT KILL ID %lld",
		 (long long)atoll(peer_ask(worker, "CLIENT ID") + 1));
	ASK(p, words, ":1\r\n");
}

static void quit(struct peer *worker)
{
	ASK(worker, "QUIT", "+OK\r\n");
}

static void reset_by_command(struct peer *worker)
{
	ASK(worker, "RESET", "+RESET\r\n");
}

/* It waits for jobs when it ends. */
static void close_while_it_waits(struct peer *worker)
{
	begin(worker, "BPOP 0 w 1 other");
	peer_close(worker);
}

static void every_end_of_a_connection_releases_the_jobs(void)
{
	static void (*const ends[])(struct peer *) = { close_it,	 reset_it,
						       kill_it,		 quit,
						       reset_by_command, close_while_it_waits };

	put("q", "j");
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		struct peer *worker = peer_connect(&q);

		attach(worker, "WORKER.ATTACH w GRACE 0.01");
		ask_jobs(worker, "POP q w 1", "j");
		begin(workers[0], "BPOP 0 v 1 q");
		ends[i](worker);
		expect_jobs(workers[0], "j");
		ASK(p, "WORKER.RELEASE v", ":1\r\n");
	}
}

static void a_grace_period_of_0_releases_at_once(void)
{
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	begin(workers[1], "BPOP 0 v 1 q");
	peer_close(workers[0]);
	expect_jobs(workers[1], "j");
}

/* Returns how many seconds after the end of its connection the job of a worker is handed out. */
static double measure_release(void)
{
	struct peer *worker = peer_connect(&q);
	double closed, popped;
	char words[64];

	snprintf(words, sizeof words, "WORKER.ATTACH w GRACE %g", GRACE_S);
	attach(worker, words);
	ask_jobs(worker, "POP q w 1", "j");
	begin(workers[0], "BPOP 0 v 1 q");
	closed = server_time();
	peer_close(worker);
	popped = number_after(expect_jobs(workers[0], "j"), "\"expires\":") - 60;
	ASK(p, "WORKER.RELEASE v", ":1\r\n");
	return popped - closed;
}

/* The machine may be busy, so the best of some attempts counts. */
static void the_jobs_are_handed_out_right_after_the_grace_period(void)
{
	double best = INFINITY;

	put("q", "j");
	for (int i = 0; i < ATTEMPTS && best > GRACE_S + MARGIN_S; i++) {
		double seconds = measure_release();

		TEST_ASSERT_TRUE(seconds >= GRACE_S);
		best = fmin(best, seconds);
	}
	TEST_ASSERT_TRUE(best <= GRACE_S + MARGIN_S);
}

static void many_jobs_are_released(void)
{
	put_many("q", 1000);
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	TEST_ASSERT_EQUAL_INT('$', peer_ask(workers[0], "POP q w 1000")[0]);
	peer_close(workers[0]);
	WAIT_UNTIL(strstr(peer_ask(p, "QUEUES q"), "\"waiting\":1000") != NULL);
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
}

static void a_worker_that_attaches_again_keeps_its_jobs(void)
{
	int64_t before = clients();

	attach(workers[0], "WORKER.ATTACH w GRACE 30");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	peer_close(workers[0]);
	WAIT_UNTIL(clients() == before - 1);
	pass(20);
	attach(workers[1], "WORKER.ATTACH w GRACE 30");
	pass(20);
	/* The cron of the server has run since. */
	WAIT_UNTIL(lock_left("j") > 50);
	TEST_ASSERT_TRUE(has_state("j", "running"));
	peer_close(workers[1]);
	WAIT_UNTIL(clients() == before - 2);
	pass(31);
	WAIT_UNTIL(has_state("j", "waiting"));
}

static void locks_are_renewed_until_the_grace_period_ends(void)
{
	int64_t before = clients();

	peer_ask(p, "CONFIG.SET heartbeat 10");
	attach(workers[0], "WORKER.ATTACH w GRACE 1000");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	peer_close(workers[0]);
	WAIT_UNTIL(clients() == before - 1);
	for (int i = 0; i < 5; i++) {
		pass(6);
		WAIT_UNTIL(lock_left("j") > 8);
	}
}

static void a_worker_belongs_to_the_connection_that_attached_it_last(void)
{
	int64_t before = clients();

	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	attach(workers[1], "WORKER.ATTACH w GRACE 0");
	ASK(workers[0], "WORKER.DETACH w", ":0\r\n");
	peer_close(workers[0]);
	WAIT_UNTIL(clients() == before - 1);
	TEST_ASSERT_TRUE(has_state("j", "running"));
	peer_close(workers[1]);
	WAIT_UNTIL(has_state("j", "waiting"));
}

static void a_detached_worker_keeps_its_jobs_until_the_locks_expire(void)
{
	int64_t before = clients();

	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	ASK(workers[0], "WORKER.DETACH w", ":1\r\n");
	ASK(workers[0], "WORKER.DETACH w", ":0\r\n");
	peer_close(workers[0]);
	WAIT_UNTIL(clients() == before - 1);
	TEST_ASSERT_TRUE(has_state("j", "running"));
	pass(61);
	/* The warning, and after the grace period of the queues the job. */
	ASK(p, "POP q v 1", NO_JOBS);
	pass(11);
	ask_jobs(p, "POP q v 1", "j");
}

static void a_connection_may_attach_several_workers(void)
{
	attach(workers[0], "WORKER.ATTACH a GRACE 0");
	attach(workers[0], "WORKER.ATTACH b GRACE 0");
	put("q", "j1");
	put("q", "j2");
	ask_jobs(workers[0], "POP q a 1", "j1");
	ask_jobs(workers[0], "POP q b 1", "j2");
	begin(workers[1], "BPOP 0 v 1 q");
	peer_close(workers[0]);
	expect_jobs(workers[1], "j1");
	ask_jobs(p, "BPOP 0 v 1 q", "j2");
}

static void a_connection_has_a_limit_of_workers(void)
{
	peer_ask(p, "CONFIG SET max-workers-per-connection 2");
	attach(workers[0], "WORKER.ATTACH a");
	attach(workers[0], "WORKER.ATTACH b");
	ASK_HAS(workers[0], "WORKER.ATTACH c",
		"-LIMIT More workers are attached to one connection than "
		"max-workers-per-connection (2)");
	attach(workers[0], "WORKER.ATTACH b GRACE 1");
	ASK(workers[0], "WORKER.DETACH a", ":1\r\n");
	attach(workers[0], "WORKER.ATTACH c");
	attach(workers[1], "WORKER.ATTACH d");
}

static void databases_have_workers_of_their_own(void)
{
	int64_t before = clients();

	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(p, "POP q w 1", "j");
	ASK(workers[1], "SELECT 1", "+OK\r\n");
	attach(workers[1], "WORKER.ATTACH w GRACE 0");
	peer_close(workers[1]);
	WAIT_UNTIL(clients() == before - 1);
	TEST_ASSERT_TRUE(has_state("j", "running"));
	ASK(workers[0], "SELECT 1", "+OK\r\n");
	peer_close(workers[0]);
	WAIT_UNTIL(has_state("j", "waiting"));
}

static void flushing_keeps_workers_attached(void)
{
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	ASK(p, "FLUSHALL", "+OK\r\n");
	pass(40);
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	pass(31);
	WAIT_UNTIL(lock_left("j") > 50);
	begin(workers[1], "BPOP 0 v 1 q");
	peer_close(workers[0]);
	expect_jobs(workers[1], "j");
}

/* ---- when nothing may change ---- */

static void nothing_is_released_during_a_pause(void)
{
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	peer_ask(p, "CLIENT PAUSE 100000000 WRITE");
	peer_close(workers[0]);
	pass(40);
	for (int i = 0; i < 10; i++)
		TEST_ASSERT_TRUE(has_state("j", "running"));
	peer_ask(p, "CLIENT UNPAUSE");
	WAIT_UNTIL(has_state("j", "waiting"));
}

/* A worker cannot attach while all commands are paused. */
static void a_grace_period_that_ends_during_a_pause_begins_again(void)
{
	int64_t before = clients(), turns;

	attach(workers[0], "WORKER.ATTACH w GRACE 30");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	peer_ask(p, "CLIENT PAUSE 100000000 ALL");
	peer_close(workers[0]);
	WAIT_UNTIL(clients() == before - 1);
	pass(31);
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:");
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "eventloop_cycles:") > turns + 2);
	peer_ask(p, "CLIENT UNPAUSE");
	WAIT_UNTIL(lock_left("j") > 50);
	TEST_ASSERT_TRUE(has_state("j", "running"));
	attach(workers[1], "WORKER.ATTACH w GRACE 30");
	pass(31);
	WAIT_UNTIL(lock_left("j") > 50);
	peer_close(workers[1]);
	WAIT_UNTIL(clients() == before - 2);
	pass(31);
	WAIT_UNTIL(has_state("j", "waiting"));
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_FSIZE, &limit, NULL));
}

static void nothing_is_released_while_the_log_cannot_be_written(void)
{
	int64_t before;

	restart((const char *const[]){ "--appendfsync", "always", "--log-segment-size", "64kb",
				       NULL });
	before = clients();
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	set_file_limit(FULL_BYTES);
	peer_send_words(workers[2], "PUT client other x klass {} 0");
	peer_expect_end(workers[2]);
	ASK_HAS(p, "WORKER.RELEASE w", "-MISCONF ");
	ASK_HAS(p, "WORKER.HEARTBEAT w", "-MISCONF ");
	peer_close(workers[0]);
	WAIT_UNTIL(clients() == before - 2);
	/* Attaching is possible all the same. */
	attach(workers[1], "WORKER.ATTACH v");
	ASK_HAS(p, "INFO persistence", "log_state:failed");
	TEST_ASSERT_TRUE(has_state("j", "running"));
	set_file_limit(RLIM_INFINITY);
	WAIT_UNTIL(has_state("j", "waiting"));
}

/* ---- EXCLUSIVE ---- */

static void exclusive_refuses_a_second_worker_on_the_same_node(void)
{
	int64_t before = clients();

	attach(workers[0], "WORKER.ATTACH w NODE n EXCLUSIVE q GRACE 30");
	ASK(workers[1], "WORKER.ATTACH v NODE n EXCLUSIVE q",
	    "-BUSY Worker w has queue q for itself on node n\r\n");
	/* Another node, another queue, and no claim. */
	attach(workers[1], "WORKER.ATTACH v NODE m EXCLUSIVE q");
	attach(workers[1], "WORKER.ATTACH u NODE n EXCLUSIVE p");
	attach(workers[1], "WORKER.ATTACH t NODE n");
	/* The same worker may attach again, elsewhere too. */
	attach(workers[0], "WORKER.ATTACH w NODE n EXCLUSIVE q GRACE 30");
	attach(workers[2], "WORKER.ATTACH w NODE n EXCLUSIVE q GRACE 30");
	/* It keeps the queue while its jobs wait for it. */
	put("q", "j");
	ask_jobs(workers[2], "POP q w 1", "j");
	peer_close(workers[2]);
	WAIT_UNTIL(clients() == before - 1);
	ASK(workers[1], "WORKER.ATTACH s NODE n EXCLUSIVE q",
	    "-BUSY Worker w has queue q for itself on node n until its grace period is over\r\n");
	ASK(p, "WORKER.DETACH w", ":1\r\n");
	attach(workers[1], "WORKER.ATTACH s NODE n EXCLUSIVE q");
}

static void an_exclusive_queue_is_free_when_its_worker_leaves(void)
{
	attach(workers[0], "WORKER.ATTACH w NODE n EXCLUSIVE q");
	peer_close(workers[0]);
	/* Without a job, there is nothing to wait for. */
	WAIT_UNTIL(peer_ask(workers[1], "WORKER.ATTACH v NODE n EXCLUSIVE q")[0] == '+');
	ASK(workers[2], "SELECT 1", "+OK\r\n");
	attach(workers[2], "WORKER.ATTACH w NODE n EXCLUSIVE q");
	/* A claim that is given up. */
	attach(workers[1], "WORKER.ATTACH v NODE n");
	attach(workers[3], "WORKER.ATTACH u NODE n EXCLUSIVE q");
}

/* ---- events ---- */

#define PUSH(event, jid) ">4\r\n$6\r\nworker\r\n$1\r\nw\r\n" event "\r\n$" jid "\r\n"

static void events_are_pushed_to_the_worker(void)
{
	peer_ask(workers[0], "HELLO 3");
	attach(workers[0], "WORKER.ATTACH w");
	put("q", "j1");
	put("q", "j2");
	put("q", "j3");
	peer_ask(workers[0], "POP q w 3");
	ASK(p, "CANCEL j1", "*1\r\n$2\r\nj1\r\n");
	peer_expect(workers[0], PUSH("$8\r\ncanceled", "2\r\nj1"));
	peer_ask(p, "TIMEOUT j2");
	peer_expect(workers[0], PUSH("$9\r\nlock_lost", "2\r\nj2"));
	/* Also while it waits. */
	begin(workers[0], "BPOP 0 w 1 other");
	ASK(p, "WORKER.RELEASE w", ":1\r\n");
	peer_expect(workers[0], PUSH("$9\r\nlock_lost", "2\r\nj3"));
	put("other", "j4");
	expect_jobs(workers[0], "j4");
	/* After the reply of its own command. */
	ASK(workers[0], "WORKER.RELEASE w", ":1\r\n");
	peer_expect(workers[0], PUSH("$9\r\nlock_lost", "2\r\nj4"));
}

static void without_resp3_events_are_on_the_channel_of_the_worker(void)
{
	attach(workers[0], "WORKER.ATTACH w");
	peer_ask(workers[1], "SUBSCRIBE ql:w:w");
	put("q", "j1");
	ask_jobs(workers[0], "POP q w 1", "j1");
	ASK(p, "WORKER.RELEASE w", ":1\r\n");
	peer_expect(workers[1], "*3\r\n$7\r\nmessage\r\n$6\r\nql:w:w\r\n$45\r\n{\"jid\":\"j1\","
				"\"event\":\"lock_lost\",\"worker\":\"w\"}\r\n");
	ASK(workers[0], "PING", "+PONG\r\n");
}

/* ---- listeners ---- */

static int64_t listeners(const char *queue)
{
	char words[64];

	snprintf(words, sizeof words, "QUEUES %s", queue);
	return peer_ask_number(p, words, "\"listeners\":");
}

static int64_t unheard_queues(void)
{
	return peer_ask_number(p, "INFO queues", "queues_without_listeners:");
}

static void a_worker_listens_to_the_queues_from_which_it_pops(void)
{
	TEST_ASSERT_EQUAL_INT64(0, listeners("q"));
	attach(workers[0], "WORKER.ATTACH w");
	put("q", "j");
	TEST_ASSERT_EQUAL_INT64(0, listeners("q"));
	ask_jobs(workers[0], "POP q w 1", "j");
	TEST_ASSERT_EQUAL_INT64(1, listeners("q"));
	ask_jobs(workers[0], "POP q w 1", "");
	begin(workers[0], "BPOP 0 w 2 q p");
	TEST_ASSERT_EQUAL_INT64(1, listeners("q"));
	TEST_ASSERT_EQUAL_INT64(1, listeners("p"));
	/* A busy worker goes on listening. */
	put("p", "k");
	expect_jobs(workers[0], "k");
	TEST_ASSERT_EQUAL_INT64(1, listeners("p"));
	attach(workers[1], "WORKER.ATTACH v");
	begin(workers[1], "BPOP 0 v 1 p");
	TEST_ASSERT_EQUAL_INT64(2, listeners("p"));
	peer_close(workers[1]);
	WAIT_UNTIL(listeners("p") == 1);
	ASK(workers[0], "WORKER.DETACH w", ":1\r\n");
	TEST_ASSERT_EQUAL_INT64(0, listeners("p"));
	TEST_ASSERT_EQUAL_INT64(0, listeners("q"));
	ASK_LACKS(p, "QLESS queues 1 q", "listeners");
}

static void other_clients_listen_while_they_wait(void)
{
	begin(workers[0], "BPOP 0 w 2 q p");
	begin(workers[1], "BPOP 0 w 1 q");
	TEST_ASSERT_EQUAL_INT64(2, listeners("q"));
	TEST_ASSERT_EQUAL_INT64(1, listeners("p"));
	put("q", "j");
	expect_jobs(workers[0], "j");
	TEST_ASSERT_EQUAL_INT64(1, listeners("q"));
	TEST_ASSERT_EQUAL_INT64(0, listeners("p"));
	peer_close(workers[1]);
	WAIT_UNTIL(listeners("q") == 0);
}

static void queues_with_jobs_and_without_listeners_are_counted(void)
{
	put("q", "j1");
	put("p", "j2");
	begin(workers[0], "BPOP 0 w 1 none");
	WAIT_UNTIL(unheard_queues() == 2);
	attach(workers[1], "WORKER.ATTACH v");
	ask_jobs(workers[1], "POP p v 1", "j2");
	put("p", "j3");
	WAIT_UNTIL(unheard_queues() == 1);
	peer_ask(p, "POP q w 1");
	WAIT_UNTIL(unheard_queues() == 0);
	ASK_HAS(p, "INFO queues", "listeners=1");
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO clients", "attached_workers:"));
}

static void the_list_shows_attached_and_waiting_workers(void)
{
	ASK(p, "WORKER.LIST", "$2\r\n[]\r\n");
	attach(workers[0], "WORKER.ATTACH w NODE host PID 77 GRACE 7");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	ASK_HAS(p, "WORKER.LIST",
		"[{\"name\":\"w\",\"attached\":true,\"node\":\"host\",\"pid\":77,\"address\":\"");
	ASK_HAS(p, "WORKER.LIST", "\"grace\":7,\"jobs\":1,\"queues\":[\"q\"]}]");
	begin(workers[1], "BPOP 0 v 2 q p");
	ASK_HAS(p, "WORKER.LIST",
		"{\"name\":\"v\",\"attached\":false,\"node\":\"\",\"pid\":0,\"address\":\"");
	ASK_HAS(p, "WORKER.LIST QUEUE p", "\"jobs\":0,\"queues\":[\"q\",\"p\"]}]");
	ASK_LACKS(p, "WORKER.LIST QUEUE p", "\"w\"");
	ASK(p, "WORKER.LIST QUEUE none", "$2\r\n[]\r\n");
	/* A worker that has left is listed without an address. */
	peer_close(workers[0]);
	WAIT_UNTIL(strstr(peer_ask(p, "WORKER.LIST"), "\"pid\":77,\"address\":\"\"") != NULL);
	ASK_HAS(p, "WORKERS w", "\"attached\":{\"node\":\"host\",\"pid\":77,");
	ASK_HAS(p, "WORKERS", "\"name\":\"w\",\"jobs\":1,\"attached\":{\"node\":\"host\",");
	ASK_LACKS(p, "WORKERS v", "attached");
	ASK_LACKS(p, "QLESS workers 1 w", "attached");
	ASK(workers[2], "SELECT 1", "+OK\r\n");
	ASK(workers[2], "WORKER.LIST", "$2\r\n[]\r\n");
}

static void the_list_hides_what_a_user_may_not_see(void)
{
	peer_ask(p, "ACL SETUSER joe on nopass +@qless ~mine");
	attach(workers[0], "WORKER.ATTACH a");
	attach(workers[0], "WORKER.ATTACH b");
	put("mine", "j1");
	put("theirs", "j2");
	put("theirs", "j3");
	ask_jobs(workers[0], "POP mine a 1", "j1");
	ask_jobs(workers[0], "POP theirs a 1", "j2");
	ask_jobs(workers[0], "POP theirs b 1", "j3");
	peer_ask(workers[1], "AUTH joe x");
	ASK_HAS(workers[1], "WORKER.LIST", "\"queues\":[\"mine\"]}]");
	ASK_LACKS(workers[1], "WORKER.LIST", "\"b\"");
	ASK_LACKS(workers[1], "WORKER.LIST", "jobs");
	ASK_HAS(workers[1], "WORKER.LIST QUEUE theirs", "-NOPERM ");
}

static void a_long_list_is_complete(void)
{
	int count = 0;

	for (int i = 0; i < 600; i++) {
		char words[64];

		snprintf(words, sizeof words, "WORKER.ATTACH w%03d", i);
		attach(workers[0], words);
	}
	for (const char *at = peer_ask(p, "WORKER.LIST"); (at = strstr(at, "\"name\":")) != NULL;
	     at++)
		count++;
	TEST_ASSERT_EQUAL_INT(600, count);
}

/* ---- arguments and permissions ---- */

static void bad_arguments_are_named(void)
{
	ASK_HAS(p, "WORKER.ATTACH w X 1", "-BADARG Unknown option \"X\"");
	ASK_HAS(p, "WORKER.ATTACH w GRACE", "-BADARG Option \"GRACE\" has no value");
	ASK_HAS(p, "WORKER.ATTACH w PID 1 pid 1", "-BADARG Option \"pid\" is repeated");
	ASK_HAS(p, "WORKER.ATTACH w GRACE -1",
		"-BADARG GRACE must be a number of seconds from 0 to 86400; found \"-1\"");
	ASK_HAS(p, "WORKER.ATTACH w GRACE 86401", "-BADARG GRACE must be a number");
	ASK_HAS(p, "WORKER.ATTACH w GRACE nan", "-BADARG GRACE must be a number");
	ASK_HAS(p, "WORKER.ATTACH w PID 0",
		"-BADARG PID must be a whole number from 1 to 2147483647; found \"0\"");
	ASK_HAS(p, "WORKER.ATTACH w EXCLUSIVE q",
		"-BADARG EXCLUSIVE allows one worker for each node, so it needs the option NODE");
	ASK_HAS(p, "WORKER.RELEASE w NOW", "-BADARG Unknown option \"NOW\"");
	ASK_HAS(p, "WORKER.RELEASE w RETRY RETRY", "-ERR wrong number of arguments");
	ASK_HAS(p, "WORKER.ATTACH", "-ERR wrong number of arguments");
	peer_send_text(p, "*2\r\n$13\r\nWORKER.ATTACH\r\n$0\r\n\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), "-BADARG worker must not be empty"));
	peer_send_text(p, "*2\r\n$13\r\nWORKER.ATTACH\r\n$1\r\n\xff\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), "-BADARG The worker is not UTF-8"));
	peer_ask(p, "CONFIG SET max-name-length 64");
	ASK_HAS(p,
		"WORKER.ATTACH w NODE "
		"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
		"-LIMIT The node is longer than max-name-length (64 bytes)");
	ASK_HAS(p, "QLESS worker.attach 1 w", "-ERR Unknown command worker.attach");
}

static void a_limited_user_may_only_have_workers_with_its_own_jobs(void)
{
	peer_ask(p, "ACL SETUSER joe on nopass +@qless ~mine");
	put("theirs", "j");
	put("mine", "k");
	ask_jobs(p, "POP theirs w 1", "j");
	ask_jobs(p, "POP mine v 1", "k");
	peer_ask(workers[0], "AUTH joe x");
	ASK_HAS(workers[0], "WORKER.ATTACH w", "-NOPERM ");
	ASK_HAS(workers[0], "WORKER.RELEASE w", "-NOPERM ");
	ASK_HAS(workers[0], "WORKER.HEARTBEAT w", "-NOPERM ");
	ASK_HAS(workers[0], "WORKER.DETACH w", "-NOPERM ");
	ASK_HAS(workers[0], "WORKER.ATTACH u NODE n EXCLUSIVE theirs", "-NOPERM ");
	attach(workers[0], "WORKER.ATTACH v NODE n EXCLUSIVE mine");
	ASK(workers[0], "WORKER.HEARTBEAT v", ":1\r\n");
	ASK(workers[0], "WORKER.RELEASE v", ":1\r\n");
	ASK(p, "COMMAND GETKEYS WORKER.ATTACH w NODE n EXCLUSIVE q", "*1\r\n$1\r\nq\r\n");
	/* Attaching lets the server change jobs, so it is a write. */
	peer_ask(p, "ACL SETUSER eve on nopass +@all -@write allkeys");
	peer_ask(workers[1], "AUTH eve x");
	ASK_HAS(workers[1], "WORKER.ATTACH w", "-NOPERM ");
}

static void a_deleted_user_leaves_its_jobs(void)
{
	peer_ask(p, "ACL SETUSER joe on nopass +@all allkeys");
	peer_ask(workers[0], "AUTH joe x");
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	ASK(p, "ACL DELUSER joe", ":1\r\n");
	WAIT_UNTIL(has_state("j", "waiting"));
}

static void a_worker_leaves_when_its_user_loses_the_right(void)
{
	peer_ask(p, "ACL SETUSER joe on nopass +@all allkeys");
	peer_ask(workers[0], "AUTH joe x");
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	attach(workers[0], "WORKER.ATTACH v GRACE 0");
	put("mine", "j");
	put("theirs", "k");
	ask_jobs(workers[0], "POP mine w 1", "j");
	ask_jobs(workers[0], "POP theirs v 1", "k");
	peer_ask(p, "ACL SETUSER joe resetkeys ~mine");
	WAIT_UNTIL(has_state("k", "waiting"));
	TEST_ASSERT_TRUE(has_state("j", "running"));
	peer_ask(p, "ACL SETUSER joe -worker.attach");
	WAIT_UNTIL(has_state("j", "waiting"));
	ASK(workers[0], "PING", "+PONG\r\n");
}

static void a_transaction_may_attach_and_release(void)
{
	put("q", "j");
	ASK(workers[0], "MULTI", "+OK\r\n");
	peer_ask(workers[0], "WORKER.ATTACH w GRACE 0");
	peer_ask(workers[0], "WORKER.RELEASE w");
	peer_ask(workers[0], "WORKER.HEARTBEAT w");
	ASK(workers[0], "EXEC", "*3\r\n+OK\r\n:0\r\n:0\r\n");
	ask_jobs(workers[0], "POP q w 1", "j");
	peer_close(workers[0]);
	WAIT_UNTIL(has_state("j", "waiting"));
}

/* ---- the log ---- */

static char *copy_reply(const char *words)
{
	const char *reply = peer_ask(p, words);
	char *copy = malloc(strlen(reply) + 1);

	strcpy(copy, reply);
	return copy;
}

static void renewals_and_releases_are_in_the_log(void)
{
	static const char *const views[] = { "GET j1", "GET j2", "GET j3", "QLESS workers 1",
					     "ZRANGE ql:q:q-locks 0 -1 WITHSCORES" };
	char *before[sizeof views / sizeof views[0]];

	attach(workers[0], "WORKER.ATTACH w");
	attach(workers[1], "WORKER.ATTACH v GRACE 0");
	put("q", "j1");
	put("q", "j2");
	put("q", "j3");
	ask_jobs(workers[0], "POP q w 1", "j1");
	ask_jobs(workers[1], "POP q v 1", "j2");
	ask_jobs(p, "POP q u 1", "j3");
	pass(31);
	WAIT_UNTIL(lock_left("j1") > 50);
	peer_close(workers[1]);
	WAIT_UNTIL(has_state("j2", "waiting"));
	ASK(p, "WORKER.RELEASE u RETRY", ":1\r\n");
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
		before[i] = copy_reply(views[i]);
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	peer_close_all();
	start(true, (const char *const[]){ NULL });
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
		TEST_ASSERT_EQUAL_STRING(before[i], peer_ask(p, views[i]));
		free(before[i]);
	}
	ASK(p, "CONSISTENCYCHECK", "*0\r\n");
	/* The worker has its job, and the server renews the lock again once it has attached. */
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	for (int i = 0; i < 3; i++) {
		pass(31);
		WAIT_UNTIL(lock_left("j1") > 50);
	}
	peer_close(workers[0]);
	WAIT_UNTIL(has_state("j1", "waiting"));
}

static void stopping_releases_nothing(void)
{
	attach(workers[0], "WORKER.ATTACH w GRACE 0");
	put("q", "j");
	ask_jobs(workers[0], "POP q w 1", "j");
	kill(q.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	peer_close_all();
	start(true, (const char *const[]){ NULL });
	TEST_ASSERT_TRUE(has_state("j", "running"));
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

/* Attaches a worker that waits for many queues. */
static struct peer *wait_for_many(int number, int queues)
{
	static char words[16 * NAMED_QUEUES];
	struct peer *worker = peer_connect(&q);
	size_t len;

	snprintf(words, sizeof words, "WORKER.ATTACH w%d", number);
	attach(worker, words);
	len = (size_t)snprintf(words, sizeof words, "BPOP 0 w%d %d", number, queues);
	for (int i = 0; i < queues; i++)
		len += (size_t)snprintf(words + len, sizeof words - len, " q%07d", i);
	peer_send_words(worker, words);
	return worker;
}

static void a_queue_of_an_attached_worker_takes_little_memory(void)
{
	static struct peer *many[NAMERS];
	int64_t before, after;

	for (int i = 0; i < NAMERS; i++)
		many[i] = wait_for_many(i, 1);
	WAIT_UNTIL(waiting_clients() == NAMERS);
	before = peer_ask_number(p, "INFO memory", "used_memory:");
	for (int i = 0; i < NAMERS; i++)
		peer_close(many[i]);
	WAIT_UNTIL(waiting_clients() == 0);
	for (int i = 0; i < NAMERS; i++)
		many[i] = wait_for_many(i, NAMED_QUEUES);
	WAIT_UNTIL(waiting_clients() == NAMERS);
	after = peer_ask_number(p, "INFO memory", "used_memory:");
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN_INT64((int64_t)NAMERS * (NAMED_QUEUES - 1) * NAME_COST,
					    after - before);
	TEST_ASSERT_EQUAL_INT64(NAMERS, listeners("q0000400"));
}

static void many_attached_workers_cost_no_wake_ups(void)
{
	static struct peer *many[MANY];
	int count = count_many();
	int64_t longest_ms = 0;

	restart((const char *const[]){ "--maxclients", "11000", NULL });
	for (int i = 0; i < count; i++) {
		char words[64];

		many[i] = peer_connect(&q);
		snprintf(words, sizeof words, "WORKER.ATTACH w%d", i);
		attach(many[i], words);
	}
	/* Each has had a job. */
	put_many("q", 100);
	for (int i = 0; i < 100; i++) {
		char words[64];

		snprintf(words, sizeof words, "POP q w%d 1", i);
		TEST_ASSERT_EQUAL_INT('$', peer_ask(many[i], words)[0]);
		snprintf(words, sizeof words, "COMPLETE j%05d w%d q {}", i, i);
		peer_ask(many[i], words);
	}
	/* Nothing but the server's own work, about twice a second, wakes it. What it still does for
	 * the last commands, such as a sync, wakes it more often at first. */
	for (int i = 0; i < ATTEMPTS && longest_ms <= WAKE_UPS * WAKE_UP_MS; i++) {
		long switches = qlessd_proc_status(&q, "voluntary_ctxt_switches");
		int64_t begin_ms = wait_now_ms(), elapsed_ms;

		WAIT_UNTIL(qlessd_proc_status(&q, "voluntary_ctxt_switches") >=
			   switches + WAKE_UPS);
		elapsed_ms = wait_now_ms() - begin_ms;
		longest_ms = elapsed_ms > longest_ms ? elapsed_ms : longest_ms;
	}
	TEST_ASSERT_GREATER_THAN_INT64(WAKE_UPS * WAKE_UP_MS, longest_ms);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_locks_of_an_attached_worker_do_not_expire);
	RUN(locks_are_renewed_without_a_log);
	RUN(each_queue_has_its_own_lease);
	RUN(renewals_are_few_records);
	RUN(locks_survive_a_server_that_stood_still);
	RUN(what_an_earlier_process_lost_stays_lost);
	RUN(heartbeat_renews_all_valid_locks);
	RUN(heartbeat_renews_more_locks_than_one_turn_does);
	RUN(release_returns_all_jobs);
	RUN(release_can_count_a_retry);
	RUN(release_returns_more_jobs_than_one_turn_does);
	RUN(every_end_of_a_connection_releases_the_jobs);
	RUN(a_grace_period_of_0_releases_at_once);
	RUN(the_jobs_are_handed_out_right_after_the_grace_period);
	RUN(many_jobs_are_released);
	RUN(a_worker_that_attaches_again_keeps_its_jobs);
	RUN(locks_are_renewed_until_the_grace_period_ends);
	RUN(a_worker_belongs_to_the_connection_that_attached_it_last);
	RUN(a_detached_worker_keeps_its_jobs_until_the_locks_expire);
	RUN(a_connection_may_attach_several_workers);
	RUN(a_connection_has_a_limit_of_workers);
	RUN(databases_have_workers_of_their_own);
	RUN(flushing_keeps_workers_attached);
	RUN(nothing_is_released_during_a_pause);
	RUN(a_grace_period_that_ends_during_a_pause_begins_again);
	RUN(nothing_is_released_while_the_log_cannot_be_written);
	RUN(exclusive_refuses_a_second_worker_on_the_same_node);
	RUN(an_exclusive_queue_is_free_when_its_worker_leaves);
	RUN(events_are_pushed_to_the_worker);
	RUN(without_resp3_events_are_on_the_channel_of_the_worker);
	RUN(a_worker_listens_to_the_queues_from_which_it_pops);
	RUN(other_clients_listen_while_they_wait);
	RUN(queues_with_jobs_and_without_listeners_are_counted);
	RUN(the_list_shows_attached_and_waiting_workers);
	RUN(the_list_hides_what_a_user_may_not_see);
	RUN(a_long_list_is_complete);
	RUN(bad_arguments_are_named);
	RUN(a_limited_user_may_only_have_workers_with_its_own_jobs);
	RUN(a_deleted_user_leaves_its_jobs);
	RUN(a_worker_leaves_when_its_user_loses_the_right);
	RUN(a_transaction_may_attach_and_release);
	RUN(renewals_and_releases_are_in_the_log);
	RUN(stopping_releases_nothing);
	RUN(a_queue_of_an_attached_worker_takes_little_memory);
	RUN(many_attached_workers_cost_no_wake_ups);
	return UNIT_RESULT();
}
