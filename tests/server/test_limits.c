/*
 * Clients that want too much: memory, connections, descriptors, time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "ahead.h"
#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

/* Bytes: more than any system buffers for a socket before the server has to keep the rest. */
#define BACKLOG_MAX ((size_t)256 * 1024 * 1024)

static struct qlessd q;
static struct peer *p;
static struct ahead ahead;

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

static void start(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

/* Start a server for which time can pass. */
static void start_ahead(void)
{
	AHEAD_START(&q, NULL);
	p = peer_connect(&q);
}

static void pass(double seconds)
{
	ahead_pass(&ahead, &q, seconds);
}

/* Publish on the channel x. */
static void publish_bytes(size_t len)
{
	char *bytes = malloc(len), head[64];

	memset(bytes, 'm', len);
	snprintf(head, sizeof head, "*3\r\n$7\r\nPUBLISH\r\n$1\r\nx\r\n$%zu\r\n", len);
	peer_send_text(p, head);
	peer_send(p, bytes, len);
	peer_send_text(p, "\r\n");
	free(bytes);
}

static int64_t disconnects(void)
{
	return peer_ask_number(p, "INFO stats", "client_output_buffer_limit_disconnections:");
}

static void a_client_that_does_not_read_its_replies_is_closed(void)
{
	struct peer *slow;

	start();
	ASK(p, "CONFIG SET client-output-buffer-limit",
	    "-ERR wrong number of arguments for "
	    "'config|set' command (expected: CONFIG SET parameter value [parameter value "
	    "...])\r\n");
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0\"\r\n");
	peer_expect(p, "+OK\r\n");
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	for (size_t asked = 0; asked < BACKLOG_MAX && disconnects() == 0; asked += 512 * 1024)
		peer_ask_for_echo(slow, (size_t)512 * 1024);
	TEST_ASSERT_EQUAL_INT64(1, disconnects());
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "client-output-buffer-limit"));
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
}

static void a_subscriber_that_does_not_read_is_closed(void)
{
	struct peer *slow, *good;

	start();
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"pubsub 256kb 0 0\"\r\n");
	peer_expect(p, "+OK\r\n");
	good = peer_connect(&q);
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_ask(slow, "SUBSCRIBE x");
	peer_ask(good, "SUBSCRIBE y");
	for (size_t sent = 0; sent < BACKLOG_MAX && disconnects() == 0; sent += 100000) {
		publish_bytes(100000);
		peer_reply(p);
	}
	TEST_ASSERT_EQUAL_INT64(1, disconnects());
	ASK(p, "PUBLISH x 1", ":0\r\n");
	ASK(p, "PUBLISH y 1", ":1\r\n");
}

/* Events of queues are messages too, and a subscriber to `*` gets all of them. */
static void a_subscriber_that_does_not_read_events_is_closed(void)
{
	struct peer *slow, *good;
	char put[1024], queue[513];

	memset(queue, 'q', sizeof queue - 1);
	queue[sizeof queue - 1] = '\0';
	start();
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"pubsub 256kb 0 0\"\r\n");
	peer_expect(p, "+OK\r\n");
	good = peer_connect(&q);
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_ask(slow, "PSUBSCRIBE ql:*");
	peer_ask(good, "SUBSCRIBE ql:w:w1");
	for (size_t i = 0; i * sizeof queue < BACKLOG_MAX && disconnects() == 0; i++) {
		snprintf(put, sizeof put, "PUT w %s j%zu k {} 0", queue, i);
		TEST_ASSERT_EQUAL_STRING_LEN("$", peer_ask(p, put), 1);
	}
	TEST_ASSERT_EQUAL_INT64(1, disconnects());
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "class=pubsub"));
	ASK(p, "PUT w other last k {} 0", "$4\r\nlast\r\n");
	peer_ask(p, "POP other w1 1");
	ASK(p, "TIMEOUT last", "$-1\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(good), "lock_lost"));
}

static int64_t pending_of(const char *name)
{
	const char *line = strstr(peer_ask(p, "CLIENT LIST"), name);

	line = line != NULL ? strstr(line, " obl=") : NULL;
	return line != NULL ? strtoll(line + 5, NULL, 10) : -1;
}

