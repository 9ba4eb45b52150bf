/*
 * The protocol: requests in every shape that networks and clients produce.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"

static struct qlessd q;
static struct ahead ahead;

void setUp(void)
{
	ahead_init(&ahead);
	qlessd_start(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

static void a_request_may_come_byte_by_byte(void)
{
	struct peer *p = peer_connect(&q);
	const char *request = "*2\r\n$4\r\nECHO\r\n$6\r\nab\r\ncd\r\nPING\r\n";

	for (const char *at = request; *at != '\0'; at++)
		peer_send(p, at, 1);
	peer_expect(p, "$6\r\nab\r\ncd\r\n+PONG\r\n");
}

static void a_request_may_be_cut_anywhere(void)
{
	const char *request = "*2\r\n$5\r\nHELLO\r\n$1\r\n4\r\nPING 'a b'\r\n\r\n"
			      "*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n";
	struct peer *p = peer_connect(&q), *other = peer_connect(&q);

	for (size_t cut = 1; cut < strlen(request); cut++) {
		peer_send(p, request, cut);
		/* The server answers in order: when the other client has its reply, this part
		 * has been read. */
		ASK(other, "PING", "+PONG\r\n");
		peer_send_text(p, request + cut);
		peer_expect(p, "-NOPROTO unsupported protocol version\r\n$3\r\na b\r\n+PONG\r\n");
	}
}

static void ten_thousand_requests_in_one_write_are_all_answered_in_order(void)
{
	struct peer *p = peer_connect(&q);
	char *requests = malloc(10000 * 32), line[32];
	size_t used = 0;

	for (int i = 0; i < 10000; i++)
		used += (size_t)sprintf(requests + used, "*2\r\n$4\r\nECHO\r\n$5\r\n%05d\r\n", i);
	peer_send(p, requests, used);
	free(requests);
	for (int i = 0; i < 10000; i++) {
		snprintf(line, sizeof line, "$5\r\n%05d\r\n", i);
		peer_expect(p, line);
	}
}

static void replies_arrive_after_the_peer_has_shut_down_writing(void)
{
	struct peer *p = peer_connect(&q);

	for (int i = 0; i < 3000; i++)
		peer_send_text(p, "PING\r\n");
	peer_shutdown(p);
	for (int i = 0; i < 3000; i++)
		peer_expect(p, "+PONG\r\n");
	peer_expect_end(p);
}

static void an_incomplete_request_at_the_end_does_not_run(void)
{
	struct peer *p = peer_connect(&q);

	peer_send_text(p, "PING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nx");
	peer_shutdown(p);
	peer_expect(p, "+PONG\r\n");
	peer_expect_end(p);
}

static void large_replies_arrive_after_the_peer_has_shut_down_writing(void)
{
	struct peer *p = peer_connect(&q);
	size_t len = (size_t)8 * 1024 * 1024;
	char *bytes = malloc(len);

	memset(bytes, 'x', len);
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$8388608\r\n");
	peer_send(p, bytes, len);
	peer_send_text(p, "\r\n");
	peer_shutdown(p);
	free(bytes);
	peer_expect(p, "$8388608\r\n");
	peer_skip(p, len);
	peer_expect(p, "\r\n");
	peer_expect_end(p);
	ASK(peer_connect(&q), "CONFIG SET proto-max-bulk-len 8mb client-query-buffer-limit 16mb",
	    "+OK\r\n");
}

/* The kernel resets a connection that is closed while input is unread, and drops its unsent
 * output. */
static void replies_arrive_although_input_is_left_unread(void)
{
	struct peer *p;
	size_t len = (size_t)2 * 1024 * 1024;
	char *bytes = malloc(len);

	peer_connect_small_buffers(true);
	p = peer_connect(&q);
	memset(bytes, 'x', len);
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$2097152\r\n");
	peer_send(p, bytes, len);
	peer_send_text(p, "\r\nQUIT\r\n");
	peer_try_send(p, bytes, len);
	free(bytes);
	peer_expect(p, "$2097152\r\n");
	/* Read slowly: the rest waits in the kernel after the server has finished. */
	for (size_t part = len / 16; len != 0; len -= part) {
		peer_skip(p, part);
		wait_ms(5);
	}
	peer_expect(p, "\r\n+OK\r\n");
	peer_expect_end(p);
}

