/*
 * Channels and patterns: who receives messages, in which form and order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "util/buf.h"
#include "wait.h"

static struct qlessd q;

void setUp(void)
{
	qlessd_start(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void a_message_reaches_all_subscribers(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q), *c = peer_connect(&q);

	ASK(a, "SUBSCRIBE news sport",
	    "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"
	    "*3\r\n$9\r\nsubscribe\r\n$5\r\nsport\r\n:2\r\n");
	ASK(b, "PSUBSCRIBE n*", "*3\r\n$10\r\npsubscribe\r\n$2\r\nn*\r\n:1\r\n");
	ASK(c, "PUBLISH news hello", ":2\r\n");
	ASK(c, "PUBLISH other hello", ":0\r\n");
	ASK(c, "PUBLISH sport goal", ":1\r\n");
	peer_expect(a, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n"
		       "*3\r\n$7\r\nmessage\r\n$5\r\nsport\r\n$4\r\ngoal\r\n");
	peer_expect(b, "*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
}

/* The subscriptions from before RESET are freed later. */
static void a_client_that_subscribes_again_after_reset_gets_each_message_once(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);
	struct buf request = BUF_INIT(BUF_NO_MAX);

	buf_printf(&request, "*5001\r\n$9\r\nSUBSCRIBE\r\n");
	for (int i = 5000; i < 10000; i++)
		buf_printf(&request, "$4\r\n%d\r\n", i);
	buf_printf(&request, "*1\r\n$5\r\nRESET\r\n*3\r\n$9\r\nSUBSCRIBE\r\n"
			     "$4\r\n9999\r\n$4\r\n5000\r\n");
	peer_send(a, buf_data(&request), request.len);
	buf_done(&request);
	peer_skip_replies(a, 5000);
	peer_expect(a, "+RESET\r\n*3\r\n$9\r\nsubscribe\r\n$4\r\n9999\r\n:1\r\n"
		       "*3\r\n$9\r\nsubscribe\r\n$4\r\n5000\r\n:2\r\n");
	ASK(b, "PUBLISH 9999 hello", ":1\r\n");
	ASK(b, "PUBLISH 9998 hello", ":0\r\n");
	peer_expect(a, "*3\r\n$7\r\nmessage\r\n$4\r\n9999\r\n$5\r\nhello\r\n");
	ASK(a, "PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
	WAIT_UNTIL(peer_ask_number(b, "INFO clients", "ended_subscriptions:") == 0);
	ASK(b, "PUBSUB NUMSUB 9999 9998", "*4\r\n$4\r\n9999\r\n:1\r\n$4\r\n9998\r\n:0\r\n");
}

#define MESSAGE(channel, payload) "*3\r\n$7\r\nmessage\r\n" channel "\r\n" payload "\r\n"
#define PUT_EVENT		  "$40\r\n{\"jid\":\"j\",\"event\":\"put\",\"queue\":\"mail\"}"

static void events_of_a_queue_have_a_channel_of_their_own(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q), *c = peer_connect(&q);

	ASK(a, "SUBSCRIBE ql:q:mail:events",
	    "*3\r\n$9\r\nsubscribe\r\n$16\r\nql:q:mail:events\r\n:1\r\n");
	ASK(b, "SUBSCRIBE ql:log", "*3\r\n$9\r\nsubscribe\r\n$6\r\nql:log\r\n:1\r\n");
	ASK(c, "PUT w other i k {} 0", "$1\r\ni\r\n");
	ASK(c, "PUT w mail j k {} 0", "$1\r\nj\r\n");
	peer_expect(a, MESSAGE("$16\r\nql:q:mail:events", PUT_EVENT));
	peer_skip_replies(b, 1);
	peer_expect(b, MESSAGE("$6\r\nql:log", PUT_EVENT));
	ASK(a, "UNSUBSCRIBE ql:q:mail:events",
	    "*3\r\n$11\r\nunsubscribe\r\n$16\r\nql:q:mail:events\r\n:0\r\n");
	ASK(c, "CANCEL j", "*1\r\n$1\r\nj\r\n");
	/* A pattern that begins like the channels of queues, or earlier. */
	peer_ask(a, "PSUBSCRIBE ql:q:m*:events");
	peer_ask(b, "PSUBSCRIBE q[l]*");
	ASK(c, "PUT w mail j k {} 0", "$1\r\nj\r\n");
	peer_expect(a, "*4\r\n$8\r\npmessage\r\n$14\r\nql:q:m*:events\r\n"
		       "$16\r\nql:q:mail:events\r\n" PUT_EVENT "\r\n");
	peer_skip_replies(b, 4);
}