/* Far more than the system accepts at once when it accepts something again. */
#define SOFT_BYTES ((int64_t)16 * 1024 * 1024)

/* The system buffers an unknown amount for a socket. Only bytes that are still there at a second
 * look were refused by it. */
static bool is_behind(void)
{
	return pending_of("slow") > SOFT_BYTES && pending_of("slow") > SOFT_BYTES;
}

static void fall_behind(struct peer *slow)
{
	for (size_t asked = 0; asked < BACKLOG_MAX && !is_behind(); asked += 1024 * 1024)
		peer_ask_for_echo(slow, (size_t)1024 * 1024);
	TEST_ASSERT_TRUE(is_behind());
}

static void a_soft_limit_counts_from_when_it_was_last_exceeded(void)
{
	struct peer *slow;

	start_ahead();
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"normal 0 16mb 1000\"\r\n");
	peer_expect(p, "+OK\r\n");
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_ask(slow, "CLIENT SETNAME slow");
	fall_behind(slow);
	pass(600);
	while (pending_of("slow") > SOFT_BYTES)
		peer_skip(slow, 65536);
	TEST_ASSERT_GREATER_THAN(0, pending_of("slow"));
	/* Below the limit for a while. */
	pass(600);
	fall_behind(slow);
	pass(600);
	TEST_ASSERT_TRUE(is_behind());
	TEST_ASSERT_EQUAL_INT64(0, disconnects());
	pass(600);
	WAIT_UNTIL(disconnects() == 1);
}

/* A subscriber that has read nothing of many messages. */
static struct peer *listen_slowly(int number)
{
	char words[64];
	struct peer *slow = peer_connect(&q);

	snprintf(words, sizeof words, "CLIENT SETNAME slow%d", number);
	peer_ask(slow, words);
	peer_ask(slow, "SUBSCRIBE x");
	return slow;
}

/* Returns the most output that is pending for one of them, and for which one, once the system
 * accepts no more. */
static int64_t most_pending(int count, int *ret_which)
{
	int64_t most = 0, before;
	char name[64];

	do {
		before = most;
		most = 0;
		wait_ms(20);
		for (int i = 0; i < count; i++) {
			int64_t pending;

			snprintf(name, sizeof name, "name=slow%d ", i);
			pending = pending_of(name);
			if (pending > most) {
				most = pending;
				*ret_which = i;
			}
		}
	} while (most != before);
	return most;
}

/* One more message is too much for the peer with the most output, and in the same turn all
 * sockets can take more. Some of them, including that one, become writable after the message. */
static void a_client_over_its_limit_may_start_reading_in_the_same_turn(void)
{
	const size_t message = (size_t)1024 * 1024;
	struct peer *slow[8];
	char limit[128];
	int64_t pending = 0;
	size_t sent = 0;
	int last = 0;

	start();
	peer_connect_small_buffers(true);
	for (int i = 0; i < 8; i++)
		slow[i] = listen_slowly(i);
	for (; sent < BACKLOG_MAX && pending <= 1024 * 1024; sent += message) {
		publish_bytes(message);
		peer_expect(p, ":8\r\n");
		pending = most_pending(8, &last);
	}
	TEST_ASSERT_GREATER_THAN_INT64(1024 * 1024, pending);
	snprintf(limit, sizeof limit,
		 "CONFIG SET client-output-buffer-limit \"pubsub %lld 0 0\"\r\n",
		 (long long)pending + 10000);
	peer_send_text(p, limit);
	peer_expect(p, "+OK\r\n");
	qlessd_halt(&q);
	for (int i = 0; i < 4; i++)
		peer_skip(slow[(last + 1 + i) % 8], sent - (size_t)pending);
	publish_bytes(20000);
	WAIT_UNTIL(peer_is_delivered(p));
	for (int i = 4; i < 8; i++)
		peer_skip(slow[(last + 1 + i) % 8], sent - (size_t)pending);
	qlessd_go_on(&q);
	peer_expect(p, ":8\r\n");
	TEST_ASSERT_GREATER_THAN_INT64(0, disconnects());
}

