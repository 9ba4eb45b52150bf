/*
 * Requests of HTTP as bytes: what is refused, who may do what, and what slow, greedy and hostile
 * clients can do.
 */
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "certs.h"
#include "peer.h"
#include "unit.h"
#include "util/buf.h"
#include "wait.h"

#define MAX_ARGS 40

static struct qlessd q;
static struct peer *p;	  /* RESP */
static struct peer *http; /* HTTP */
static int http_port;
static struct buf page; /* the last answer: head and body */

void setUp(void)
{
	buf_init(&page, BUF_NO_MAX);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	buf_done(&page);
}

static void start_with(const char *const *more)
{
	static const char *args[MAX_ARGS];
	static char port[16];
	int count = 0;

	http_port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", http_port);
	args[count++] = "--http-port";
	args[count++] = port;
	args[count++] = "--enable-debug-command";
	args[count++] = "yes";
	while (*more != NULL && count < MAX_ARGS - 1)
		args[count++] = *more++;
	args[count] = NULL;
	qlessd_start_with(&q, args);
	p = peer_connect(&q);
	http = peer_connect_to("127.0.0.1", http_port);
}

#define START(...) start_with((const char *const[]){ __VA_ARGS__, NULL })

static void start(void)
{
	START("--timeout", "0");
}

static void take_bytes(struct peer *from, size_t count)
{
	while (count != 0) {
		size_t have, take;

		TEST_ASSERT_TRUE(peer_gets_more(from));
		have = from->end - from->start;
		take = have < count ? have : count;
		buf_append(&page, from->buf + from->start, take);
		from->start += take;
		count -= take;
	}
}

/* Reads an answer with a length. */
static const char *read_answer(struct peer *from, bool has_body)
{
	const char *length;

	buf_clear(&page);
	while (page.len < 4 || memcmp(buf_data(&page) + page.len - 4, "\r\n\r\n", 4) != 0)
		take_bytes(from, 1);
	length = strstr(buf_cstr(&page), "Content-Length: ");
	if (length != NULL && has_body)
		take_bytes(from, strtoul(length + 16, NULL, 10));
	return buf_cstr(&page);
}

static const char *answer(struct peer *from)
{
	return read_answer(from, true);
}

static void assert_has(const char *text, const char *part)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, part), text);
}

static void assert_lacks(const char *text, const char *part)
{
	TEST_ASSERT_NULL_MESSAGE(strstr(text, part), text);
}

static void assert_status(const char *text, int status)
{
	char wanted[32];

	snprintf(wanted, sizeof wanted, "HTTP/1.1 %d ", status);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, strncmp(text, wanted, strlen(wanted)), text);
}

/* Sends a request with these header lines on the common connection, and reads the answer. */
static const char *ask(const char *line, const char *fields, const char *body)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_printf(&text, "%s HTTP/1.1\r\n%s", line, fields);
	if (strstr(fields, "Host:") == NULL)
		buf_append_str(&text, STR("Host: 127.0.0.1\r\n"));
	if (body != NULL)
		buf_printf(&text, "Content-Length: %zu\r\n", strlen(body));
	buf_printf(&text, "\r\n%s", body != NULL ? body : "");
	peer_send(http, buf_data(&text), text.len);
	buf_done(&text);
	return answer(http);
}

static void connect_again(void)
{
	peer_close(http);
	http = peer_connect_to("127.0.0.1", http_port);
}

#define JSON	   "Content-Type: application/json\r\n"
#define PUT_J(jid) "{\"jid\":\"" jid "\",\"class\":\"k\",\"data\":{}}"

/* A route that every user may ask for, and that shows the user. */
#define ROUTE "GET /v1/queues"

/* ---- connections ---- */

static void requests_are_answered_in_their_order(void)
{
	static const char text[] =
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
		"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
		"POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
		"Transfer-Encoding: chunked\r\n\r\n10\r\n{\"class\":\"k\",\"ji\r\n"
		"11\r\nd\":\"j\",\"data\":{}}\r\n0\r\n\r\n"
		"\r\nGET /no HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

	start();
	peer_send_text(http, text);
	assert_has(answer(http), "\r\n\r\nok\n");
	assert_lacks(buf_cstr(&page), "Connection:");
	assert_has(read_answer(http, false), "Content-Length: 3\r\n");
	assert_status(answer(http), 201);
	assert_has(buf_cstr(&page), "{\"jid\":\"j\"}");
	assert_status(answer(http), 404);
	assert_has(buf_cstr(&page), "Connection: close\r\n");
	peer_expect_end(http);
	ASK_HAS(p, "GET j", "\"queue\":\"q\"");
}

static void an_answer_has_the_fields_that_keep_browsers_careful(void)
{
	start();
	ask("GET /healthz", "", NULL);
	assert_has(buf_cstr(&page), "X-Content-Type-Options: nosniff\r\n");
	assert_has(buf_cstr(&page), "Referrer-Policy: no-referrer\r\n");
	assert_has(buf_cstr(&page), " GMT\r\n");
	assert_has(buf_cstr(&page), "Cache-Control: no-store\r\n");
	ask(ROUTE, "", NULL);
	assert_status(buf_cstr(&page), 200);
	assert_has(buf_cstr(&page), "Cache-Control: no-store\r\n");
}

