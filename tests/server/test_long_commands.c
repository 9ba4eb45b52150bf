/*
 * Commands that go on over several turns: what their clients and all others see.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

/* Jobs of the queue q: j000000 and so on. A listing of them takes many turns. */
#define JOBS	  30000
#define JID_BYTES 7
#define BATCH	  5000
/* More jobs, for listings of cheaper elements. */
#define MANY 100000
/* Bytes of an echo that fills the buffers of a socket. A command waits until it is read. */
#define ECHO_BYTES ((size_t)8 * 1024 * 1024)
/* Microseconds of processor time that a turn may take: more than the work of a turn, and less than
 * any listing of the jobs at once. */
#define TURN_US 5000
/* Caches and memory are shared with other processes of the machine, so the best attempt counts. */
#define ATTEMPTS 10

static struct qlessd q;
static struct peer *p, *slow;

/* Put jobs in batches. `options` is sent as it is, with `words` arguments. */
static void put_jobs_with(struct peer *peer, const char *queue, int first, int count, int words,
			  const char *options)
{
	char text[128];

	for (int done = 0; done < count; done += BATCH) {
		int batch = count - done < BATCH ? count - done : BATCH;

		snprintf(text, sizeof text, "*%d\r\n$8\r\nMULTIPUT\r\n$1\r\nw\r\n$%zu\r\n%s\r\n",
			 5 + words + 3 * batch, strlen(queue), queue);
		peer_send_text(peer, text);
		peer_send_text(peer, "$1\r\n0\r\n");
		peer_send_text(peer, options);
		peer_send_text(peer, "$4\r\njobs\r\n");
		for (int i = 0; i < batch; i++) {
			snprintf(text, sizeof text, "$7\r\nj%06d\r\n$1\r\nk\r\n$2\r\n{}\r\n",
				 first + done + i);
			peer_send_text(peer, text);
		}
		TEST_ASSERT_EQUAL_INT('*', peer_reply(peer)[0]);
	}
}

static void put_jobs(struct peer *peer, const char *queue, int first, int count)
{
	put_jobs_with(peer, queue, first, count, 0, "");
}

void setUp(void)
{
	QLESSD_START(&q, "--max-jobs-per-call", "1000000", "--max-dependents", "1000000",
		     "--max-clock-skew", "0", "--enable-debug-command", "local");
	p = peer_connect(&q);
	put_jobs(p, "q", 0, JOBS);
	peer_connect_small_buffers(true);
	slow = peer_connect(&q);
	peer_connect_small_buffers(false);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static int64_t waiting_clients(void)
{
	return peer_ask_number(p, "INFO clients", "blocked_clients:");
}

/* Send a command after an echo that nobody reads, and wait until it has begun. */
static void begin_slowly(const char *words)
{
	peer_ask_for_echo(slow, ECHO_BYTES);
	peer_send_words(slow, words);
	WAIT_UNTIL(waiting_clients() == 1);
}

/* Count how often a jid occurs in a reply. */
static int occurrences(const char *reply, int job)
{
	char jid[JID_BYTES + 1];
	int count = 0;

	snprintf(jid, sizeof jid, "j%06d", job);
	for (const char *at = reply; (at = strstr(at, jid)) != NULL; at += JID_BYTES)
		count++;
	return count;
}

/* Whether the longest turn since CONFIG RESETSTAT took less than this. */
static bool has_short_turns(int64_t most_us)
{
	return qlessd_is_sanitized() ||
	       peer_ask_number(p, "INFO stats", "eventloop_cpu_max:") < most_us;
}

static void expect_short_turns(const char *words, const char *beginning)
{
	bool is_short = false;

	for (int i = 0; i < ATTEMPTS && !is_short; i++) {
		const char *reply;

		ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
		reply = peer_ask(p, words);
		TEST_ASSERT_EQUAL_STRING_LEN_MESSAGE(beginning, reply, strlen(beginning), words);
		is_short = has_short_turns(TURN_US);
	}
	TEST_ASSERT_TRUE_MESSAGE(is_short, words);
}

static void long_listings_take_short_turns(void)
{
	expect_short_turns("KEYS *", "*60002\r\n");
	TEST_ASSERT_GREATER_THAN_INT64(3, peer_ask_number(p, "INFO stats", "eventloop_cycles:"));
	expect_short_turns("ZRANGE ql:q:q-work 0 -1", "*30000\r\n$7\r\nj029");
	expect_short_turns("ZREVRANGE ql:q:q-work 0 -1 WITHSCORES", "*60000\r\n$7\r\nj0");
	expect_short_turns("PEEK q 1000000", "$");
	expect_short_turns("QLESS peek 1e11 q 1000000", "$");
}

static void a_long_count_takes_short_turns(void)
{
	expect_short_turns("QUEUE.COUNT q STATE waiting complete",
			   "*4\r\n$7\r\nwaiting\r\n:30000\r\n$8\r\ncomplete\r\n:0\r\n");
	expect_short_turns("QUEUE.COUNT q BY state klass", "*1\r\n*3\r\n$7\r\nwaiting\r\n");
	/* Without parts it would be one turn, with those of CONFIG and INFO before and after. */
	TEST_ASSERT_GREATER_THAN_INT64(3, peer_ask_number(p, "INFO stats", "eventloop_cycles:"));
}

static void a_count_that_takes_too_long_for_a_transaction_is_refused(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "QUEUE.COUNT q BY state", "+QUEUED\r\n");
	ASK(p, "QUEUE.COUNT q STATE scheduled", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "too long for a transaction");
	ASK_HAS(p, "QUEUE.COUNT q STATE scheduled", "$9\r\nscheduled\r\n:0\r\n");
}