/* Bytes of output that wait for the client `slow`. */
static int64_t pending_for_slow(struct peer *asker)
{
	const char *line = strstr(peer_ask(asker, "CLIENT LIST"), "name=slow");

	TEST_ASSERT_NOT_NULL(line);
	return strtoll(strstr(line, " obl=") + 5, NULL, 10);
}

static void last_replies_may_be_read_slowly(void)
{
	struct peer *p, *asker;
	size_t len = (size_t)48 * 1024 * 1024, part = (size_t)1024 * 1024, taken = 0;
	char *bytes = malloc(len);

	qlessd_stop(&q);
	AHEAD_START(&q, "--timeout", "0");
	asker = peer_connect(&q);
	peer_connect_small_buffers(true);
	p = peer_connect(&q);
	ASK(p, "CLIENT SETNAME slow", "+OK\r\n");
	ASK(p, "CONFIG SET proto-max-bulk-len 64mb client-query-buffer-limit 64mb", "+OK\r\n");
	memset(bytes, 'x', len);
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$50331648\r\n");
	peer_send_blindly(p, bytes, len);
	peer_send_text(p, "\r\n");
	peer_shutdown(p);
	free(bytes);
	peer_expect(p, "$50331648\r\n");
	/* Twice the ten seconds that a connection may stay without reading. */
	for (int i = 0; i < 7; i++) {
		int64_t before = pending_for_slow(asker);

		ahead_pass(&ahead, &q, 3);
		while (pending_for_slow(asker) >= before) {
			taken += part;
			TEST_ASSERT_LESS_THAN_size_t(len, taken);
			peer_skip(p, part);
		}
	}
	peer_skip(p, len - taken);
	peer_expect(p, "\r\n");
	peer_expect_end(p);
}

/* Send bytes, expect the error, and then the end. */
static void expect_protocol_error(const char *bytes, const char *error)
{
	struct peer *p = peer_connect(&q);

	peer_send_text(p, "PING\r\n");
	peer_send_text(p, bytes);
	peer_expect(p, "+PONG\r\n");
	peer_expect(p, error);
	peer_expect_end(p);
	peer_close(p);
}

static void malformed_requests_get_an_error_and_a_close(void)
{
	expect_protocol_error(
		"*131073\r\n",
		"-ERR Protocol error: invalid multibulk length: over client-max-arguments\r\n");
	expect_protocol_error("*99999999999999999999\r\n",
			      "-ERR Protocol error: invalid multibulk length\r\n");
	expect_protocol_error("*abc\r\n", "-ERR Protocol error: invalid multibulk length\r\n");
	expect_protocol_error("*1\r\nPING\r\n", "-ERR Protocol error: expected '$', got 'P'\r\n");
	expect_protocol_error("*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n");
	expect_protocol_error(
		"*1\r\n$8388609\r\n",
		"-ERR Protocol error: invalid bulk length: over proto-max-bulk-len\r\n");
	expect_protocol_error("*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n");
	expect_protocol_error("*1\r\n$4\r\nPINGxx",
			      "-ERR Protocol error: expected CRLF after bulk\r\n");
	expect_protocol_error("PING \"abc\r\n",
			      "-ERR Protocol error: unbalanced quotes in request\r\n");
	expect_protocol_error("PING \"a\"b\r\n",
			      "-ERR Protocol error: unbalanced quotes in request\r\n");
}