static void a_client_of_http_1_0_keeps_its_connection_if_it_asks(void)
{
	start();
	peer_send_text(http, "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
			     "GET /metrics HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_has(answer(http), "Connection: keep-alive\r\n");
	/* A page without a length ends with the connection. */
	assert_has(read_answer(http, false), "Connection: close\r\n");
	while (peer_gets_more(http)) {
		buf_append(&page, http->buf + http->start, http->end - http->start);
		http->start = http->end;
	}
	assert_has(buf_cstr(&page), "\r\n\r\n# HELP");
	TEST_ASSERT_EQUAL_STRING("\n", buf_cstr(&page) + page.len - 1);
}

static void a_client_is_told_to_send_its_body(void)
{
	start();
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Expect: 100-continue\r\nContent-Length: 35\r\n\r\n");
	peer_expect(http, "HTTP/1.1 100 Continue\r\n\r\n");
	peer_send_text(http, PUT_J("j") "  ");
	assert_status(answer(http), 201);
	/* One that may not send it gets its answer instead. */
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: evil\r\n" JSON
			     "Expect: 100-continue\r\nContent-Length: 35\r\n\r\n");
	assert_status(answer(http), 421);
	assert_has(buf_cstr(&page), "Connection: close\r\n");
	peer_expect_end(http);
}

static void client_list_shows_the_protocol_and_client_kill_ends_it(void)
{
	char kill[64];
	int64_t id;

	start();
	ask(ROUTE, "", NULL);
	peer_send_words(p, "CLIENT LIST");
	peer_reply(p);
	assert_has(p->reply, " flags=H ");
	id = strtoll(strstr(strstr(p->reply, "\nid=") + 4, "\nid=") + 4, NULL, 10);
	snprintf(kill, sizeof kill, "CLIENT KILL ID %lld", (long long)id);
	ASK(p, kill, ":1\r\n");
	peer_expect_end(http);
	ASK_HAS(p, "INFO clients", "connected_clients:1\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "http_connections:") == 0);
}

static void a_pause_holds_requests(void)
{
	start();
	ASK(p, "CLIENT PAUSE 100000 WRITE", "+OK\r\n");
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Transfer-Encoding: chunked\r\n\r\n21\r\n" PUT_J(
				     "j") "\r\n0\r\n\r\n"
					  "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 1);
	TEST_ASSERT_FALSE(peer_has_input(http, 0));
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	assert_status(answer(http), 201);
	assert_has(answer(http), "ok\n");
}

static void a_request_that_waits_is_answered_when_the_server_stops(void)
{
	start();
	peer_send_text(http, "POST /v1/queues/q/pop HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Content-Length: 30\r\n\r\n{\"worker\":\"w\",\"timeout\":10000}");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 1);
	kill(q.pid, SIGTERM);
	assert_status(answer(http), 503);
	assert_has(buf_cstr(&page), "Retry-After: ");
	assert_has(buf_cstr(&page), "Connection: close\r\n");
	peer_expect_end(http);
}

/* ---- hostile requests ---- */

