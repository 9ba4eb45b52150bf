/*
 * /v1/events: clients that follow events by HTTP, and come back after a lost connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "unit.h"
#include "util/base64.h"
#include "util/buf.h"
#include "wait.h"

static struct qlessd q;
static struct peer *p;
static int http_port;

void setUp(void)
{
}

void tearDown(void)
{
	peer_connect_small_buffers(false);
	peer_close_all();
	qlessd_stop(&q);
}

static void start_with(const char *option, const char *value)
{
	char port[16];

	http_port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", http_port);
	QLESSD_START(&q, "--http-port", port, "--appendonly", "yes", option, value);
	p = peer_connect(&q);
}

static void start(void)
{
	start_with("--timeout", "0");
}

static int64_t stat(const char *field)
{
	return peer_ask_number(p, "INFO stats", field);
}

/* ---- readers ---- */

/* A client of /v1/events, with its last event. HTTP/1.0 has no chunks, so the bytes after the head
 * are the messages. */
struct reader {
	struct peer *peer;
	unsigned long long id; /* of the last event; the client comes back with it */
	char kind[32];
	char data[2048];
};

/* Returns the next line, which ends in `\n`, or NULL at the end of the connection. */
static const char *read_line(struct peer *peer)
{
	static char line[4096];
	size_t len = 0;

	while (len == 0 || line[len - 1] != '\n') {
		if (peer->start == peer->end && !peer_gets_more(peer))
			return NULL;
		TEST_ASSERT_LESS_THAN_size_t(sizeof line - 1, len);
		line[len++] = peer->buf[peer->start++];
	}
	line[len] = '\0';
	return line;
}

/* Sends a request, and returns the status of the answer. */
static int request(struct peer *peer, const char *query, const char *fields)
{
	char text[2048];
	int status = 0;

	snprintf(text, sizeof text, "GET /v1/events%s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n%s\r\n",
		 query, http_port, fields);
	peer_send_text(peer, text);
	for (const char *line = read_line(peer); strcmp(line, "\r\n") != 0; line = read_line(peer))
		sscanf(line, "HTTP/1.1 %d", &status);
	return status;
}

static void open_reader(struct reader *r, const char *query, const char *fields)
{
	r->peer = peer_connect_to("127.0.0.1", http_port);
	TEST_ASSERT_EQUAL_INT(200, request(r->peer, query, fields));
}

/* Comes back with the last id. */
static void reopen(struct reader *r, const char *query)
{
	char field[64];

	snprintf(field, sizeof field, "Last-Event-ID: %llu\r\n", r->id);
	open_reader(r, query, field);
}

/* Reads up to the next event. Returns false at the end of the connection. */
static bool next_event(struct reader *r)
{
	const char *line;

	r->kind[0] = r->data[0] = '\0';
	while ((line = read_line(r->peer)) != NULL) {
		if (strcmp(line, "\n") == 0 && r->kind[0] != '\0')
			return true;
		sscanf(line, "id: %llu\n", &r->id);
		sscanf(line, "event: %31s\n", r->kind);
		sscanf(line, "data: %2047[^\n]", r->data);
	}
	return false;
}

/* Waits until the client has a place from which it can go on. */
static void wait_for_place(struct reader *r)
{
	r->id = 0;
	while (r->id == 0)
		sscanf(read_line(r->peer), "id: %llu\n", &r->id);
}

#define ASSERT_EVENT(r, expected_kind, expected_data)               \
	do {                                                        \
		TEST_ASSERT_TRUE(next_event(r));                    \
		TEST_ASSERT_EQUAL_STRING(expected_kind, (r)->kind); \
		TEST_ASSERT_EQUAL_STRING(expected_data, (r)->data); \
	} while (0)

static void put(const char *queue, int number)
{
	char words[100];

	snprintf(words, sizeof words, "PUT w %s j%d k {} 0", queue, number);
	TEST_ASSERT_EQUAL_CHAR('$', *peer_ask(p, words));
}