static void output_limits_apply_to_the_reply_of_exec(void)
{
	char echo[2000];
	struct peer *big;
	long before;

	start();
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0\"\r\n");
	peer_expect(p, "+OK\r\n");
	before = qlessd_proc_status(&q, "VmHWM:");
	big = peer_connect(&q);
	peer_send_text(big, "MULTI\r\n");
	snprintf(echo, sizeof echo, "ECHO %01900d\r\n", 0);
	for (int i = 0; i < 1000; i++)
		peer_send_text(big, echo);
	peer_skip_replies(big, 1001);
	peer_send_text(big, "EXEC\r\n");
	peer_expect_end(big);
	TEST_ASSERT_EQUAL_INT64(1, disconnects());
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN(before + 16 * 1024, qlessd_proc_status(&q, "VmHWM:"));
}

static void a_client_beyond_maxclients_gets_an_error(void)
{
	struct peer *last;

	QLESSD_START(&q, "--maxclients", "3");
	p = peer_connect(&q);
	peer_ask(p, "PING");
	peer_ask(peer_connect(&q), "PING");
	last = peer_connect_unix(&q);
	peer_ask(last, "PING");
	for (int i = 0; i < 3; i++) {
		struct peer *more = i == 2 ? peer_connect_unix(&q) : peer_connect(&q);

		peer_expect(more, "-ERR max number of clients reached\r\n");
		peer_expect_end(more);
	}
	TEST_ASSERT_EQUAL_INT64(3, peer_ask_number(p, "INFO stats", "rejected_connections:"));
	peer_close(last);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 2);
	ASK(peer_connect(&q), "PING", "+PONG\r\n");
	ASK(p, "CONFIG SET maxclients 100", "+OK\r\n");
	ASK(peer_connect(&q), "PING", "+PONG\r\n");
}

static void maxclients_is_lowered_to_what_the_system_allows(void)
{
	q.max_files = 100;
	qlessd_start(&q);
	p = peer_connect(&q);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "allows open files for 52 clients only"));
	TEST_ASSERT_EQUAL_INT64(52, peer_ask_number(p, "INFO clients", "maxclients:"));
	ASK_HAS(p, "CONFIG SET maxclients 5000", "-ERR CONFIG SET failed");
	TEST_ASSERT_EQUAL_INT64(52, peer_ask_number(p, "INFO clients", "maxclients:"));
	for (int i = 0; i < 51; i++)
		peer_connect(&q);
	peer_expect(peer_connect(&q), "-ERR max number of clients reached\r\n");
}

static void set_max_files(unsigned long count)
{
	struct rlimit limit;

	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_NOFILE, NULL, &limit));
	limit.rlim_cur = count;
	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_NOFILE, &limit, NULL));
}

static size_t count_in_log(const char *text)
{
	char *log = textfile_read(q.log_path);
	size_t count = 0;

	for (char *at = strstr(log, text); at != NULL; at = strstr(at + 1, text))
		count++;
	free(log);
	return count;
}

/* Returns how often the server wakes up in a second without any requests. */
static int64_t wakeups_per_second(int64_t for_ms)
{
	int64_t start_ms = wait_now_ms(), passed_ms;
	long before = qlessd_proc_status(&q, "voluntary_ctxt_switches:");

	while ((passed_ms = wait_now_ms() - start_ms) < for_ms)
		wait_ms(10);
	return (qlessd_proc_status(&q, "voluntary_ctxt_switches:") - before) * 1000 / passed_ms;
}

static void without_descriptors_accepting_waits_for_one(void)
{
	struct peer *waiting[5], *open[40];
	int count = 0;

	start();
	peer_ask(p, "PING");
	for (; count < 40; count++) {
		open[count] = peer_connect(&q);
		peer_ask(open[count], "PING");
	}
	set_max_files(30);
	for (int i = 0; i < 5; i++) {
		waiting[i] = peer_connect(&q);
		peer_send_text(waiting[i], "PING\r\n");
	}
	WAIT_UNTIL(qlessd_has_logged(&q, "no file descriptors left"));
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_LESS_THAN_INT64(40, wakeups_per_second(1000));
	/* Logged once, not ten times a second. */
	TEST_ASSERT_EQUAL_size_t(1, count_in_log("no file descriptors left"));
	TEST_ASSERT_FALSE(peer_has_input(waiting[0], 0));
	while (count-- > 0)
		peer_close(open[count]);
	for (int i = 0; i < 5; i++)
		peer_expect(waiting[i], "+PONG\r\n");
}