static void a_request_that_can_be_read_in_two_ways_is_refused(void)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "POST /v1/queues HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
		  400 },
		{ "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
		  "Content-Length: 2\r\n\r\n",
		  400 },
		{ "POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		  501 },
		{ "GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n", 400 },
		{ "GET /healthz HTTP/1.1\nHost: x\n\n", 400 },
		{ "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", 400 },
		{ "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400 },
		{ "GET /healthz HTTP/1.1\r\n\r\n", 400 },
		{ "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 505 },
		{ "BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 501 },
		{ "GET /%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "POST /healthz HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n", 417 },
		{ "*1\r\n$4\r\nPING\r\n", 400 },
		{ "\x16\x03\x01\x02\x00\x01", 400 },
	};

	start();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		connect_again();
		peer_send_text(http, cases[i].text);
		assert_status(answer(http), cases[i].status);
		assert_has(buf_cstr(&page), "Connection: close\r\n");
		assert_has(buf_cstr(&page), "{\"error\":{\"code\":");
		peer_expect_end(http);
	}
	ASK(p, "PING", "+PONG\r\n");
}

static void a_head_has_limits(void)
{
	char *text = malloc(20000);

	start();
	memset(text, 'x', 20000);
	memcpy(text, "GET /", 5);
	peer_send_blindly(http, text, 20000);
	assert_status(answer(http), 414);
	connect_again();
	memcpy(text, "GET / HTTP/1.1\r\nHost: x\r\nX: ", 28);
	peer_send_blindly(http, text, 20000);
	assert_status(answer(http), 431);
	free(text);
}

/* The refusal of a body needs no byte of it. */
static void a_body_has_a_limit(void)
{
	START("--http-max-body-size", "10kb");
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Content-Length: 10241\r\n\r\n");
	assert_status(answer(http), 413);
	peer_expect_end(http);
	connect_again();
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Transfer-Encoding: chunked\r\n\r\n2802\r\n");
	assert_status(answer(http), 413);
	ASK(p, "CONFIG SET http-max-body-size 1mb", "+OK\r\n");
	connect_again();
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Content-Length: 10241\r\n\r\n");
	TEST_ASSERT_FALSE(peer_has_input(http, 0));
	/* A page for monitoring takes no body, and a client without a user nearly none. */
	connect_again();
	peer_send_text(http, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1025\r\n\r\n");
	assert_status(answer(http), 413);
	ASK(p, "ACL SETUSER default resetpass >secret", "+OK\r\n");
	connect_again();
	peer_send_text(http, "POST /v1/login HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Content-Length: 16385\r\n\r\n");
	assert_status(answer(http), 413);
	connect_again();
	peer_send_text(http, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Content-Length: 5000\r\n\r\n");
	assert_status(answer(http), 401);
}

static void a_slow_request_is_refused(void)
{
	struct peer *slow_body;

	START("--http-request-timeout", "1");
	slow_body = peer_connect_to("127.0.0.1", http_port);
	peer_send_text(http, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: ");
	peer_send_text(slow_body, "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
				  "Content-Length: 100\r\n\r\n{");
	assert_status(answer(http), 408);
	peer_expect_end(http);
	assert_status(answer(slow_body), 408);
	peer_expect_end(slow_body);
	TEST_ASSERT_EQUAL_INT64(2, peer_ask_number(p, "INFO stats", "http_timeouts:"));
}

static void an_idle_connection_is_closed(void)
{
	START("--http-idle-timeout", "1", "--http-request-timeout", "3600");
	ask("GET /healthz", "", NULL);
	peer_expect_end(http);
}

static void a_request_that_waits_is_not_idle(void)
{
	struct peer *idle;

	START("--http-idle-timeout", "1", "--http-request-timeout", "1");
	peer_send_text(http, "POST /v1/queues/q/pop HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			     "Content-Length: 30\r\n\r\n{\"worker\":\"w\",\"timeout\":10000}");
	for (int i = 0; i < 3; i++) {
		idle = peer_connect_to("127.0.0.1", http_port);
		peer_expect_end(idle);
	}
	ASK_HAS(p, "PUT w q j k {} 0", "j");
	assert_status(answer(http), 200);
	assert_has(buf_cstr(&page), "\"jid\":\"j\"");
}

/* A client that reads no answers gets no more of them. */
static void unread_answers_hold_further_requests(void)
{
	static const char get[] = "GET /v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int64_t bytes;

	start();
	peer_close(http);
	peer_connect_small_buffers(true);
	http = peer_connect_to("127.0.0.1", http_port);
	peer_connect_small_buffers(false);
	for (int i = 0; i < 2000; i++)
		buf_append(&text, get, sizeof get - 1);
	peer_try_send(http, buf_data(&text), text.len);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 1);
	bytes = peer_ask_number(p, "INFO clients", "client_max_output_buffer:");
	TEST_ASSERT_GREATER_THAN_INT64(0, bytes);
	TEST_ASSERT_LESS_THAN_INT64(2000000, bytes);
	ASK(p, "PING", "+PONG\r\n");
	/* It gets them as it reads. */
	for (int i = 0; i < 50; i++)
		assert_status(answer(http), 200);
	buf_done(&text);
}

/* Posts the body, and returns the microseconds of processor time of the longest turn. */
static int64_t turn_of_body(const struct buf *body, int status)
{
	struct buf head = BUF_INIT(BUF_NO_MAX);

	buf_printf(&head,
		   "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: x.y\r\n" JSON
		   "Content-Length: %zu\r\n\r\n",
		   body->len);
	connect_again();
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	peer_send(http, buf_data(&head), head.len);
	peer_send(http, buf_data(body), body->len);
	assert_status(answer(http), status);
	buf_done(&head);
	return peer_ask_number(p, "INFO stats", "eventloop_cpu_max:");
}

/* The body is as long as it may be. */
static int64_t turn_of_pieces(const char *begin, const char *piece, const char *end, int status)
{
	struct buf body = BUF_INIT(BUF_NO_MAX);
	int64_t us;

	buf_append_str(&body, str_from(begin));
	while (body.len < (size_t)5 * 1024 * 1024 - 100)
		buf_append_str(&body, str_from(piece));
	buf_append_str(&body, str_from(end));
	us = turn_of_body(&body, status);
	buf_done(&body);
	return us;
}

/* Microseconds of processor time of a turn. Without a limit for jobs that are read, it would take
 * 60,000. */
#define TURN_MAX_US 30000

static void no_body_takes_a_long_turn(void)
{
	static const struct {
		const char *begin, *piece, *end;
		int status;
	} bodies[] = {
		{ "[{\"class\":\"k\",\"data\":1}", ",{\"class\":\"k\",\"data\":1}", "]", 413 },
		{ "{\"class\":\"k\",\"data\":[1", ",1", "]}", 413 },
		{ "{\"class\":\"k\",\"data\":\"", "\\u1234", "\"}", 413 },
		{ "{\"a\":1", ",\"a\":1", "}", 400 },
		{ "[1", ",1", "]", 400 },
		{ "", "[", "", 400 },
		{ "", "     ", "", 400 },
	};

	if (qlessd_is_sanitized())
		return;
	START("--http-hosts", "x.y");
	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
		TEST_ASSERT_LESS_THAN_INT64(TURN_MAX_US,
					    turn_of_pieces(bodies[i].begin, bodies[i].piece,
							   bodies[i].end, bodies[i].status));
}

/* Returns the microseconds of processor time of the server so far. */
static int64_t cpu_us(void)
{
	static const char *const fields[] = { "used_cpu_user:", "used_cpu_sys:" };
	const char *info = peer_ask(p, "INFO cpu");
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		const char *at = strstr(info, fields[i]);

		TEST_ASSERT_NOT_NULL(at);
		sum += strtod(at + strlen(fields[i]), NULL);
	}
	return (int64_t)(sum * 1e6);
}

/* As many jobs as one call may have. */
#define ARRAY_JOBS 10000

/* Puts many jobs at once. Returns the percentage of the time for it that the longest turn took. */
static int64_t share_of_a_turn(int round)
{
	struct buf body = BUF_INIT(BUF_NO_MAX);
	int64_t before, turn_us;

	for (int i = 0; i < ARRAY_JOBS; i++) {
		buf_printf(&body, "%c{\"jid\":\"%d-%d\",\"class\":\"k\",\"data\":[0",
			   i == 0 ? '[' : ',', round, i);
		for (int k = 0; k < 50; k++)
			buf_append_str(&body, STR(",1"));
		buf_append_str(&body, STR("]}"));
	}
	buf_append_char(&body, ']');
	before = cpu_us();
	turn_us = turn_of_body(&body, 201);
	buf_done(&body);
	return 100 * turn_us / (cpu_us() - before);
}

/* Its body is checked, becomes arguments, and is run in different turns. */
static void an_array_of_many_jobs_takes_several_turns(void)
{
	int64_t least = 100;

	if (qlessd_is_sanitized())
		return;
	START("--http-hosts", "x.y");
	/* The other programs of this machine count, too. */
	for (int round = 0; round < 5; round++) {
		int64_t share = share_of_a_turn(round);

		least = share < least ? share : least;
	}
	ASK(p, "LENGTH q", ":50000\r\n");
	TEST_ASSERT_LESS_THAN_INT64(60, least);
}

/* Logs in. Returns the header line of the session. */
static const char *log_in(const char *user, const char *password)
{
	static char line[200];
	char body[200];
	const char *cookie;

	snprintf(body, sizeof body, "{\"user\":\"%s\",\"password\":\"%s\"}", user, password);
	assert_status(ask("POST /v1/login", JSON, body), 200);
	cookie = strstr(buf_cstr(&page), "Set-Cookie: qlessd=");
	TEST_ASSERT_NOT_NULL(cookie);
	snprintf(line, sizeof line, "Cookie: %.*s\r\n" JSON, (int)strcspn(cookie + 12, ";"),
		 cookie + 12);
	return line;
}

/* Sends a command about each of many jobs, and skips the replies. */
static void tell_of_each(const char *before_number, const char *after_number)
{
	for (int i = 0; i < ARRAY_JOBS; i++) {
		char words[100];

		snprintf(words, sizeof words, "%s%05d%s", before_number, i, after_number);
		peer_send_words(p, words);
	}
	peer_skip_replies(p, ARRAY_JOBS);
}

/* Number of jobs of a portion that gets its entries in a turn, see http_history.c. */
#define PORTION_JOBS 500

/* Jobs of a large action, and microseconds of processor time of a turn. As a whole, a put would
 * take 20,000. */
#define LARGE_JOBS    1000
#define LARGE_TURN_US 12000
/* Caches and memory are shared with other processes of the machine, so the best attempt counts. */
#define ATTEMPTS 5

/* Their entries in the history are written in portions, one in each turn. */
static void an_action_on_many_jobs_takes_short_turns(void)
{
	int64_t turns, turn_us;
	const char *cookie;

	START("--max-jobs-per-call", "10000");
	ASK(p, "ACL SETUSER alice on >secret +@all ~*", "+OK\r\n");
	cookie = log_in("alice", "secret");
	tell_of_each("PUT w q j", " k {} 0");
	peer_send_words(p, "POP q w 10000");
	peer_skip_replies(p, 1);
	tell_of_each("FAIL j", " w g m");
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	assert_status(ask("POST /v1/failures/g/retry", cookie, "{\"queue\":\"q\",\"count\":10000}"),
		      200);
	/* It waits until all jobs have their entries. */
	assert_has(ask("GET /v1/jobs/j09999", cookie, NULL), "retried by alice in the console");
	turns = peer_ask_number(p, "INFO stats", "eventloop_cycles:");
	turn_us = peer_ask_number(p, "INFO stats", "eventloop_cpu_max:");
	TEST_ASSERT_GREATER_OR_EQUAL_INT64(ARRAY_JOBS / PORTION_JOBS, turns);
	if (!qlessd_is_sanitized())
		TEST_ASSERT_LESS_THAN_INT64(TURN_MAX_US, turn_us);
	for (int i = 0; i < ARRAY_JOBS; i += 499) {
		char line[100];

		snprintf(line, sizeof line, "GET /v1/jobs/j%05d", i);
		assert_has(ask(line, cookie, NULL), "retried by alice in the console");
	}
}

/* Appends a job with 4 KB of data that takes long to check. */
static void append_large_job(struct buf *body, const char *members, int round, int i)
{
	buf_printf(body, "%s{\"jid\":\"l%d-%d\",%s\"data\":[%d", i != 0 ? "," : "", round, i,
		   members, i);
	for (int k = 0; k < 1000; k++)
		buf_append_str(body, STR(",1.5"));
	buf_append_str(body, STR("]}"));
}

struct large_action {
	const char *line;
	const char *begin, *members, *end; /* of the body, and further members of each job */
	int status;
};

/* Sends 4 MB of jobs, and returns the processor time of the longest turn. */
static int64_t turn_of_large_action(const struct large_action *action, const char *cookie,
				    int round)
{
	struct buf body = BUF_INIT(BUF_NO_MAX);

	buf_append_str(&body, str_from(action->begin));
	for (int i = 0; i < LARGE_JOBS; i++)
		append_large_job(&body, action->members, round, i);
	buf_append_str(&body, str_from(action->end));
	ASK(p, "CONFIG RESETSTAT", "+OK\r\n");
	assert_status(ask(action->line, cookie, buf_cstr(&body)), action->status);
	buf_done(&body);
	return peer_ask_number(p, "INFO stats", "eventloop_cpu_max:");
}

/* The data of a command that leaves entries is checked in parts, as that of others. */
static void a_large_action_takes_short_turns(void)
{
	static const struct large_action put = {
		"POST /v1/queues/q/jobs",
		"[",
		"\"class\":\"k\",\"worker\":\"w\",\"unique\":\"args\",",
		"]",
		201,
	};
	static const struct large_action complete = {
		"POST /v1/queues/q/complete", "{\"worker\":\"w\",\"jobs\":[", "", "]}", 200,
	};
	int64_t put_us = INT64_MAX, complete_us = INT64_MAX;
	const char *cookie;

	START("--timeout", "0");
	ASK(p, "ACL SETUSER alice on >secret +@all ~*", "+OK\r\n");
	cookie = log_in("alice", "secret");
	for (int i = 0; i < ATTEMPTS; i++) {
		int64_t us = turn_of_large_action(&put, cookie, i);

		put_us = us < put_us ? us : put_us;
		peer_send_words(p, "POP q w 1000");
		peer_skip_replies(p, 1);
		us = turn_of_large_action(&complete, cookie, i);
		complete_us = us < complete_us ? us : complete_us;
	}
	assert_has(ask("GET /v1/jobs/l0-999", cookie, NULL), "put by alice in the console");
	assert_has(buf_cstr(&page), "completed by alice in the console");
	if (!qlessd_is_sanitized()) {
		TEST_ASSERT_LESS_THAN_INT64(LARGE_TURN_US, put_us);
		TEST_ASSERT_LESS_THAN_INT64(LARGE_TURN_US, complete_us);
	}
}

/* Every client sends as much as it can without a user. */
static void clients_without_a_user_cost_little(void)
{
	struct peer *many[200];
	char text[30000];
	int64_t before, after;

	START("--requirepass", "secret");
	ASK(p, "AUTH secret", "+OK\r\n");
	before = peer_ask_number(p, "MEMORY STATS", "clients.normal\r\n:");
	memset(text, 'x', sizeof text);
	memcpy(text, "GET /v1/queues HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", 45);
	for (int i = 0; i < 200; i++) {
		many[i] = peer_connect_to("127.0.0.1", http_port);
		peer_send_text(many[i], "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
		peer_send_blindly(many[i], text, 8000);
	}
	for (int i = 0; i < 200; i++)
		answer(many[i]);
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "http_connections:") == 201);
	after = peer_ask_number(p, "MEMORY STATS", "clients.normal\r\n:");
	TEST_ASSERT_LESS_THAN_INT64(200 * 20000, after - before);
}

/* ---- places ---- */

static void a_request_that_waits_keeps_its_place(void)
{
	struct peer *waiting[8];

	START("--http-maxclients", "8");
	peer_close(http);
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "http_connections:") == 0);
	for (int i = 0; i < 8; i++) {
		waiting[i] = peer_connect_to("127.0.0.1", http_port);
		peer_send_text(waiting[i],
			       "POST /v1/queues/q/pop HTTP/1.1\r\nHost: 127.0.0.1\r\n" JSON
			       "Content-Length: 30\r\n\r\n{\"worker\":\"w\",\"timeout\":10000}");
	}
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 8);
	http = peer_connect_to("127.0.0.1", http_port);
	assert_status(answer(http), 503);
	peer_expect_end(http);
	/* One that has its answer gives up its place. */
	ASK_HAS(p, "PUT w q j k {} 0", "j");
	assert_status(answer(waiting[0]), 200);
	http = peer_connect_to("127.0.0.1", http_port);
	assert_status(ask("GET /healthz", "", NULL), 200);
	peer_expect_end(waiting[0]);
	/* One with a user outlasts those without. */
	TEST_ASSERT_EQUAL_INT64(7, peer_ask_number(p, "INFO clients", "blocked_clients:"));
}