static void assert_put(struct reader *r, const char *queue, int number)
{
	char data[200];

	snprintf(data, sizeof data, "{\"jid\":\"j%d\",\"event\":\"put\",\"queue\":\"%s\"}", number,
		 queue);
	ASSERT_EVENT(r, "put", data);
}

/* ---- what is sent ---- */

static void a_reader_gets_the_events_that_follow(void)
{
	struct reader r;
	unsigned long long first;

	start();
	put("mail", 1);
	open_reader(&r, "", "");
	wait_for_place(&r);
	first = r.id;
	put("mail", 2);
	peer_ask(p, "POP mail w 2");
	peer_ask(p, "FAIL j2 w group message");
	peer_ask(p, "COMPLETE j1 w mail {} next video");
	peer_ask(p, "CONFIG.SET x-a 1");
	assert_put(&r, "mail", 2);
	TEST_ASSERT_EQUAL_UINT64(first + 1, r.id);
	ASSERT_EVENT(&r, "failed",
		     "{\"message\":\"message\",\"jid\":\"j2\",\"group\":\"group\",\"event\":"
		     "\"failed\",\"worker\":\"w\",\"queue\":\"mail\"}");
	ASSERT_EVENT(&r, "advanced",
		     "{\"jid\":\"j1\",\"to\":\"video\",\"event\":\"advanced\",\"queue\":\"mail\"}");
	ASSERT_EVENT(&r, "config_set",
		     "{\"option\":\"x-a\",\"event\":\"config_set\",\"value\":\"1\"}");
	TEST_ASSERT_EQUAL_UINT64(first + 4, r.id);
	TEST_ASSERT_EQUAL_INT64(1, stat("event_readers:"));
	TEST_ASSERT_EQUAL_INT64(5, stat("event_buffer_events:"));
	peer_close(r.peer);
	WAIT_UNTIL(stat("event_readers:") == 0);
}

static void parameters_select_events(void)
{
	struct reader queue, jid, kind;

	start();
	open_reader(&queue, "?queue=video&queue=audio", "");
	open_reader(&jid, "?jid=j3", "");
	open_reader(&kind, "?event=canceled", "");
	wait_for_place(&kind);
	put("mail", 1);
	put("video", 2);
	put("mail", 3);
	peer_ask(p, "CANCEL j1");
	put("audio", 4);
	assert_put(&queue, "video", 2);
	assert_put(&queue, "audio", 4);
	assert_put(&jid, "mail", 3);
	TEST_ASSERT_TRUE(next_event(&kind));
	TEST_ASSERT_EQUAL_STRING("canceled", kind.kind);
}

static void other_requests_are_refused(void)
{
	start();
	TEST_ASSERT_EQUAL_INT(400,
			      request(peer_connect_to("127.0.0.1", http_port), "?color=red", ""));
	TEST_ASSERT_EQUAL_INT(
		400, request(peer_connect_to("127.0.0.1", http_port), "?event=popped", ""));
	TEST_ASSERT_EQUAL_INT64(0, stat("event_readers:"));
}

/* A client of HTTP/1.1 gets the messages in chunks. */
static void messages_come_in_chunks(void)
{
	struct peer *http;
	char text[200];

	start();
	http = peer_connect_to("127.0.0.1", http_port);
	snprintf(text, sizeof text,
		 "GET /v1/events?event=put HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", http_port);
	peer_send_text(http, text);
	while (strcmp(read_line(http), "\r\n") != 0)
		continue;
	peer_expect(http, "d\r\nretry: 2000\n\n\r\n");
	read_line(http);
	TEST_ASSERT_EQUAL_STRING_LEN("id: ", read_line(http), 4);
	TEST_ASSERT_EQUAL_STRING("\n", read_line(http));
	TEST_ASSERT_EQUAL_STRING("\r\n", read_line(http));
	put("q", 1);
	TEST_ASSERT_EQUAL_INT(2, (int)strcspn(read_line(http), "\r"));
	TEST_ASSERT_EQUAL_STRING_LEN("id: ", read_line(http), 4);
	peer_expect(http,
		    "event: put\ndata: {\"jid\":\"j1\",\"event\":\"put\",\"queue\":\"q\"}\n\n\r\n");
}