static void nobody_waits_for_notifications_of_keys(void)
{
	struct peer *a = peer_connect(&q);

	ASK(a, "PSUBSCRIBE __keyevent@0__:expired",
	    "-ERR '__keyevent@0__:expired' would get no message: qlessd is a server for job "
	    "queues, "
	    "not a Redis database; subscribe to ql:log, or to ql:q:<queue>:events for one "
	    "queue\r\n");
	ASK_HAS(a, "PSUBSCRIBE x __key*__:*", "-ERR '__key*__:*' would get no message");
	ASK_HAS(a, "SUBSCRIBE __keyspace@0__:a", "-ERR ");
	ASK(a, "PUBSUB CHANNELS", "*0\r\n");
	ASK_HAS(a, "SUBSCRIBE __keys", "subscribe");
}

static void a_channel_and_a_pattern_deliver_two_messages(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	ASK(a, "SUBSCRIBE x x",
	    "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"
	    "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(a, "PSUBSCRIBE * ?",
	    "*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:2\r\n"
	    "*3\r\n$10\r\npsubscribe\r\n$1\r\n?\r\n:3\r\n");
	ASK(b, "PUBLISH x 1", ":3\r\n");
	peer_expect(a, "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n1\r\n"
		       "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nx\r\n$1\r\n1\r\n"
		       "*4\r\n$8\r\npmessage\r\n$1\r\n?\r\n$1\r\nx\r\n$1\r\n1\r\n");
}