#define CROWD 60

static void a_crowd_of_long_listings_takes_short_turns(void)
{
	struct peer *crowd[CROWD];
	bool is_short = false;

	for (int i = 0; i < CROWD; i++)
		crowd[i] = peer_connect(&q);
	for (int k = 0; k < ATTEMPTS && !is_short; k++) {
		ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
		/* All of them arrive in one turn. */
		qlessd_halt(&q);
		for (int i = 0; i < CROWD; i++)
			peer_send_words(crowd[i], "KEYS *nothing");
		qlessd_go_on(&q);
		for (int i = 0; i < CROWD; i++)
			peer_expect(crowd[i], "*0\r\n");
		is_short = has_short_turns(INT64_C(4) * TURN_US);
	}
	TEST_ASSERT_TRUE(is_short);
}

static void long_listings_of_jobs_take_short_turns(void)
{
	put_jobs_with(p, "other", JOBS, MANY, 4,
		      "$4\r\ntags\r\n$5\r\n[\"t\"]\r\n$7\r\ndepends\r\n$11\r\n[\"j000000\"]\r\n");
	expect_short_turns("TAG get t 0 1000000", "$");
	expect_short_turns("JOBS depends other 0 1000000", "*100000\r\n");
	expect_short_turns("SMEMBERS ql:j:j000000-dependents", "*100000\r\n");
	ASK_HAS(p, "TAG get t 99998 1000000",
		"{\"jobs\":[\"j129998\",\"j129999\"],\"total\":100000}");
}

/* Names of queues, workers and groups of the test after this. More than are listed at once. */
#define SUBSCRIBERS 10
#define CHANNELS    10000 /* of each */

static void a_long_list_of_channels_takes_short_turns(void)
{
	char text[64];

	for (int i = 0; i < SUBSCRIBERS; i++) {
		struct peer *subscriber = peer_connect(&q);

		snprintf(text, sizeof text, "*%d\r\n$9\r\nSUBSCRIBE\r\n", CHANNELS + 1);
		peer_send_text(subscriber, text);
		for (int k = 0; k < CHANNELS; k++) {
			snprintf(text, sizeof text, "$6\r\n%06d\r\n", i * CHANNELS + k);
			peer_send_text(subscriber, text);
		}
		peer_skip_replies(subscriber, CHANNELS);
	}
	expect_short_turns("PUBSUB CHANNELS *nothing", "*0\r\n");
	expect_short_turns("PUBSUB CHANNELS", "*100000\r\n");
	ASK(p, "PUBSUB CHANNELS 09999[9]", "*1\r\n$6\r\n099999\r\n");
}

#define NAMES 2000

/* Writes a pattern in which each # stands for the number. */
static void number_words(char *to, size_t size, const char *pattern, int number)
{
	size_t len = 0;

	for (; *pattern != '\0' && len < size - 1; pattern++) {
		if (*pattern == '#')
			len += (size_t)snprintf(to + len, size - len, "%d", number);
		else
			to[len++] = *pattern;
	}
	to[len] = '\0';
}