/* ---- going on ---- */

#define JOBS 3000

/* Reads some events, and then loses the connection, sometimes within a message. */
static void a_reader_that_is_cut_off_again_and_again_misses_nothing(void)
{
	unsigned long long seed = 7, before;
	struct reader r;
	int sent = 0, seen = 0;

	start();
	open_reader(&r, "?event=put", "");
	wait_for_place(&r);
	while (seen < JOBS) {
		for (int i = (int)(unit_random(&seed) % 50); i > 0 && sent < JOBS; i--)
			put("q", sent++);
		for (int i = (int)(unit_random(&seed) % 40); i > 0 && seen < sent; i--) {
			before = r.id;
			assert_put(&r, "q", seen++);
			TEST_ASSERT_EQUAL_UINT64(before + 1, r.id);
		}
		if (unit_random(&seed) % 2 == 0)
			peer_reset(r.peer);
		else
			peer_close(r.peer);
		reopen(&r, "?event=put");
	}
	put("q", JOBS);
	assert_put(&r, "q", JOBS);
}

static void a_reader_that_is_too_late_is_told(void)
{
	struct reader r;

	start_with("--http-event-buffer", "65536");
	open_reader(&r, "", "");
	wait_for_place(&r);
	peer_close(r.peer);
	for (int i = 0; i < 2000; i++)
		put("q", i);
	TEST_ASSERT_LESS_THAN_INT64(65536, stat("event_buffer_bytes:"));
	TEST_ASSERT_GREATER_THAN_INT64(200, stat("event_buffer_events:"));
	reopen(&r, "");
	ASSERT_EVENT(&r, "reset", "{\"event\":\"reset\"}");
	put("q", 5000);
	assert_put(&r, "q", 5000);
}

static void ids_increase_over_a_restart(void)
{
	char port[16];
	unsigned long long before;
	struct reader r;

	start();
	open_reader(&r, "", "");
	put("q", 1);
	assert_put(&r, "q", 1);
	before = r.id;
	peer_send_words(p, "SHUTDOWN");
	TEST_ASSERT_FALSE(next_event(&r));
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	peer_close_all();
	snprintf(port, sizeof port, "%d", http_port);
	qlessd_start_again(
		&q, (const char *const[]){ "--http-port", port, "--appendonly", "yes", NULL });
	p = peer_connect(&q);
	reopen(&r, "");
	ASSERT_EVENT(&r, "reset", "{\"event\":\"reset\"}");
	TEST_ASSERT_TRUE(r.id > before);
	put("q", 2);
	assert_put(&r, "q", 2);
}

static void a_last_id_at_random_is_an_id_or_a_reset(void)
{
	static const char letters[] = "0123456789-+ .ex\xff\"\t";
	unsigned long long seed = 11;

	start();
	for (int round = 0; round < 300; round++) {
		char field[64] = "Last-Event-ID: ";
		size_t at = strlen(field), len = 1 + unit_random(&seed) % 24;
		struct reader r;

		for (size_t i = 0; i < len; i++)
			field[at++] = letters[unit_random(&seed) % (sizeof letters - 1)];
		memcpy(field + at, "\r\n", 3);
		/* A value of blanks is as good as none. */
		if (strspn(field + 15, " \t") == len)
			continue;
		open_reader(&r, "", field);
		ASSERT_EVENT(&r, "reset", "{\"event\":\"reset\"}");
		peer_close(r.peer);
	}
}

/* ---- slow readers ---- */