/* ---- users ---- */

/* "ann:one", "ann:two", "bob:shared" and so on in base64. */
#define ANN_ONE	   "Authorization: Basic YW5uOm9uZQ==\r\n"
#define ANN_TWO	   "Authorization: basic   YW5uOnR3bw==\r\n"
#define BOB_SHARED "Authorization: Basic Ym9iOnNoYXJlZA==\r\n"

static void start_with_users(void)
{
	START("--requirepass", "secret");
	ASK(p, "AUTH secret", "+OK\r\n");
	ASK(p, "ACL SETUSER ann on >one +@all ~a*", "+OK\r\n");
	ASK(p, "ACL SETUSER bob on >shared +@all", "+OK\r\n");
	ASK(p, "ACL SETUSER cid on >shared >third +@read", "+OK\r\n");
}

static void a_request_has_the_rights_of_its_user(void)
{
	start_with_users();
	assert_status(ask(ROUTE, "", NULL), 401);
	assert_has(buf_cstr(&page), "WWW-Authenticate: Basic realm=\"qlessd\"");
	assert_has(buf_cstr(&page), "\"NOAUTH\"");
	assert_status(ask(ROUTE, ANN_ONE, NULL), 200);
	assert_status(ask("POST /v1/queues/abc/jobs", ANN_ONE JSON, PUT_J("j")), 201);
	assert_status(ask("POST /v1/queues/other/jobs", ANN_ONE JSON, PUT_J("k")), 403);
	assert_has(buf_cstr(&page), "\"NOPERM\"");
	assert_status(ask("POST /v1/queues/other/jobs", BOB_SHARED JSON, PUT_J("k")), 201);
	/* The rights end with the request. */
	assert_status(ask(ROUTE, "", NULL), 401);
	assert_status(ask("GET /v1/jobs/k", "Authorization: Bearer third\r\n", NULL), 200);
	assert_status(
		ask("POST /v1/queues/q/jobs", "Authorization: Bearer third\r\n" JSON, PUT_J("l")),
		403);
	assert_status(ask("GET /healthz", "", NULL), 200);
}