static void ask_for_each(const char *pattern)
{
	char words[128];

	for (int i = 0; i < NAMES; i++) {
		number_words(words, sizeof words, pattern, i);
		peer_send_words(p, words);
	}
	peer_skip_replies(p, NAMES);
}

static void expect_each(const char *words, const char *pattern)
{
	const char *reply = peer_ask(p, words), *at;
	char name[128];

	for (int i = 0; i < NAMES; i++) {
		number_words(name, sizeof name, pattern, i);
		at = strstr(reply, name);
		TEST_ASSERT_NOT_NULL_MESSAGE(at, words);
		TEST_ASSERT_NULL_MESSAGE(strstr(at + 1, name), words);
	}
}

static void long_listings_of_names_are_complete(void)
{
	ask_for_each("PUT w queue-# n# k {} 0");
	ask_for_each("POP queue-# worker-# 1");
	ask_for_each("FAIL n# worker-# group-# message {}");
	expect_each("QUEUES", "\"name\":\"queue-#\",\"waiting\":0,");
	expect_each("WORKERS", "{\"stalled\":0,\"name\":\"worker-#\",\"jobs\":0}");
	expect_each("FAILED", "\"group-#\":1");
	expect_each("SMEMBERS ql:failures", "\r\ngroup-#\r\n");
	expect_each("MEMORY QUEUES", "\r\nqueue-#\r\n");
	ask_for_each("PAUSE queue-#");
	expect_each("SMEMBERS ql:paused_queues", "\r\nqueue-#\r\n");
	ASK_HAS(p, "MEMORY QUEUES SAMPLES 10 queue-1 none queue-2",
		"*8\r\n$6\r\nqueues\r\n*4\r\n$7\r\nqueue-1\r\n");
}

/* A child process does the check. The fork takes longer the more memory is in use. */
static void a_check_does_not_hold_others_up(void)
{
	expect_short_turns("CONSISTENCYCHECK", "*0\r\n");
	expect_short_turns("CONSISTENCYCHECK RESOLVE", "*0\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CONSISTENCYCHECK", "+QUEUED\r\n");
	ASK(p, "EXEC",
	    "*1\r\n-LIMIT The command takes too long for a transaction. Send it outside of "
	    "MULTI\r\n");
	begin_slowly("CONSISTENCYCHECK");
	peer_reset(slow);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
	ASK(p, "PING", "+PONG\r\n");
}

static void the_usage_is_counted_once(void)
{
	ASK(p, "CONFIG SET slowlog-log-slower-than 0", "+OK\r\n");
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	peer_ask(p, "KEYS *");
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO commandstats", "cmdstat_keys:calls="));
	TEST_ASSERT_GREATER_THAN_INT64(
		1000, peer_ask_number(p, "INFO commandstats", "cmdstat_keys:calls=1,usec="));
	ASK_HAS(p, "SLOWLOG GET 10", "$4\r\nKEYS\r\n$1\r\n*\r\n");
}

static void others_go_on_and_later_requests_wait_for_their_turn(void)
{
	begin_slowly("KEYS *");
	peer_send_words(slow, "ECHO after");
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(1, waiting_clients());
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("*60002\r\n", peer_reply(slow), 8);
	peer_expect(slow, "$5\r\nafter\r\n");
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients());
}

/* The queue changes at both ends while it is listed. */
static void jobs_that_stay_in_their_place_are_listed_exactly_once(void)
{
	const char *reply;

	begin_slowly("PEEK q 1000000");
	peer_ask(p, "POP q w 1000");
	put_jobs(p, "q", JOBS, BATCH);
	peer_skip_echo(slow, ECHO_BYTES);
	reply = peer_reply(slow);
	for (int i = 1000; i < JOBS; i += 97)
		TEST_ASSERT_EQUAL_INT(1, occurrences(reply, i));
}

static void a_flush_ends_a_listing_early(void)
{
	const char *reply;

	begin_slowly("PEEK q 1000000");
	ASK(p, "FLUSHALL", "+OK\r\n");
	put_jobs(p, "other", JOBS, 10);
	peer_skip_echo(slow, ECHO_BYTES);
	reply = peer_reply(slow);
	TEST_ASSERT_EQUAL_INT(1, occurrences(reply, 0));
	TEST_ASSERT_EQUAL_INT(0, occurrences(reply, JOBS - 1));
	ASK(slow, "PING", "+PONG\r\n");
}