static void a_reader_that_does_not_read_is_cut_off_and_holds_up_nobody(void)
{
	struct reader slow, fast;
	int sent = 0, seen = 0;

	start_with("--http-event-buffer", "65536");
	peer_connect_small_buffers(true);
	open_reader(&slow, "", "");
	peer_connect_small_buffers(false);
	open_reader(&fast, "", "");
	while (stat("event_readers_cut:") == 0) {
		TEST_ASSERT_LESS_THAN_INT(1000000, sent);
		for (int i = 0; i < 200; i++)
			put("q", sent++);
		while (seen < sent)
			assert_put(&fast, "q", seen++);
		/* Its output is small. */
		TEST_ASSERT_LESS_THAN_INT64(
			600000, peer_ask_number(p, "INFO clients", "client_max_output_buffer:"));
	}
	TEST_ASSERT_EQUAL_INT64(1, stat("event_readers:"));
	put("q", sent);
	assert_put(&fast, "q", sent);
}

/* The events of one command may be more than the ring keeps. */
static void a_reader_gets_all_events_of_a_large_command(void)
{
	enum { COUNT = 5000 };
	struct buf words = BUF_INIT(BUF_NO_MAX);
	struct reader r;

	start_with("--http-event-buffer", "131072");
	open_reader(&r, "", "");
	buf_append_str(&words, STR("MULTIPUT w q 0 jobs"));
	for (int i = 0; i < COUNT; i++)
		buf_printf(&words, " j%d k {}", i);
	buf_append_str(&words, STR("\r\n"));
	peer_send(p, buf_data(&words), words.len);
	buf_done(&words);
	for (int i = 0; i < COUNT; i++)
		assert_put(&r, "q", i);
	peer_skip_replies(p, 1);
	WAIT_UNTIL(stat("event_buffer_bytes:") <= 131072);
	TEST_ASSERT_GREATER_THAN_INT64(100000, stat("event_buffer_bytes:"));
	TEST_ASSERT_EQUAL_INT64(0, stat("event_readers_cut:"));
}

static void many_readers_share_the_work(void)
{
	enum { READERS = 300, EVENTS = 20 };
	static struct reader readers[READERS];

	start();
	for (int i = 0; i < READERS; i++)
		open_reader(&readers[i], i % 3 == 0 ? "?queue=q" : "", "");
	WAIT_UNTIL(stat("event_readers:") == READERS);
	for (int i = 0; i < EVENTS; i++)
		put("q", i);
	for (int i = 0; i < READERS; i++) {
		for (int k = 0; k < EVENTS; k++)
			assert_put(&readers[i], "q", k);
	}
	/* No turn took long, however many readers there are. */
	TEST_ASSERT_LESS_THAN_INT64(qlessd_is_sanitized() ? 200000 : 20000,
				    stat("eventloop_cpu_max:"));
}

/* ---- the end ---- */