static void in_resp2_a_subscriber_may_run_few_commands(void)
{
	struct peer *a = peer_connect(&q);

	ASK(a, "SUBSCRIBE x", "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(a, "ECHO hi",
	    "-ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
	    "RESET "
	    "are allowed in this context\r\n");
	ASK(a, "CLIENT ID",
	    "-ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT "
	    "/ "
	    "RESET are allowed in this context\r\n");
	ASK(a, "PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
	ASK(a, "PING hi", "*2\r\n$4\r\npong\r\n$2\r\nhi\r\n");
	ASK(a, "UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:0\r\n");
	ASK(a, "PING", "+PONG\r\n");
	ASK(a, "SUBSCRIBE x", "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(a, "RESET", "+RESET\r\n");
	ASK(a, "PUBLISH x 1", ":0\r\n");
	ASK(a, "SUBSCRIBE x", "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(a, "QUIT", "+OK\r\n");
	peer_expect_end(a);
}

static void in_resp3_messages_are_pushed_between_replies(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	peer_ask(a, "HELLO 3");
	ASK(a, "SUBSCRIBE x", ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(a, "PSUBSCRIBE x*", ">3\r\n$10\r\npsubscribe\r\n$2\r\nx*\r\n:2\r\n");
	ASK(a, "ECHO hi", "$2\r\nhi\r\n");
	ASK(a, "PING", "+PONG\r\n");
	ASK(b, "PUBLISH x 1", ":2\r\n");
	peer_expect(a, ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n1\r\n"
		       ">4\r\n$8\r\npmessage\r\n$2\r\nx*\r\n$1\r\nx\r\n$1\r\n1\r\n");
	ASK(a, "UNSUBSCRIBE", ">3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(a, "UNSUBSCRIBE", ">3\r\n$11\r\nunsubscribe\r\n_\r\n:1\r\n");
	ASK(a, "PUNSUBSCRIBE y x*",
	    ">3\r\n$12\r\npunsubscribe\r\n$1\r\ny\r\n:1\r\n"
	    ">3\r\n$12\r\npunsubscribe\r\n$2\r\nx*\r\n:0\r\n");
}

static void a_publisher_receives_its_own_messages(void)
{
	struct peer *a = peer_connect(&q);

	peer_ask(a, "HELLO 3");
	peer_ask(a, "SUBSCRIBE x");
	ASK(a, "PUBLISH x 1", ":1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n1\r\n");
}

/* The reply is an array that grows while jobs complete, and each completion is an event. */
static void an_event_never_interrupts_the_reply_of_a_command(void)
{
	struct peer *a = peer_connect(&q);

	peer_ask(a, "HELLO 3");
	ASK(a, "PUT w q j1 k {} 0", "$2\r\nj1\r\n");
	ASK(a, "PUT w q j2 k {} 0", "$2\r\nj2\r\n");
	peer_ask(a, "POP q w 2");
	peer_ask(a, "SUBSCRIBE ql:log");
	ASK(a, "MULTICOMPLETE w q j1 {} j2 {}",
	    "*2\r\n$8\r\ncomplete\r\n$8\r\ncomplete\r\n>3\r\n$7\r\nmessage\r\n");
}

static void a_message_never_interrupts_the_reply_of_exec(void)
{
	struct peer *a = peer_connect(&q);

	peer_ask(a, "HELLO 3");
	peer_ask(a, "SUBSCRIBE x");
	ASK(a, "MULTI", "+OK\r\n");
	ASK(a, "PUBLISH x 1", "+QUEUED\r\n");
	ASK(a, "PUBLISH x 2", "+QUEUED\r\n");
	ASK(a, "EXEC",
	    "*2\r\n:1\r\n:1\r\n"
	    ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n1\r\n"
	    ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n2\r\n");
}

static void unsubscribing_without_subscriptions_is_confirmed(void)
{
	struct peer *a = peer_connect(&q);

	ASK(a, "UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n");
	ASK(a, "PUNSUBSCRIBE", "*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n");
	ASK(a, "UNSUBSCRIBE a b",
	    "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
	    "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n");
	ASK(a, "PING", "+PONG\r\n");
}

static void pubsub_describes_channels(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	ASK(b, "PUBSUB CHANNELS", "*0\r\n");
	peer_ask(a, "SUBSCRIBE one");
	peer_ask(a, "PSUBSCRIBE o*");
	ASK(b, "PUBSUB CHANNELS", "*1\r\n$3\r\none\r\n");
	ASK(b, "PUBSUB CHANNELS t*", "*0\r\n");
	ASK(b, "PUBSUB NUMSUB one two", "*4\r\n$3\r\none\r\n:1\r\n$3\r\ntwo\r\n:0\r\n");
	ASK(b, "PUBSUB NUMSUB", "*0\r\n");
	ASK(b, "PUBSUB NUMPAT", ":1\r\n");
	ASK(b, "PUBSUB BAD", "-ERR unknown subcommand 'BAD'. Try PUBSUB HELP.\r\n");
	ASK(b, "PUBSUB CHANNELS a b",
	    "-ERR wrong number of arguments for 'pubsub|channels' command (expected: PUBSUB "
	    "CHANNELS "
	    "[pattern])\r\n");
	peer_close(a);
	WAIT_UNTIL(strcmp(peer_ask(b, "PUBSUB NUMPAT"), ":0\r\n") == 0);
	ASK(b, "PUBSUB CHANNELS", "*0\r\n");
}

static void messages_stay_in_order(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);
	char line[64];

	peer_ask(a, "SUBSCRIBE x");
	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof line, "PUBLISH x %04d\r\n", i);
		peer_send_text(b, line);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof line, "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$4\r\n%04d\r\n", i);
		peer_expect(a, line);
		peer_expect(b, ":1\r\n");
	}
}

static void subscriptions_end_with_their_connection(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);
	char line[64];

	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof line, "SUBSCRIBE c%d\r\nPSUBSCRIBE p%d-*\r\n", i, i);
		peer_send_text(a, line);
	}
	peer_skip_replies(a, 10000);
	TEST_ASSERT_EQUAL_INT64(5000, peer_ask_number(b, "INFO stats", "pubsub_channels:"));
	TEST_ASSERT_EQUAL_INT64(5000, peer_ask_number(b, "PUBSUB NUMPAT", ":"));
	ASK(b, "PUBLISH p4999-x 1", ":1\r\n");
	peer_expect(a, "*4\r\n$8\r\npmessage\r\n$7\r\np4999-*\r\n");
	peer_reset(a);
	WAIT_UNTIL(peer_ask_number(b, "INFO stats", "pubsub_channels:") == 0);
	WAIT_UNTIL(peer_ask_number(b, "PUBSUB NUMPAT", ":") == 0);
}