static void a_client_may_be_killed_while_its_command_goes_on(void)
{
	begin_slowly("KEYS *");
	ASK(p, "CLIENT KILL TYPE normal SKIPME yes", ":1\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients());
	ASK(p, "PING", "+PONG\r\n");
}

static void a_client_may_leave_while_its_command_goes_on(void)
{
	begin_slowly("KEYS *");
	peer_reset(slow);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
	TEST_ASSERT_EQUAL_INT64(0, waiting_clients());
}

static void the_server_stops_while_a_command_goes_on(void)
{
	begin_slowly("KEYS *");
	peer_send_words(p, "SHUTDOWN NOSAVE");
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

static void a_pause_does_not_stop_a_command_that_has_begun(void)
{
	begin_slowly("KEYS *");
	ASK(p, "CLIENT PAUSE 100000", "+OK\r\n");
	peer_skip_echo(slow, ECHO_BYTES);
	TEST_ASSERT_EQUAL_STRING_LEN("*60002\r\n", peer_reply(slow), 8);
}

static void a_reply_that_grows_over_turns_has_the_same_limits(void)
{
	struct peer *other = peer_connect(&q);

	ASK(p, "CONFIG SET max-reply-size 1mb", "+OK\r\n");
	ASK(p, "KEYS *", "-ERR The reply is larger than max-reply-size (1048576 bytes)\r\n");
	TEST_ASSERT_EQUAL_STRING_LEN("-LIMIT The reply", peer_ask(p, "PEEK q 1000000"), 16);
	ASK(p, "PING", "+PONG\r\n");
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"normal 512kb 0 0\"\r\n");
	peer_expect(p, "+OK\r\n");
	peer_send_words(p, "KEYS *");
	peer_expect_end(p);
	ASK(other, "PING", "+PONG\r\n");
}

static void a_transaction_refuses_what_takes_too_long(void)
{
	const char *reply;

	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ZRANGE ql:q:q-work 0 999", "+QUEUED\r\n");
	ASK(p, "KEYS *", "+QUEUED\r\n");
	ASK(p, "KEYS ql:queues*", "+QUEUED\r\n");
	ASK(p, "PUT w q last k {} 0", "+QUEUED\r\n");
	peer_send_text(p, "EXEC\r\n");
	reply = peer_reply(p);
	TEST_ASSERT_NOT_NULL(strstr(reply, "-ERR The command takes too long for a transaction"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "*1000\r\n"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "$4\r\nlast\r\n"));
}

/* A large COUNT is a wish. */
static void one_scan_returns_a_bounded_number_of_keys(void)
{
	const char *reply = peer_ask(p, "SCAN 0 COUNT 1000000");

	TEST_ASSERT_NULL(strstr(reply, "$1\r\n0\r\n*"));
	expect_short_turns("ZSCAN ql:q:q-work 0 COUNT 30000",
			   "*2\r\n$1\r\n0\r\n*60000\r\n$7\r\nj029999\r\n");
	expect_short_turns("ZSCAN ql:q:q-work 0 COUNT 30000 MATCH j0000*",
			   "*2\r\n$1\r\n0\r\n*200\r\n$7\r\nj000099\r\n");
	ASK_HAS(p, "ZSCAN ql:q:q-work 0 COUNT 1000", "\r\n*2000\r\n$7\r\nj029999\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(long_listings_take_short_turns);
	RUN(a_long_count_takes_short_turns);
	RUN(a_count_that_takes_too_long_for_a_transaction_is_refused);
	RUN(a_crowd_of_long_listings_takes_short_turns);
	RUN(long_listings_of_jobs_take_short_turns);
	RUN(a_long_list_of_channels_takes_short_turns);
	RUN(long_listings_of_names_are_complete);
	RUN(a_check_does_not_hold_others_up);
	RUN(the_usage_is_counted_once);
	RUN(others_go_on_and_later_requests_wait_for_their_turn);
	RUN(jobs_that_stay_in_their_place_are_listed_exactly_once);
	RUN(a_flush_ends_a_listing_early);
	RUN(a_client_may_be_killed_while_its_command_goes_on);
	RUN(a_client_may_leave_while_its_command_goes_on);
	RUN(the_server_stops_while_a_command_goes_on);
	RUN(a_pause_does_not_stop_a_command_that_has_begun);
	RUN(a_reply_that_grows_over_turns_has_the_same_limits);
	RUN(a_transaction_refuses_what_takes_too_long);
	RUN(one_scan_returns_a_bounded_number_of_keys);
	return UNIT_RESULT();
}