static void idle_clients_are_closed_but_subscribers_are_not(void)
{
	struct peer *idle, *listener, *monitor, *busy;

	start_ahead();
	idle = peer_connect(&q);
	listener = peer_connect(&q);
	monitor = peer_connect(&q);
	busy = peer_connect(&q);
	peer_ask(idle, "PING");
	peer_ask(listener, "SUBSCRIBE x");
	peer_ask(monitor, "MONITOR");
	ASK(p, "CONFIG SET timeout 1000", "+OK\r\n");
	for (int i = 0; i < 3; i++) {
		pass(400);
		ASK(busy, "PING", "+PONG\r\n");
	}
	peer_expect_end(idle);
	ASK(busy, "PUBLISH x 1", ":1\r\n");
	peer_expect(listener, "*3\r\n$7\r\nmessage\r\n");
	TEST_ASSERT_TRUE(peer_has_input(monitor, 0));
}

/* Its reply is being sent all the time, and it sends nothing. */
static void a_slow_reader_is_not_idle(void)
{
	const size_t len = (size_t)48 * 1024 * 1024, part = (size_t)1024 * 1024;
	struct peer *slow;
	size_t taken = 0;

	start_ahead();
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_ask(slow, "CLIENT SETNAME slow");
	ASK(p, "CONFIG SET timeout 1000", "+OK\r\n");
	ASK(p, "CONFIG SET proto-max-bulk-len 64mb client-query-buffer-limit 64mb", "+OK\r\n");
	peer_ask_for_echo(slow, len);
	WAIT_UNTIL(is_behind());
	for (int i = 0; i < 5; i++) {
		int64_t before = pending_of("slow");

		pass(300);
		while (pending_of("slow") >= before) {
			taken += part;
			TEST_ASSERT_LESS_THAN_size_t(len, taken);
			peer_skip(slow, part);
		}
	}
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "idle"));
	peer_skip(slow, len - taken);
}

static void the_size_of_a_request_is_limited(void)
{
	struct peer *big;
	char *bytes = malloc(600 * 1024);

	memset(bytes, 'x', 600 * 1024);
	start();
	ASK(p, "CONFIG SET client-query-buffer-limit 1mb", "+OK\r\n");
	big = peer_connect(&q);
	peer_send_text(big, "*3\r\n$4\r\nECHO\r\n$614400\r\n");
	peer_send(big, bytes, 600 * 1024);
	peer_send_text(big, "\r\n$614400\r\n");
	peer_expect(big, "-ERR Protocol error: too big request\r\n");
	peer_expect_end(big);
	free(bytes);
	ASK(p, "PING", "+PONG\r\n");
}

static void announced_lengths_take_no_memory(void)
{
	struct peer *big[20];
	long before;

	start();
	peer_ask(p, "PING");
	before = qlessd_proc_status(&q, "VmRSS:");
	for (int i = 0; i < 20; i++) {
		big[i] = peer_connect(&q);
		peer_send_text(big[i], "*1000000\r\n$536870912\r\nx");
	}
	for (int i = 0; i < 20; i++)
		ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_LESS_THAN(before + 8 * 1024, qlessd_proc_status(&q, "VmRSS:"));
}

static void many_idle_connections_cost_little(void)
{
	const int count = 900; /* fits into a limit of 1024 open files */
	struct rlimit files;
	int64_t start_ms;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	start();
	for (int i = 0; i < count; i++)
		ASK(peer_connect(&q), "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(count + 1,
				peer_ask_number(p, "INFO clients", "connected_clients:"));
	/* The server frees unused buffers once a second. */
	start_ms = wait_now_ms();
	while (wait_now_ms() - start_ms < 1200)
		wait_ms(10);
	TEST_ASSERT_LESS_THAN_INT64(10, wakeups_per_second(2000));
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN(30 * 1024, qlessd_proc_status(&q, "VmRSS:"));
}