static void wrong_passwords_are_refused_and_counted(void)
{
	static const char *const wrong[] = {
		ANN_TWO, "Authorization: Basic bm9ib2R5Om9uZQ==\r\n",
		"Authorization: Bearer nothing\r\n",
		"Authorization: Bearer shared\r\n", /* two users have it */
	};
	static const char *const malformed[] = {
		"Authorization: Basic\r\n",    "Authorization: Basic YW5u\r\n",
		"Authorization: Basic !!\r\n", "Authorization: Digest x\r\n",
		"Authorization:\r\n",
	};

	start_with_users();
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_status(ask(ROUTE, wrong[i], NULL), 401);
		assert_has(buf_cstr(&page), "\"WRONGPASS\"");
	}
	for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
		assert_status(ask(ROUTE, malformed[i], NULL), 401);
		assert_has(buf_cstr(&page), "\"NOAUTH\"");
	}
	TEST_ASSERT_EQUAL_INT64(4, peer_ask_number(p, "INFO stats", "acl_access_denied_auth:"));
	ASK_HAS(p, "ACL LOG", "ann");
	assert_has(p->reply, "(token)");
	assert_has(p->reply, "http");
	/* The console asks for the password itself. */
	assert_status(ask(ROUTE, "X-Requested-With: qlessd-console\r\n", NULL), 401);
	assert_lacks(buf_cstr(&page), "WWW-Authenticate");
}