static void endless_lines_are_too_long(void)
{
	char *bytes = calloc(1, 70000);

	memset(bytes, 'x', 69999);
	expect_protocol_error(bytes, "-ERR Protocol error: too big inline request\r\n");
	memset(bytes, '1', 69999);
	bytes[0] = '*';
	expect_protocol_error(bytes, "-ERR Protocol error: too big mbulk count string\r\n");
	memcpy(bytes, "*1\r\n$", 5);
	expect_protocol_error(bytes, "-ERR Protocol error: too big bulk count string\r\n");
	free(bytes);
}

static void an_error_arrives_while_the_peer_keeps_sending(void)
{
	struct peer *p = peer_connect(&q);
	char junk[8192];

	memset(junk, 'y', sizeof junk);
	peer_send_text(p, "*1\r\n$999999999999\r\n");
	for (int i = 0; i < 64 && !peer_has_input(p, 0); i++)
		peer_try_send(p, junk, sizeof junk);
	peer_expect(p, "-ERR Protocol error: invalid bulk length: over proto-max-bulk-len\r\n");
	peer_expect_end(p);
}

static void long_unknown_names_are_quoted_in_part(void)
{
	struct peer *p = peer_connect(&q);
	char *name = malloc(200001);
	const char *reply;

	peer_send_text(p, "*1\r\n$200000\r\n");
	memset(name, 'n', 200000);
	peer_send(p, name, 200000);
	peer_send_text(p, "\r\n");
	free(name);
	reply = peer_reply(p);
	TEST_ASSERT_EQUAL_INT(0, strncmp(reply, "-ERR unknown command 'nnn", 25));
	TEST_ASSERT_LESS_THAN(300, strlen(reply));
	ASK(p, "a b", "-ERR unknown command 'a', with args beginning with: 'b' \r\n");
	peer_send_text(p, "*1\r\n$0\r\n\r\n");
	peer_expect(p, "-ERR unknown command '', with args beginning with: \r\n");
	peer_send_text(p, "*1\r\n$5\r\na\r\nb\n\r\n");
	TEST_ASSERT_EQUAL_STRING("-ERR unknown command 'a  b ', with args beginning with: \r\n",
				 peer_reply(p));
}

static void random_bytes_do_no_harm(void)
{
	unsigned long long seed = 20;
	struct peer *alive = peer_connect(&q);

	for (int round = 0; round < 200; round++) {
		struct peer *p = peer_connect(&q);
		char bytes[600];
		size_t len = unit_random(&seed) % sizeof bytes;

		for (size_t i = 0; i < len; i++)
			bytes[i] = unit_random(&seed) % 3 != 0
					   ? (char)unit_random(&seed)
					   : "*$\r\n0123-\"' "[unit_random(&seed) % 12];
		peer_try_send(p, bytes, len);
		if (round % 2 == 0)
			peer_shutdown(p);
		if (round % 4 == 0)
			peer_reset(p);
		else
			peer_close(p);
	}
	ASK(alive, "PING", "+PONG\r\n");
	WAIT_UNTIL(peer_ask_number(alive, "INFO clients", "connected_clients:") == 1);
}

