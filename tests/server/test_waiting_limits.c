/*
 * Clients that wait for jobs meet the limits and the commands of operators: too many clients,
 * output that is not read, memory, idle clients, pauses, transactions and the end of the server.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"
#include "waiting.h"

#define MIB (1 << 20)

static struct qlessd q;
static struct peer *p;
static struct peer *workers[3];
static struct ahead ahead;

static void start(const char *const *args)
{
	ahead_start(&q, args);
	p = peer_connect(&q);
	for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++)
		workers[i] = peer_connect(&q);
}
#define START(...) start((const char *const[]){ __VA_ARGS__, NULL })

void setUp(void)
{
	ahead_init(&ahead);
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

/* Sends a command with a last argument of this many bytes. */
static void send_bytes(struct peer *to, const char *head, size_t len)
{
	char *bytes = malloc(len);
	char size[32];

	memset(bytes, '1', len);
	peer_send_blindly(to, head, strlen(head));
	snprintf(size, sizeof size, "$%zu\r\n", len);
	peer_send_blindly(to, size, strlen(size));
	peer_send_blindly(to, bytes, len);
	peer_send_blindly(to, "\r\n", 2);
	free(bytes);
}

static void waiting_clients_count_towards_maxclients(void)
{
	struct peer *late;

	START("--maxclients", "4");
	for (int i = 0; i < 3; i++)
		waiting_begin(p, workers[i], "BPOP 0 w 1 q");
	late = peer_connect(&q);
	peer_expect(late, "-ERR max number of clients reached\r\n");
	peer_expect_end(late);
	peer_close(workers[0]);
	waiting_await(p, 2);
	late = peer_connect(&q);
	waiting_begin(p, late, "BPOP 0 w 1 q");
	ASK(p, "MULTIPUT w q 0 jobs j1 klass {} j2 klass {} j3 klass {}",
	    "*3\r\n$2\r\nj1\r\n$2\r\nj2\r\n$2\r\nj3\r\n");
	waiting_expect_jobs(workers[1], "j1");
	waiting_expect_jobs(workers[2], "j2");
	waiting_expect_jobs(late, "j3");
}

/* The job was handed out, so it stays locked as after any lost reply. */
static void a_hand_over_above_the_output_limit_ends_the_connection(void)
{
	START("--client-output-buffer-limit", "normal", "256kb", "0", "0");
	waiting_begin(p, workers[0], "BPOP 0 w0 1 q");
	waiting_begin(p, workers[1], "BPOP 0 w1 1 q");
	send_bytes(p, "*7\r\n$3\r\nPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$5\r\nlarge\r\n$1\r\nk\r\n", MIB);
	peer_send_text(p, "$1\r\n0\r\n");
	peer_expect(p, "$5\r\nlarge\r\n");
	peer_expect_end(workers[0]);
	waiting_await(p, 1);
	TEST_ASSERT_EQUAL_INT64(
		1, peer_ask_number(p, "INFO stats", "client_output_buffer_limit_disconnections:"));
	ASK(p, "HGET ql:j:large worker", "$2\r\nw0\r\n");
	waiting_put(p, "q", "j");
	waiting_expect_jobs(workers[1], "j");
}

/* Let the server hold replies of some MiB for a client that does not read. */
static struct peer *hoard(int mib)
{
	struct peer *slow;

	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_connect_small_buffers(false);
	for (int i = 0; i < mib; i++)
		send_bytes(slow, "*2\r\n$4\r\nECHO\r\n", MIB);
	return slow;
}

static void a_waiting_client_that_is_evicted_leaves_the_line(void)
{
	struct peer *slow;

	START("--maxmemory-clients", "12mb", "--client-output-buffer-limit", "normal", "0", "0",
	      "0");
	ASK(p, "CLIENT NO-EVICT ON", "+OK\r\n");
	/* The kernel takes some MiB of each. */
	slow = hoard(10);
	waiting_begin(p, slow, "BPOP 0 slow 1 q");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	hoard(6);
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "evicted_clients:") == 1);
	waiting_await(p, 1);
	waiting_put(p, "q", "j");
	waiting_expect_jobs(workers[0], "j");
}