static void a_long_pipeline_does_not_delay_other_clients(void)
{
	const int count = 10000;
	struct peer *busy;
	size_t len = (size_t)count * 6, taken;
	char *bytes = malloc(len);
	const char *info;

	QLESSD_START(&q, "--commands-per-turn", "10");
	p = peer_connect(&q);
	busy = peer_connect(&q);
	peer_ask(p, "PING");
	peer_ask(busy, "PING");
	for (int i = 0; i < count; i++)
		memcpy(bytes + i * 6, "PING\r\n", 6);
	/* All of it is there when the server looks, however much the system accepts. */
	qlessd_halt(&q);
	taken = peer_try_send(busy, bytes, len);
	peer_send_text(p, "INFO stats\r\n");
	qlessd_go_on(&q);
	info = strstr(peer_reply(p), "total_commands_processed:");
	TEST_ASSERT_NOT_NULL(info);
	TEST_ASSERT_GREATER_THAN_size_t((size_t)100 * 6, taken);
	TEST_ASSERT_LESS_THAN(100, strtol(strchr(info, ':') + 1, NULL, 10));
	peer_send(busy, bytes + taken, len - taken);
	peer_skip_replies(busy, count);
	free(bytes);
}

/* Each of them reads all jobs, which takes as long as many other commands. They take many turns,
 * and other clients are served in between. */
static void slow_commands_do_not_delay_other_clients_for_long(void)
{
	const int jobs = 5000, count = 100;
	struct peer *busy;
	int64_t before;

	start();
	busy = peer_connect(&q);
	peer_ask(busy, "PING");
	for (int i = 0; i < jobs; i++)
		peer_send_text(p, "PUT me q * k {} 0\r\n");
	peer_skip_replies(p, jobs);
	before = peer_ask_number(p, "INFO stats", "eventloop_cycles:");
	TEST_ASSERT_GREATER_THAN_INT64(0, before);
	qlessd_halt(&q);
	for (int i = 0; i < count; i++)
		peer_send_text(busy, "KEYS ql:j:x*\r\n");
	qlessd_go_on(&q);
	peer_skip_replies(busy, count);
	TEST_ASSERT_GREATER_THAN_INT64(before + count / 10,
				       peer_ask_number(p, "INFO stats", "eventloop_cycles:"));
}

static void large_replies_do_not_delay_other_clients(void)
{
	const int count = 20000;
	const char request[] = "COMMAND\r\n";
	const size_t len = sizeof request - 1;
	char *bytes = malloc((size_t)count * len);
	struct peer *busy;
	size_t taken;
	int64_t run;

	start();
	busy = peer_connect(&q);
	peer_ask(p, "PING");
	peer_ask(busy, "PING");
	for (int i = 0; i < count; i++)
		memcpy(bytes + (size_t)i * len, request, len);
	qlessd_halt(&q);
	taken = peer_try_send(busy, bytes, (size_t)count * len) / len;
	free(bytes);
	peer_send_words(p, "INFO stats");
	qlessd_go_on(&q);
	run = strtoll(strstr(peer_reply(p), "total_commands_processed:") + 25, NULL, 10);
	TEST_ASSERT_GREATER_THAN_size_t(1000, taken);
	TEST_ASSERT_LESS_THAN_INT64((int64_t)taken / 10, run);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_client_that_does_not_read_its_replies_is_closed);
	RUN(a_subscriber_that_does_not_read_is_closed);
	RUN(a_subscriber_that_does_not_read_events_is_closed);
	RUN(a_soft_limit_counts_from_when_it_was_last_exceeded);
	RUN(a_client_over_its_limit_may_start_reading_in_the_same_turn);
	RUN(output_limits_apply_to_the_reply_of_exec);
	RUN(a_client_beyond_maxclients_gets_an_error);
	RUN(maxclients_is_lowered_to_what_the_system_allows);
	RUN(without_descriptors_accepting_waits_for_one);
	RUN(idle_clients_are_closed_but_subscribers_are_not);
	RUN(a_slow_reader_is_not_idle);
	RUN(the_size_of_a_request_is_limited);
	RUN(announced_lengths_take_no_memory);
	RUN(many_idle_connections_cost_little);
	RUN(a_long_pipeline_does_not_delay_other_clients);
	RUN(slow_commands_do_not_delay_other_clients_for_long);
	RUN(large_replies_do_not_delay_other_clients);
	return UNIT_RESULT();
}