static void a_subscriber_may_be_killed_while_messages_arrive(void)
{
	struct peer *b = peer_connect(&q), *victims[20];
	char line[128];

	for (int i = 0; i < 20; i++) {
		victims[i] = peer_connect(&q);
		snprintf(line, sizeof line, "CLIENT SETNAME v%d", i);
		peer_ask(victims[i], line);
		peer_ask(victims[i], "SUBSCRIBE x");
	}
	peer_send_text(b, "PUBLISH x 1\r\nCLIENT KILL TYPE pubsub\r\nPUBLISH x 2\r\n");
	peer_expect(b, ":20\r\n:20\r\n:0\r\n");
	for (int i = 0; i < 20; i++)
		peer_expect_end(victims[i]);
}

static void messages_arrive_with_replies_off(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	peer_ask(a, "HELLO 3");
	peer_send_text(a, "CLIENT REPLY OFF\r\nSUBSCRIBE x\r\nPING\r\n");
	peer_expect(a, ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(b, "PUBLISH x 1", ":1\r\n");
	peer_expect(a, ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n1\r\n");
	peer_send_text(a, "PUBLISH x 2\r\nCLIENT REPLY ON\r\n");
	peer_expect(a, ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n2\r\n+OK\r\n");
}

static void names_and_messages_may_hold_any_byte(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);
	const char subscribe[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$3\r\na\0b\r\n";
	const char publish[] = "*3\r\n$7\r\nPUBLISH\r\n$3\r\na\0b\r\n$2\r\n\r\n\r\n";
	const char message[] = "*3\r\n$7\r\nmessage\r\n$3\r\na\0b\r\n$2\r\n\r\n\r\n";

	peer_send(a, subscribe, sizeof subscribe - 1);
	peer_skip_replies(a, 1);
	peer_send(b, publish, sizeof publish - 1);
	peer_expect(b, ":1\r\n");
	TEST_ASSERT_EQUAL_MEMORY(message, peer_reply(a), sizeof message);
	ASK(b, "SUBSCRIBE a", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
}

static void a_client_has_a_limited_number_of_subscriptions(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	ASK(b, "CONFIG SET max-subscriptions 3", "+OK\r\n");
	ASK(a, "SUBSCRIBE one two",
	    "*3\r\n$9\r\nsubscribe\r\n$3\r\none\r\n:1\r\n"
	    "*3\r\n$9\r\nsubscribe\r\n$3\r\ntwo\r\n:2\r\n");
	/* All or none. */
	ASK(a, "PSUBSCRIBE p* x*",
	    "-ERR The client has 3 subscriptions, and max-subscriptions allows 3\r\n");
	ASK(b, "PUBSUB NUMPAT", ":0\r\n");
	ASK(a, "SUBSCRIBE one three",
	    "*3\r\n$9\r\nsubscribe\r\n$3\r\none\r\n:2\r\n"
	    "*3\r\n$9\r\nsubscribe\r\n$5\r\nthree\r\n:3\r\n");
	ASK(a, "SUBSCRIBE two", "*3\r\n$9\r\nsubscribe\r\n$3\r\ntwo\r\n:3\r\n");
	TEST_ASSERT_EQUAL_INT64(1,
				peer_ask_number(b, "INFO stats", "pubsub_refused_subscriptions:"));
}

static void patterns_with_the_same_prefix_are_limited(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	ASK(b, "CONFIG SET max-patterns-per-prefix 2", "+OK\r\n");
	peer_ask(a, "HELLO 3");
	peer_ask(b, "HELLO 3");
	ASK(a, "PSUBSCRIBE x:*a", ">3\r\n$10\r\npsubscribe\r\n$4\r\nx:*a\r\n:1\r\n");
	ASK(a, "PSUBSCRIBE x:*b", ">3\r\n$10\r\npsubscribe\r\n$4\r\nx:*b\r\n:2\r\n");
	ASK(b, "PSUBSCRIBE x:*c",
	    "-ERR There are 2 patterns with the literal beginning 'x:', and "
	    "max-patterns-per-prefix allows 2\r\n");
	/* Neither another beginning nor another subscriber is one more to compare. */
	ASK(b, "PSUBSCRIBE x:*b", ">3\r\n$10\r\npsubscribe\r\n$4\r\nx:*b\r\n:1\r\n");
	ASK(b, "PSUBSCRIBE y:*c", ">3\r\n$10\r\npsubscribe\r\n$4\r\ny:*c\r\n:2\r\n");
}

/* Otherwise a channel with a long name would be compared with many patterns for each of its bytes.
 */
static void long_prefixes_are_rounded_down(void)
{
	struct peer *a = peer_connect(&q);

	ASK(a, "CONFIG SET max-patterns-per-prefix 1", "+OK\r\n");
	peer_ask(a, "HELLO 3");
	/* The first 16 bytes count, then the first 24. */
	peer_ask(a, "PSUBSCRIBE ql:w:0123456789ab*");
	ASK(a, "PSUBSCRIBE ql:w:0123456789abcdefgh*",
	    "-ERR There are 1 patterns with the literal beginning 'ql:w:0123456789a', and "
	    "max-patterns-per-prefix allows 1\r\n");
	ASK(a, "PSUBSCRIBE ql:w:0123456789abcdefghi*",
	    ">3\r\n$10\r\npsubscribe\r\n$25\r\nql:w:0123456789abcdefghi*\r\n:2\r\n");
	ASK(a, "PUBSUB NUMPAT", ":2\r\n");
	ASK(a, "PUNSUBSCRIBE ql:w:0123456789ab*",
	    ">3\r\n$12\r\npunsubscribe\r\n$18\r\nql:w:0123456789ab*\r\n:1\r\n");
	ASK(a, "PSUBSCRIBE ql:w:0123456789abcdefgh*",
	    ">3\r\n$10\r\npsubscribe\r\n$24\r\nql:w:0123456789abcdefgh*\r\n:2\r\n");
}

#define EVENTS 2000

/* Returns the microseconds of processor time of a command that publishes many events on ql:log. */
static int64_t time_of_events(struct peer *a)
{
	static char words[EVENTS * 20 + 100];
	size_t len = (size_t)snprintf(words, sizeof words, "MULTIPUT w q 0 jobs");

	for (int i = 0; i < EVENTS; i++)
		len += (size_t)snprintf(words + len, sizeof words - len, " j%d k {}", i);
	snprintf(words + len, sizeof words - len, "\r\n");
	peer_ask(a, "CONFIG RESETSTAT");
	peer_send_text(a, words);
	peer_skip_replies(a, 1);
	return peer_ask_number(a, "INFO stats", "eventloop_cpu_max:");
}

static void subscribe_to_patterns_like(struct peer *b, size_t prefix)
{
	char words[2000];
	size_t len = (size_t)snprintf(words, sizeof words, "PSUBSCRIBE");

	for (int i = 0; i < 90; i++)
		len += (size_t)snprintf(words + len, sizeof words - len, " %.*s*x*y*%d",
					(int)prefix, "ql:log", i);
	peer_send_words(b, words);
	peer_skip_replies(b, 90);
}

static void many_events_on_a_channel_are_compared_with_patterns_once(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);
	int64_t alone_us = time_of_events(a);

	for (size_t prefix = 0; prefix <= 6; prefix++)
		subscribe_to_patterns_like(b, prefix);
	ASK(a, "PUBSUB NUMPAT", ":630\r\n");
	/* Without memory of the channel, it takes ten times as long. */
	TEST_ASSERT_LESS_THAN_INT64(4 * alone_us + 2000, time_of_events(a));
	/* A pattern that comes later is compared, too. */
	peer_ask(b, "PSUBSCRIBE ql:l?g");
	ASK(a, "PUT w q one k {} 0", "$3\r\none\r\n");
	peer_expect(b, "*4\r\n$8\r\npmessage\r\n$6\r\nql:l?g\r\n$6\r\nql:log\r\n");
}

static void long_patterns_and_channels_are_refused(void)
{
	struct peer *a = peer_connect(&q);
	char text[6000], words[6100];

	memset(text, '*', sizeof text);
	text[1025] = '\0';
#define ASK_LONG(error, ...)                                \
	do {                                                \
		snprintf(words, sizeof words, __VA_ARGS__); \
		ASK(a, words, error);                       \
	} while (0)
#define TOO_LONG "-ERR The pattern has 1025 bytes, and max-pattern-length allows 1024\r\n"
	ASK_LONG(TOO_LONG, "PSUBSCRIBE %s", text);
	ASK_LONG(TOO_LONG, "KEYS %s", text);
	ASK_LONG(TOO_LONG, "SCAN 0 MATCH %s", text);
	ASK_LONG(TOO_LONG, "CONFIG GET %s", text);
	ASK_LONG(TOO_LONG, "COMMAND LIST FILTERBY PATTERN %s", text);
	ASK_LONG(TOO_LONG, "PUBSUB CHANNELS %s", text);
	memset(text, 'c', sizeof text);
	text[4097] = '\0';
#undef TOO_LONG
#define TOO_LONG "-ERR The channel has 4097 bytes, and max-channel-length allows 4096\r\n"
	ASK_LONG(TOO_LONG, "SUBSCRIBE %s", text);
	ASK_LONG(TOO_LONG, "PUBLISH %s m", text);
#undef TOO_LONG
#undef ASK_LONG
}

static void messages_reach_patterns_with_any_prefix(void)
{
	struct peer *a = peer_connect(&q), *b = peer_connect(&q);

	peer_ask(a, "HELLO 3");
	peer_send_words(a, "PSUBSCRIBE * a* ab* abc abcd* b* a[b]c");
	peer_skip_replies(a, 7);
	ASK(b, "PUBLISH abc 1", ":5\r\n");
	ASK(b, "PUBLISH a 1", ":2\r\n");
	ASK(b, "PUBLISH abcde 1", ":4\r\n");
	peer_send_words(a, "PUNSUBSCRIBE abcd* a*");
	ASK(b, "PUBLISH abcde 1", ":2\r\n");
}

/* ---- more deliveries than one turn allows ---- */

#define LISTENERS  20
#define JOB_EVENTS 5000

static struct peer *listeners[LISTENERS];

static void begin_listening(const char *words)
{
	for (int i = 0; i < LISTENERS; i++) {
		listeners[i] = peer_connect(&q);
		peer_ask(listeners[i], words);
	}
}

/* Appends a MULTIPUT, which publishes an event for each job. */
static void append_events(struct buf *b)
{
	buf_printf(b, "*%d\r\n$8\r\nMULTIPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$1\r\n0\r\n$4\r\njobs\r\n",
		   5 + 3 * JOB_EVENTS);
	for (int i = 0; i < JOB_EVENTS; i++)
		buf_printf(b, "$4\r\n%04d\r\n$1\r\nk\r\n$2\r\n{}\r\n", i);
}

static void send_events_and(struct peer *p, const char *text)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	append_events(&b);
	buf_append_str(&b, str_from(text));
	peer_send(p, buf_data(&b), b.len);
	buf_done(&b);
}

static void expect_events(struct peer *p, int from)
{
	char event[64];

	for (int i = from; i < JOB_EVENTS; i++) {
		snprintf(event, sizeof event, "{\"jid\":\"%04d\",\"event\":\"put\"", i);
		TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), event));
	}
}