static void a_client_that_waits_is_not_idle(void)
{
	START("--timeout", "1000");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	ASK(workers[1], "PING", "+PONG\r\n");
	for (int i = 0; i < 2; i++) {
		pass(600);
		ASK(p, "PING", "+PONG\r\n");
	}
	peer_expect_end(workers[1]);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 2);
	waiting_put(p, "q", "j");
	waiting_expect_jobs(workers[0], "j");
}

/* The requests of a client that was served run in its share of each turn. */
static void later_requests_do_not_delay_other_clients(void)
{
	const int count = 2000, share = 2;
	int64_t turns;

	START("--commands-per-turn", "2");
	peer_send_text(workers[0], "BPOP 0 w 1 q\r\n");
	waiting_await(p, 1);
	for (int i = 0; i < count; i++)
		peer_send_text(workers[0], "PING\r\n");
	WAIT_UNTIL(peer_is_delivered(workers[0]));
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:");
	waiting_put(p, "q", "j");
	waiting_expect_jobs(workers[0], "j");
	peer_skip_replies(workers[0], count);
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:") - turns;
	TEST_ASSERT_GREATER_OR_EQUAL_INT64(count / share, turns);
}

/* CLIENT UNBLOCK ends a wait for jobs, and no wait for the end of a pause. */
static void a_client_may_begin_to_wait_during_a_pause(void)
{
	char unblock[64];

	START(NULL);
	snprintf(unblock, sizeof unblock, "CLIENT UNBLOCK %lld",
		 strtoll(peer_ask(workers[0], "CLIENT ID") + 1, NULL, 10));
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	ASK(p, unblock, ":0\r\n");
	waiting_expect_nothing_yet(p, workers[0]);
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	WAIT_UNTIL(strstr(peer_ask(p, "CLIENT LIST"), "cmd=bpop") != NULL);
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	ASK(p, unblock, ":1\r\n");
	peer_expect(workers[0], WAITING_NOTHING);
}

static void a_transaction_that_is_discarded_does_not_wait(void)
{
	START(NULL);
	peer_send_text(workers[0], "MULTI\r\nBPOP 0 w 1 q\r\nDISCARD\r\n");
	peer_expect(workers[0], "+OK\r\n+QUEUED\r\n+OK\r\n");
	peer_send_text(workers[0], "BPOP 0 w 1 q\r\nMULTI\r\nBPOP 0 w 1 q\r\nEXEC\r\n");
	waiting_await(p, 1);
	waiting_put(p, "q", "j");
	waiting_expect_jobs(workers[0], "j");
	peer_expect(workers[0], "+OK\r\n+QUEUED\r\n*1\r\n" WAITING_NOTHING);
}

static void a_put_in_a_transaction_that_fails_serves_nobody(void)
{
	START(NULL);
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	ASK(workers[1], "WATCH ql:q:other-work", "+OK\r\n");
	waiting_put(p, "other", "j1");
	peer_send_text(workers[1], "MULTI\r\nPUT w q j2 klass {} 0\r\nEXEC\r\n");
	peer_expect(workers[1], "+OK\r\n+QUEUED\r\n*-1\r\n");
	waiting_expect_nothing_yet(p, workers[0]);
}

static void shutdown_ends_the_wait_and_keeps_the_jobs(void)
{
	START("--appendfsync", "always");
	waiting_begin(p, workers[0], "BPOP 0 w 1 q");
	waiting_put(p, "other", "j");
	peer_send_words(p, "SHUTDOWN");
	peer_expect_end(workers[0]);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	peer_close_all();
	qlessd_start_again(&q, (const char *const[]){ NULL });
	p = peer_connect(&q);
	peer_send_words(p, "BPOP 0 w 2 q other");
	waiting_expect_jobs(p, "j");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(waiting_clients_count_towards_maxclients);
	RUN(a_hand_over_above_the_output_limit_ends_the_connection);
	RUN(a_waiting_client_that_is_evicted_leaves_the_line);
	RUN(a_client_that_waits_is_not_idle);
	RUN(later_requests_do_not_delay_other_clients);
	RUN(a_client_may_begin_to_wait_during_a_pause);
	RUN(a_transaction_that_is_discarded_does_not_wait);
	RUN(a_put_in_a_transaction_that_fails_serves_nobody);
	RUN(shutdown_ends_the_wait_and_keeps_the_jobs);
	return UNIT_RESULT();
}