static void a_reader_ends_with_the_connection_or_the_server(void)
{
	struct reader killed, stopped;
	const char *list;
	char words[64];
	long id = 0;

	start();
	open_reader(&killed, "", "");
	wait_for_place(&killed);
	list = peer_ask(p, "CLIENT LIST");
	for (const char *at = list; (at = strstr(at, "id=")) != NULL; at++) {
		long number = strtol(at + 3, NULL, 10);

		id = number > id ? number : id;
	}
	snprintf(words, sizeof words, "CLIENT KILL ID %ld", id);
	ASK(p, words, ":1\r\n");
	TEST_ASSERT_FALSE(next_event(&killed));
	WAIT_UNTIL(stat("event_readers:") == 0);
	open_reader(&stopped, "", "");
	wait_for_place(&stopped);
	peer_send_words(p, "SHUTDOWN");
	TEST_ASSERT_FALSE(next_event(&stopped));
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

/* ---- permissions ---- */

/* Returns the header of Basic authentication. */
static const char *login_as(const char *user)
{
	static char field[200];
	char text[100];
	struct buf token = BUF_INIT(BUF_NO_MAX);

	snprintf(text, sizeof text, "%s:secret", user);
	base64_append(&token, str_from(text));
	snprintf(field, sizeof field, "Authorization: Basic %s\r\n", buf_cstr(&token));
	buf_done(&token);
	return field;
}

static int status_for(const char *user, const char *query)
{
	struct peer *http = peer_connect_to("127.0.0.1", http_port);
	int status = request(http, query, login_as(user));

	peer_close(http);
	return status;
}

/* Otherwise the server would not notice the end of the connection. */
static void a_reader_that_sends_many_other_requests_is_closed(void)
{
	static const char other[] = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
	struct buf requests = BUF_INIT(BUF_NO_MAX);
	struct reader r;

	start();
	open_reader(&r, "", "");
	wait_for_place(&r);
	peer_expect(r.peer, "\n");
	while (requests.len < 256 * 1024)
		buf_append_str(&requests, str_from(other));
	peer_send_blindly(r.peer, buf_data(&requests), requests.len);
	peer_expect_end(r.peer);
	WAIT_UNTIL(stat("event_readers:") == 0);
	buf_done(&requests);
}

static void a_reader_gets_the_events_that_its_user_may_see(void)
{
	struct reader limited, all;

	start();
	peer_ask(p, "ACL SETUSER limited on >secret +@all ~mail &ql:log");
	peer_ask(p, "ACL SETUSER silent on >secret +@all -subscribe");
	TEST_ASSERT_EQUAL_INT(403, status_for("limited", "?queue=video"));
	TEST_ASSERT_EQUAL_INT(403, status_for("limited", "?queue=mail&queue=video"));
	TEST_ASSERT_EQUAL_INT(403, status_for("silent", ""));
	open_reader(&limited, "", login_as("limited"));
	open_reader(&all, "", "");
	wait_for_place(&all);
	put("video", 1);
	peer_ask(p, "CONFIG.SET x-a 1");
	put("mail", 2);
	assert_put(&limited, "mail", 2);
	assert_put(&all, "video", 1);
	/* Rights that change take effect at once. */
	peer_ask(p, "ACL SETUSER limited resetkeys ~video");
	put("mail", 3);
	put("video", 4);
	assert_put(&limited, "video", 4);
}

static void a_reader_ends_when_its_user_may_no_longer_follow(void)
{
	static const char *const changes[] = { "ACL SETUSER alice off",
					       "ACL SETUSER alice -subscribe",
					       "ACL SETUSER alice resetkeys ~mail",
					       "ACL DELUSER alice" };

	start();
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct reader r;

		peer_ask(p, "ACL SETUSER alice reset on >secret +@all ~* &*");
		open_reader(&r, "?queue=video", login_as("alice"));
		wait_for_place(&r);
		peer_ask(p, changes[i]);
		TEST_ASSERT_FALSE_MESSAGE(next_event(&r), changes[i]);
		WAIT_UNTIL(stat("event_readers:") == 0);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_reader_gets_the_events_that_follow);
	RUN(parameters_select_events);
	RUN(other_requests_are_refused);
	RUN(messages_come_in_chunks);
	RUN(a_reader_that_is_cut_off_again_and_again_misses_nothing);
	RUN(a_reader_that_is_too_late_is_told);
	RUN(ids_increase_over_a_restart);
	RUN(a_last_id_at_random_is_an_id_or_a_reset);
	RUN(a_reader_that_does_not_read_is_cut_off_and_holds_up_nobody);
	RUN(a_reader_gets_all_events_of_a_large_command);
	RUN(many_readers_share_the_work);
	RUN(a_reader_ends_with_the_connection_or_the_server);
	RUN(a_reader_that_sends_many_other_requests_is_closed);
	RUN(a_reader_gets_the_events_that_its_user_may_see);
	RUN(a_reader_ends_when_its_user_may_no_longer_follow);
	return UNIT_RESULT();
}