static int64_t backlog(struct peer *p)
{
	return peer_ask_number(p, "INFO clients", "pubsub_backlog_bytes:");
}

static void many_messages_to_many_subscribers_keep_their_order(void)
{
	struct peer *p = peer_connect(&q), *late = peer_connect(&q);

	begin_listening("SUBSCRIBE ql:log");
	ASK_HAS(late, "HELLO 3", "proto");
	/* One that subscribes after the events were published gets none of them. */
	send_events_and(late, "SUBSCRIBE ql:log\r\nPSUBSCRIBE ql:*\r\n");
	TEST_ASSERT_EQUAL_INT('*', peer_reply(late)[0]);
	peer_expect(late, ">3\r\n$9\r\nsubscribe\r\n$6\r\nql:log\r\n:1\r\n"
			  ">3\r\n$10\r\npsubscribe\r\n$4\r\nql:*\r\n:2\r\n");
	for (int i = 0; i < LISTENERS; i++)
		expect_events(listeners[i], 0);
	peer_ask(p, "PUT w q last k {} 0");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(late), "{\"jid\":\"last\""));
	TEST_ASSERT_EQUAL_INT64(0, backlog(p));
}

static void many_messages_to_many_patterns_keep_their_order(void)
{
	begin_listening("PSUBSCRIBE ql:l?g ql:l*");
	for (int i = 0; i < LISTENERS; i++)
		peer_skip_replies(listeners[i], 1);
	send_events_and(peer_connect(&q), "");
	for (int i = 0; i < LISTENERS; i++) {
		for (int k = 0; k < JOB_EVENTS; k++) {
			char event[64];

			snprintf(event, sizeof event, "{\"jid\":\"%04d\"", k);
			TEST_ASSERT_NOT_NULL(strstr(peer_reply(listeners[i]), event));
			TEST_ASSERT_NOT_NULL(strstr(peer_reply(listeners[i]), event));
		}
	}
}