static void requests_of_browsers_close_the_connection(void)
{
	struct peer *p = peer_connect(&q);

	peer_send_text(p, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSHUTDOWN\r\n");
	peer_expect_end(p);
	p = peer_connect(&q);
	peer_send_text(p, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nSHUTDOWN\r\n");
	peer_expect_end(p);
	p = peer_connect(&q);
	ASK(p, "PING", "+PONG\r\n");
	if (q.pid > 0)
		TEST_ASSERT_TRUE(qlessd_has_logged(&q, "HTTP"));
}

static void inline_commands_may_have_quotes(void)
{
	struct peer *p = peer_connect(&q);

	peer_send_text(p, "\r\n\n   \r\n  echo   \"a b\\x41\\n\\\"\"  \n");
	peer_expect(p, "$6\r\na bA\n\"\r\n");
	peer_send_text(p, "ECHO 'it\\'s \\n'\r\nECHO ''\r\n");
	peer_expect(p, "$7\r\nit's \\n\r\n$0\r\n\r\n");
	peer_send_text(p, "PING\tx\r\n");
	peer_expect(p, "$1\r\nx\r\n");
}

static void an_argument_may_hold_any_byte(void)
{
	struct peer *p = peer_connect(&q);
	char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$256\r\n");
	peer_send(p, bytes, sizeof bytes);
	peer_send_text(p, "\r\n");
	TEST_ASSERT_EQUAL_MEMORY(bytes, peer_reply(p) + 6, sizeof bytes);
}

static void hello_switches_to_resp3(void)
{
	struct peer *p = peer_connect(&q);
	const char *reply;

	ASK(p, "CLIENT GETNAME", "$-1\r\n");
	reply = peer_ask(p, "HELLO 3");
	TEST_ASSERT_EQUAL_INT('%', reply[0]);
	TEST_ASSERT_NOT_NULL(strstr(reply, "$5\r\nproto\r\n:3\r\n"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "$6\r\nserver\r\n$5\r\nredis\r\n"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "$7\r\nversion\r\n$5\r\n7.0"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "$4\r\nmode\r\n$10\r\nstandalone\r\n"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "$4\r\nrole\r\n$6\r\nmaster\r\n"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "$7\r\nmodules\r\n*0\r\n"));
	ASK(p, "CLIENT GETNAME", "_\r\n");
	TEST_ASSERT_EQUAL_INT('=', peer_ask(p, "CLIENT INFO")[0]);
	TEST_ASSERT_EQUAL_INT('*', peer_ask(p, "HELLO 2")[0]);
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
}

static void limits_of_requests_follow_the_configuration(void)
{
	struct peer *p = peer_connect(&q);

	ASK(p, "CONFIG SET proto-max-bulk-len 1024 client-max-arguments 16 max-inline-length 1024",
	    "+OK\r\n");
	expect_protocol_error(
		"*17\r\n",
		"-ERR Protocol error: invalid multibulk length: over client-max-arguments\r\n");
	expect_protocol_error(
		"*1\r\n$1025\r\n",
		"-ERR Protocol error: invalid bulk length: over proto-max-bulk-len\r\n");
	ASK(p, "CONFIG SET proto-max-bulk-len 8mb client-max-arguments 131072", "+OK\r\n");
	ASK(p, "CONFIG SET max-inline-length 64kb", "+OK\r\n");
}

static void a_request_may_have_very_many_arguments(void)
{
	struct peer *p = peer_connect(&q);
	size_t used = 0, count = 130000;
	char *bytes = malloc(count * 8 + 100);

	used += (size_t)sprintf(bytes, "*%zu\r\n$4\r\nPING\r\n", count + 1);
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(bytes + used, "$1\r\na\r\n");
	peer_send(p, bytes, used);
	free(bytes);
	peer_expect(
		p,
		"-ERR wrong number of arguments for 'ping' command (expected: PING [message])\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_request_may_come_byte_by_byte);
	RUN(a_request_may_be_cut_anywhere);
	RUN(ten_thousand_requests_in_one_write_are_all_answered_in_order);
	RUN(replies_arrive_after_the_peer_has_shut_down_writing);
	RUN(an_incomplete_request_at_the_end_does_not_run);
	RUN(large_replies_arrive_after_the_peer_has_shut_down_writing);
	RUN(replies_arrive_although_input_is_left_unread);
	RUN(last_replies_may_be_read_slowly);
	RUN(malformed_requests_get_an_error_and_a_close);
	RUN(endless_lines_are_too_long);
	RUN(an_error_arrives_while_the_peer_keeps_sending);
	RUN(long_unknown_names_are_quoted_in_part);
	RUN(random_bytes_do_no_harm);
	RUN(requests_of_browsers_close_the_connection);
	RUN(inline_commands_may_have_quotes);
	RUN(an_argument_may_hold_any_byte);
	RUN(hello_switches_to_resp3);
	RUN(limits_of_requests_follow_the_configuration);
	RUN(a_request_may_have_very_many_arguments);
	return UNIT_RESULT();
}