static void many_wrong_passwords_delay_the_next(void)
{
	start_with_users();
	for (int i = 0; i < 12; i++)
		assert_status(ask(ROUTE, ANN_TWO, NULL), 401);
	assert_status(ask(ROUTE, ANN_ONE, NULL), 200);
	TEST_ASSERT_GREATER_THAN_INT64(0, peer_ask_number(p, "INFO stats", "auth_delays:"));
}

static void a_change_of_the_user_ends_what_the_connection_remembers(void)
{
	start_with_users();
	assert_status(ask(ROUTE, ANN_ONE, NULL), 200);
	assert_status(ask(ROUTE, ANN_ONE, NULL), 200);
	ASK(p, "ACL SETUSER ann resetpass >two", "+OK\r\n");
	assert_status(ask(ROUTE, ANN_ONE, NULL), 401);
	assert_status(ask(ROUTE, ANN_TWO, NULL), 200);
	ASK(p, "ACL SETUSER ann off", "+OK\r\n");
	assert_status(ask(ROUTE, ANN_TWO, NULL), 401);
	ASK(p, "ACL SETUSER ann on", "+OK\r\n");
	assert_status(ask(ROUTE, ANN_TWO, NULL), 200);
	ASK(p, "ACL DELUSER ann", ":1\r\n");
	peer_expect_end(http);
	connect_again();
	assert_status(ask(ROUTE, ANN_TWO, NULL), 401);
}