static void publish_waits_until_its_message_has_arrived(void)
{
	struct peer *p = peer_connect(&q);

	begin_listening("SUBSCRIBE ql:log news");
	for (int i = 0; i < LISTENERS; i++)
		peer_skip_replies(listeners[i], 1);
	send_events_and(p, "PUBLISH news hello\r\nPUBLISH nobody hello\r\nPING\r\n");
	TEST_ASSERT_EQUAL_INT('*', peer_reply(p)[0]);
	peer_expect(p, ":20\r\n:0\r\n+PONG\r\n");
	for (int i = 0; i < LISTENERS; i++) {
		expect_events(listeners[i], 0);
		peer_expect(listeners[i], "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
	}
}

static void a_client_that_unsubscribes_gets_no_message_that_still_waits(void)
{
	struct peer *p = peer_connect(&q);
	const char *reply;

	ASK_HAS(p, "HELLO 3", "proto");
	begin_listening("SUBSCRIBE ql:log");
	peer_ask(p, "SUBSCRIBE ql:log");
	begin_listening("SUBSCRIBE ql:log");
	send_events_and(p, "UNSUBSCRIBE ql:log\r\nPING\r\n");
	do
		reply = peer_reply(p);
	while (strstr(reply, "unsubscribe") == NULL);
	peer_expect(p, "+PONG\r\n");
	for (int i = 0; i < LISTENERS; i++)
		expect_events(listeners[i], 0);
	ASK(p, "PING", "+PONG\r\n");
}

static void clients_may_end_while_messages_wait_for_them(void)
{
	struct peer *p = peer_connect(&q);

	for (int i = 0; i < 2; i++) {
		begin_listening(i == 0 ? "SUBSCRIBE ql:log" : "PSUBSCRIBE ql:*");
		send_events_and(p, "CLIENT KILL TYPE pubsub\r\n");
		TEST_ASSERT_EQUAL_INT('*', peer_reply(p)[0]);
		peer_expect(p, ":20\r\n");
		WAIT_UNTIL(backlog(p) == 0 &&
			   peer_ask_number(p, "INFO clients", "ended_subscriptions:") == 0);
		ASK(p, "PUBSUB NUMSUB ql:log", "*2\r\n$6\r\nql:log\r\n:0\r\n");
		ASK(p, "PUBSUB NUMPAT", ":0\r\n");
	}
}

static void subscribers_are_closed_if_too_many_messages_wait(void)
{
	static const char *const commands[] = { "SUBSCRIBE ql:log", "PSUBSCRIBE ql:l*" };
	struct peer *p = peer_connect(&q), *other = peer_connect(&q);

	ASK(p, "CONFIG SET pubsub-backlog-limit 65536", "+OK\r\n");
	peer_ask(other, "SUBSCRIBE other");
	for (int i = 0; i < 2; i++) {
		begin_listening(commands[i]);
		send_events_and(p, "");
		TEST_ASSERT_EQUAL_INT('*', peer_reply(p)[0]);
		for (int k = 0; k < LISTENERS; k++) {
			while (peer_gets_more(listeners[k]))
				peer_skip(listeners[k], 1);
		}
		ASK(p, "PUBLISH other hello", ":1\r\n");
		peer_expect(other, "*3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$5\r\nhello\r\n");
		WAIT_UNTIL(backlog(p) == 0);
	}
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "pubsub-backlog-limit"));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "reaching client-output-buffer-limit"));
}

