/*
 * Replies that would be larger than the memory of the server.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"

/* Bytes of the data of a large job. */
#define LARGE ((size_t)1024 * 1024)
/* The largest jobs that the default of max-reply-size allows in a reply, and more than that. */
#define MANY 600
/* Kilobytes that the server may use when it refuses replies of 600 MB. */
#define MEMORY_MAX_KB (500 * 1024)

static struct qlessd q;
static struct peer *p;

void setUp(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void put_large(const char *jid)
{
	char *data = malloc(LARGE), head[128];

	memset(data, 'x', LARGE);
	data[0] = data[LARGE - 1] = '"';
	snprintf(head, sizeof head, "*7\r\n$3\r\nPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$%zu\r\n%s\r\n",
		 strlen(jid), jid);
	peer_send_text(p, head);
	snprintf(head, sizeof head, "$1\r\nk\r\n$%zu\r\n", LARGE);
	peer_send_text(p, head);
	peer_send(p, data, LARGE);
	peer_send_text(p, "\r\n$1\r\n0\r\n");
	free(data);
	TEST_ASSERT_EQUAL_INT('$', peer_reply(p)[0]);
}

/* Send a command whose last argument comes `count` times. */
static void send_repeated(const char *words, int words_count, const char *word, int count)
{
	char text[128];

	snprintf(text, sizeof text, "*%d\r\n", words_count + count);
	peer_send_text(p, text);
	peer_send_text(p, words);
	snprintf(text, sizeof text, "$%zu\r\n%s\r\n", strlen(word), word);
	for (int i = 0; i < count; i++)
		peer_send_text(p, text);
}

static void expect_little_memory(void)
{
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN(MEMORY_MAX_KB, qlessd_proc_status(&q, "VmHWM"));
	TEST_ASSERT_EQUAL_INT64(
		0, peer_ask_number(p, "INFO stats", "client_output_buffer_limit_disconnections:"));
}

static int64_t calls_of(const char *command)
{
	char field[64];

	snprintf(field, sizeof field, "cmdstat_%s:calls=", command);
	return peer_ask_number(p, "INFO commandstats", field);
}

static void the_same_large_job_many_times_is_an_error(void)
{
	put_large("j");
	send_repeated("$8\r\nMULTIGET\r\n", 1, "j", MANY);
	peer_expect(p, "-LIMIT The reply is larger than max-reply-size (268435456 bytes)\r\n");
	ASK(p, "PING", "+PONG\r\n");
	expect_little_memory();
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO stats", "replies_too_large:"));
}

static void the_same_large_field_many_times_is_an_error(void)
{
	put_large("j");
	send_repeated("$5\r\nHMGET\r\n$6\r\nql:j:j\r\n", 2, "data", MANY);
	peer_expect(p, "-ERR The reply is larger than max-reply-size (268435456 bytes)\r\n");
	ASK(p, "PING", "+PONG\r\n");
	expect_little_memory();
}

static void a_large_reply_is_an_error_in_each_form(void)
{
	const char *reply;

	put_large("j");
	ASK(p, "CONFIG SET max-reply-size 1mb", "+OK\r\n");
	ASK(p, "QLESS multiget 0 j j",
	    "-ERR The reply is larger than max-reply-size (1048576 bytes)\r\n");
	reply = peer_ask(p, "QLESS peek 0 q 10");
	TEST_ASSERT_EQUAL_STRING_LEN("-ERR The reply is larger", reply, 24);
	ASK(p, "MULTIGET none", "$2\r\n[]\r\n");
}

/* Commands that read are not even run once a reply was too large, but those that change something
 * are: all changes of a transaction are made. */
static void a_transaction_stops_reading_when_its_reply_is_too_large(void)
{
	put_large("j");
	ASK(p, "MULTI", "+OK\r\n");
	for (int i = 0; i < MANY; i++)
		ASK(p, i % 2 == 0 ? "GET j" : "QLESS get 0 j", "+QUEUED\r\n");
	ASK(p, "PUT w q last k {} 0", "+QUEUED\r\n");
	peer_send_text(p, "EXEC\r\n");
	peer_expect(p, "*601\r\n");
	for (int i = 0; i < MANY; i++)
		peer_reply(p);
	peer_expect(p, "$4\r\nlast\r\n");
	ASK(p, "EXISTS ql:j:last", ":1\r\n");
	TEST_ASSERT_LESS_THAN(MANY / 2, calls_of("get"));
	expect_little_memory();
}

static void a_pop_hands_out_as_many_jobs_as_a_reply_holds(void)
{
	int64_t popped;

	for (int i = 0; i < 40; i++) {
		char jid[16];

		snprintf(jid, sizeof jid, "j%d", i);
		put_large(jid);
	}
	ASK(p, "CONFIG SET max-reply-size 64mb", "+OK\r\n");
	peer_send_text(p, "POP q w 1000\r\n");
	TEST_ASSERT_EQUAL_INT('$', peer_reply(p)[0]);
	popped = peer_ask_number(p, "ZCARD ql:q:q-locks", ":");
	TEST_ASSERT_GREATER_THAN_INT64(0, popped);
	TEST_ASSERT_LESS_THAN_INT64(40, popped);
	/* A job that is larger than the room of a reply is handed out alone. */
	ASK(p, "CONFIG SET max-reply-size 1mb", "+OK\r\n");
	peer_send_text(p, "POP q w 1000\r\n");
	TEST_ASSERT_EQUAL_INT('$', peer_reply(p)[0]);
	TEST_ASSERT_EQUAL_INT64(popped + 1, peer_ask_number(p, "ZCARD ql:q:q-locks", ":"));
}

/* Each run makes a job with data of its own. */
static void a_peek_makes_few_large_jobs_of_a_late_recurring_job(void)
{
	char *data = malloc(LARGE), head[128];
	int64_t made;

	memset(data, 'x', LARGE);
	data[0] = data[LARGE - 1] = '"';
	peer_send_text(p, "*10\r\n$5\r\nQLESS\r\n$5\r\nrecur\r\n$4\r\n1000\r\n$1\r\nq\r\n"
			  "$1\r\nr\r\n$1\r\nk\r\n");
	snprintf(head, sizeof head, "$%zu\r\n", LARGE);
	peer_send_text(p, head);
	peer_send(p, data, LARGE);
	free(data);
	peer_send_text(p, "\r\n$8\r\ninterval\r\n$1\r\n1\r\n$1\r\n0\r\n");
	peer_expect(p, "$1\r\nr\r\n");
	peer_send_text(p, "PEEK q 1000\r\n");
	TEST_ASSERT_EQUAL_INT('$', peer_reply(p)[0]);
	made = peer_ask_number(p, "LENGTH q", ":");
	TEST_ASSERT_GREATER_THAN_INT64(0, made);
	TEST_ASSERT_LESS_THAN_INT64(10, made);
	expect_little_memory();
}

static void a_transaction_without_room_pops_no_job(void)
{
	const char *reply;

	put_large("j");
	ASK(p, "CONFIG SET max-reply-size 1mb", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "MULTIGET j j", "+QUEUED\r\n");
	ASK(p, "POP q w 1", "+QUEUED\r\n");
	peer_send_text(p, "EXEC\r\n");
	reply = peer_reply(p);
	TEST_ASSERT_NOT_NULL(strstr(reply, "-LIMIT The reply is larger"));
	TEST_ASSERT_NOT_NULL(strstr(reply, "-LIMIT Not run, because"));
	ASK(p, "ZCARD ql:q:q-locks", ":0\r\n");
}

static void a_reply_beyond_the_limit_of_the_connection_ends_it_while_it_is_written(void)
{
	struct peer *other = peer_connect(&q);

	put_large("j");
	peer_send_text(p, "CONFIG SET client-output-buffer-limit \"normal 8mb 0 0\"\r\n");
	peer_expect(p, "+OK\r\n");
	send_repeated("$8\r\nMULTIGET\r\n", 1, "j", MANY / 4);
	peer_expect_end(p);
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(other, "INFO stats",
						   "client_output_buffer_limit_disconnections:"));
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN(120 * 1024, qlessd_proc_status(&q, "VmHWM"));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(the_same_large_job_many_times_is_an_error);
	RUN(the_same_large_field_many_times_is_an_error);
	RUN(a_large_reply_is_an_error_in_each_form);
	RUN(a_transaction_stops_reading_when_its_reply_is_too_large);
	RUN(a_pop_hands_out_as_many_jobs_as_a_reply_holds);
	RUN(a_peek_makes_few_large_jobs_of_a_late_recurring_job);
	RUN(a_transaction_without_room_pops_no_job);
	RUN(a_reply_beyond_the_limit_of_the_connection_ends_it_while_it_is_written);
	return UNIT_RESULT();
}