static void without_a_password_only_this_machine_is_served(void)
{
	start();
	assert_status(ask(ROUTE, "", NULL), 200);
	ASK(p, "ACL SETUSER default off", "+OK\r\n");
	assert_status(ask(ROUTE, "", NULL), 401);
}

/* ---- pages of others ---- */

static void a_request_names_a_host_that_is_ours(void)
{
	static const char *const ours[] = {
		"Host: 127.0.0.1\r\n",
		"Host: 127.0.0.1:80\r\n",
		"Host: [::1]\r\n",
		"Host: [::1]:8080\r\n",
		"Host: LocalHost:1234\r\n",
		"Host: 10.1.2.3\r\n",
		"Host: api.Jobs.example\r\n",
		"Host: api.jobs.example.:443\r\n",
	};
	static const char *const others[] = {
		"Host: evil.example\r\n",
		"Host: jobs.example\r\n",
		"Host: 127.0.0.1.evil.example\r\n",
		"Host: [::1].evil.example\r\n",
		"Host: \r\n",
		"Host: 127.1\r\n",
		"Host: [::1\r\n",
	};

	start();
	assert_status(ask("GET /healthz", "Host: any.name\r\n", NULL), 200);
	ASK(p, "CONFIG SET http-hosts *.jobs.example", "+OK\r\n");
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		assert_status(ask(ROUTE, ours[i], NULL), 200);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		assert_status(ask(ROUTE, others[i], NULL), 421);
		assert_status(ask("GET /", others[i], NULL), 421);
		assert_status(ask("GET /metrics", others[i], NULL), 421);
	}
}

/* A monitor may use any name, and a page that the DNS leads here may not. */
static void pages_for_monitors_check_the_host_of_browsers(void)
{
	static const char *const paths[] = { "GET /healthz", "GET /readyz", "GET /metrics" };
	static const char *const signs[] = {
		"Accept-Language: en\r\n",
		"Accept-Language:\r\n",
		"accept-language: *\r\n",
		"Origin: http://evil.example\r\n",
		"Referer: http://evil.example/\r\n",
		"Cookie: a=b\r\n",
		"Sec-Fetch-Site: same-origin\r\n",
		"Sec-Fetch-Mode: cors\r\n",
		"Sec-Fetch-Dest: empty\r\n",
	};
	static const char scrape[] = "Host: any.name\r\nAccept: text/plain\r\n"
				     "Accept-Encoding: gzip\r\nUser-Agent: Prometheus/2.45\r\n";
	char fields[200];

	start();
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++) {
			snprintf(fields, sizeof fields, "Host: evil.example\r\n%s", signs[k]);
			assert_status(ask(paths[i], fields, NULL), 421);
		}
		assert_status(ask(paths[i], scrape, NULL), 200);
		connect_again();
		assert_status(ask(paths[i], "Host: LocalHost\r\nAccept-Language: en\r\n", NULL),
			      200);
		connect_again();
	}
}

static void a_page_of_another_origin_is_refused(void)
{
	start();
	assert_status(ask(ROUTE, "Host: localhost:80\r\nOrigin: http://localhost:80\r\n", NULL),
		      200);
	assert_status(ask(ROUTE, "Origin: https://127.0.0.1\r\n", NULL), 403);
	assert_status(ask(ROUTE, "Origin: http://127.0.0.1:8080\r\n", NULL), 403);
	assert_status(ask(ROUTE, "Origin: null\r\n", NULL), 403);
	assert_status(
		ask("POST /v1/queues/q/jobs", "Origin: http://evil.example\r\n" JSON, PUT_J("j")),
		403);
	connect_again();
	assert_status(ask(ROUTE, "Sec-Fetch-Site: cross-site\r\n", NULL), 403);
	assert_status(ask(ROUTE, "Sec-Fetch-Site: same-site\r\n", NULL), 403);
	assert_status(ask(ROUTE, "Sec-Fetch-Site: same-origin\r\n", NULL), 200);
	assert_status(ask(ROUTE, "Sec-Fetch-Site: none\r\n", NULL), 200);
	/* A link elsewhere may lead to the console, and to nothing under /v1. */
#define LINK \
	"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
	assert_status(ask("GET /", LINK, NULL), 200);
	assert_status(ask(ROUTE, LINK, NULL), 403);
	ASK(p, "GET j", "$-1\r\n");
}

static void configured_origins_may_send_requests(void)
{
	START("--http-cors-origins", "https://one.example", "https://two.example:8443");
	assert_status(ask(ROUTE, "Origin: https://two.example:8443\r\n", NULL), 200);
	assert_has(buf_cstr(&page), "Access-Control-Allow-Origin: https://two.example:8443\r\n");
	assert_has(buf_cstr(&page), "Vary: Origin\r\n");
	assert_lacks(buf_cstr(&page), "Access-Control-Allow-Credentials");
	assert_status(ask(ROUTE, "Origin: https://two.example\r\n", NULL), 403);
	assert_lacks(buf_cstr(&page), "Access-Control-Allow-Origin");
#define PREFLIGHT "Access-Control-Request-Method: POST\r\n"
	assert_status(
		ask("OPTIONS /v1/queues/q/jobs", "Origin: https://one.example\r\n" PREFLIGHT, NULL),
		204);
	assert_has(buf_cstr(&page), "Access-Control-Allow-Headers: Authorization, Content-Type");
	assert_lacks(buf_cstr(&page), "Content-Length");
	assert_status(ask("OPTIONS /v1/queues/q/jobs", "Origin: https://evil.example\r\n" PREFLIGHT,
			  NULL),
		      403);
}