static void a_transaction_does_not_wait_for_its_messages(void)
{
	struct peer *p = peer_connect(&q);

	begin_listening("SUBSCRIBE ql:log news");
	for (int i = 0; i < LISTENERS; i++)
		peer_skip_replies(listeners[i], 1);
	send_events_and(p, "MULTI\r\nPUBLISH news hello\r\nEXEC\r\n");
	TEST_ASSERT_EQUAL_INT('*', peer_reply(p)[0]);
	peer_expect(p, "+OK\r\n+QUEUED\r\n*1\r\n:");
	for (int i = 0; i < LISTENERS; i++) {
		expect_events(listeners[i], 0);
		peer_expect(listeners[i], "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
	}
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_message_reaches_all_subscribers);
	RUN(a_client_that_subscribes_again_after_reset_gets_each_message_once);
	RUN(events_of_a_queue_have_a_channel_of_their_own);
	RUN(many_messages_to_many_subscribers_keep_their_order);
	RUN(many_messages_to_many_patterns_keep_their_order);
	RUN(publish_waits_until_its_message_has_arrived);
	RUN(a_client_that_unsubscribes_gets_no_message_that_still_waits);
	RUN(clients_may_end_while_messages_wait_for_them);
	RUN(subscribers_are_closed_if_too_many_messages_wait);
	RUN(a_transaction_does_not_wait_for_its_messages);
	RUN(nobody_waits_for_notifications_of_keys);
	RUN(a_channel_and_a_pattern_deliver_two_messages);
	RUN(in_resp2_a_subscriber_may_run_few_commands);
	RUN(in_resp3_messages_are_pushed_between_replies);
	RUN(a_publisher_receives_its_own_messages);
	RUN(an_event_never_interrupts_the_reply_of_a_command);
	RUN(a_message_never_interrupts_the_reply_of_exec);
	RUN(unsubscribing_without_subscriptions_is_confirmed);
	RUN(pubsub_describes_channels);
	RUN(messages_stay_in_order);
	RUN(subscriptions_end_with_their_connection);
	RUN(a_subscriber_may_be_killed_while_messages_arrive);
	RUN(messages_arrive_with_replies_off);
	RUN(names_and_messages_may_hold_any_byte);
	RUN(a_client_has_a_limited_number_of_subscriptions);
	RUN(patterns_with_the_same_prefix_are_limited);
	RUN(long_prefixes_are_rounded_down);
	RUN(many_events_on_a_channel_are_compared_with_patterns_once);
	RUN(long_patterns_and_channels_are_refused);
	RUN(messages_reach_patterns_with_any_prefix);
	return UNIT_RESULT();
}