static void a_body_says_that_it_is_json(void)
{
	start();
	assert_status(ask("POST /v1/queues/q/jobs",
			  "Content-Type: Application/JSON ; charset=utf-8\r\n", PUT_J("j")),
		      201);
	assert_status(ask("POST /v1/queues/q/pause", "", ""), 200);
	assert_status(ask("POST /v1/queues/q/unpause", "", NULL), 200);
	assert_status(ask("POST /v1/queues/q/jobs", "", PUT_J("k")), 415);
	connect_again();
	assert_status(ask("POST /v1/queues/q/jobs", "Content-Type: text/plain\r\n", PUT_J("k")),
		      415);
	connect_again();
	assert_status(ask("POST /v1/queues/q/pause",
			  "Content-Type: application/x-www-form-urlencoded\r\n", ""),
		      415);
	connect_again();
	assert_status(ask("POST /v1/queues/q/jobs", JSON "Content-Encoding: gzip\r\n", PUT_J("k")),
		      415);
	ASK(p, "GET k", "$-1\r\n");
}

/* ---- TLS ---- */

static void https_has_the_certificate_of_tls(void)
{
	static const char get[] = "GET /v1/queues HTTP/1.1\r\nHost: 127.0.0.1\r\n"
				  "Origin: https://127.0.0.1\r\n\r\n";
	char port_text[16], cert[100], key[100], ca[100];
	struct tempdir dir;
	struct peer_tls trust = { .ca = ca };
	int port = qlessd_free_port();
	struct peer *secure, *plain;

	tempdir_init(&dir);
	certs_make(&dir);
	snprintf(port_text, sizeof port_text, "%d", port);
	snprintf(cert, sizeof cert, "%s/server.crt", dir.path);
	snprintf(key, sizeof key, "%s/server.key", dir.path);
	snprintf(ca, sizeof ca, "%s/ca.crt", dir.path);
	START("--https-port", port_text, "--tls-cert-file", cert, "--tls-key-file", key,
	      "--tls-auth-clients", "no");
	secure = peer_connect_tls(port, &trust);
	TEST_ASSERT_NOT_NULL_MESSAGE(secure, peer_tls_error());
	peer_send_text(secure, get);
	assert_status(answer(secure), 200);
	peer_send_text(secure, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_has(read_answer(secure, false), "Transfer-Encoding: chunked\r\n");
	ASK_HAS(p, "CLIENT LIST", " tls=TLSv1.");
	plain = peer_connect_to("127.0.0.1", port);
	peer_send_text(plain, get);
	assert_status(answer(plain), 400);
	peer_expect_end(plain);
	/* A new certificate is that of the next connection. */
	certs_make_server(&dir, 0, CERTS_DAY_S);
	ASK_HAS(p, "CONFIG SET tls-cert-file", "ERR");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(peer_connect_tls(port, &trust) == NULL);
	tempdir_done(&dir);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(requests_are_answered_in_their_order);
	RUN(an_answer_has_the_fields_that_keep_browsers_careful);
	RUN(a_client_of_http_1_0_keeps_its_connection_if_it_asks);
	RUN(a_client_is_told_to_send_its_body);
	RUN(client_list_shows_the_protocol_and_client_kill_ends_it);
	RUN(a_pause_holds_requests);
	RUN(a_request_that_waits_is_answered_when_the_server_stops);
	RUN(a_request_that_can_be_read_in_two_ways_is_refused);
	RUN(a_head_has_limits);
	RUN(a_body_has_a_limit);
	RUN(a_slow_request_is_refused);
	RUN(an_idle_connection_is_closed);
	RUN(a_request_that_waits_is_not_idle);
	RUN(unread_answers_hold_further_requests);
	RUN(no_body_takes_a_long_turn);
	RUN(an_array_of_many_jobs_takes_several_turns);
	RUN(an_action_on_many_jobs_takes_short_turns);
	RUN(a_large_action_takes_short_turns);
	RUN(clients_without_a_user_cost_little);
	RUN(a_request_that_waits_keeps_its_place);
	RUN(a_request_has_the_rights_of_its_user);
	RUN(wrong_passwords_are_refused_and_counted);
	RUN(many_wrong_passwords_delay_the_next);
	RUN(a_change_of_the_user_ends_what_the_connection_remembers);
	RUN(without_a_password_only_this_machine_is_served);
	RUN(a_request_names_a_host_that_is_ours);
	RUN(pages_for_monitors_check_the_host_of_browsers);
	RUN(a_page_of_another_origin_is_refused);
	RUN(configured_origins_may_send_requests);
	RUN(a_body_says_that_it_is_json);
	RUN(https_has_the_certificate_of_tls);
	return UNIT_RESULT();
}
