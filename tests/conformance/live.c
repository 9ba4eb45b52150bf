/*
 * Replays recorded scenarios against a running server: with QLESS, and like client libraries of
 * qless with the SHA-1 of a script. Compares the replies, the events that reach a subscriber, and
 * the ql:* keys as commands of Redis show them. Another run kills the server now and then, which
 * must not change any result.
 *
 *	live <file.jsonl>... [--addr host:port] [<part of the name of a case>]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "luatext.h"
#include "peer.h"
#include "state.h"
#include "transcript.h"
#include "unit.h"

/* Its message follows the events of a step. */
#define SENTINEL_CHANNEL "sentinel"
/* The server is killed after one of this many steps, on average. */
#define STEPS_TO_A_KILL 80

struct replay {
	struct scenario scenario;
	struct peer *client;
	struct peer *listener;
	struct buf request;
	struct events events;
	struct content content;
	const struct qless_str *call; /* the words before the command */
	size_t call_words;
	bool kills; /* kills the server now and then */
	unsigned long long rng;
};

static struct qlessd q;
static char **files;
static int file_count;

/* A snapshot is written after every few steps. */
#define SERVER_ARGS                                                                         \
	"--clock-skew-warning", "0", "--max-clock-skew", "0", "--log-segment-size", "64kb", \
		"--auto-rewrite-min-size", "20kb"

void setUp(void)
{
	QLESSD_START(&q, SERVER_ARGS);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void append_words(struct buf *request, const struct qless_str *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		buf_printf(request, "$%zu\r\n", words[i].len);
		buf_append_str(request, words[i]);
		buf_append_str(request, STR("\r\n"));
	}
}

/* Send the step, followed by the message after its events. */
static void send_step(struct replay *r)
{
	static const struct qless_str sentinel[] = {
		STR_INIT("PUBLISH"),
		STR_INIT(SENTINEL_CHANNEL),
		STR_INIT(""),
	};
	size_t argc;
	struct qless_str *argv = step_arguments(&r->scenario, &argc);

	buf_clear(&r->request);
	buf_printf(&r->request, "*%zu\r\n", r->call_words + argc);
	append_words(&r->request, r->call, r->call_words);
	append_words(&r->request, argv, argc);
	buf_printf(&r->request, "*3\r\n");
	append_words(&r->request, sentinel, 3);
	peer_send(r->client, buf_data(&r->request), r->request.len);
	free(argv);
}

/* Remove a bulk string from the front. */
static struct qless_str take_bulk(struct qless_str *from)
{
	char *end;
	size_t len = strtoul(from->ptr + 1, &end, 10);
	struct qless_str bulk = str_make(end + 2, len);

	from->len -= (size_t)(bulk.ptr + len + 2 - from->ptr);
	from->ptr = bulk.ptr + len + 2;
	return bulk;
}

static void hear_events(struct replay *r)
{
	buf_clear(&r->events.text);
	r->events.count = 0;
	for (;;) {
		struct qless_str message, channel;

		peer_reply(r->listener);
		message = str_make(r->listener->reply, r->listener->reply_len);
		TEST_ASSERT_TRUE(str_starts_with(message, STR("*4\r\n")));
		message = str_make(message.ptr + 4, message.len - 4);
		TEST_ASSERT_TRUE(str_equal(take_bulk(&message), STR("pmessage")));
		take_bulk(&message);
		channel = take_bulk(&message);
		if (str_equal(channel, STR(SENTINEL_CHANNEL)))
			return;
		/* The reference has no channels of queues. */
		if (!str_starts_with(channel, STR("ql:q:")))
			events_add(&r->events, channel, take_bulk(&message));
	}
}

/* ---- the keys ---- */

/* Send a request of words; the reply is that of r->client. */
static struct qless_str ask(struct replay *r, const struct qless_str *words, size_t count)
{
	buf_clear(&r->request);
	buf_printf(&r->request, "*%zu\r\n", count);
	append_words(&r->request, words, count);
	peer_send(r->client, buf_data(&r->request), r->request.len);
	peer_reply(r->client);
	return str_make(r->client->reply, r->client->reply_len);
}

/* Take the strings of an array. */
static void take_array(struct content *content, struct qless_str reply)
{
	const char *end = memchr(reply.ptr, '\n', reply.len);
	size_t count = strtoul(reply.ptr + 1, NULL, 10);

	TEST_ASSERT_EQUAL_INT('*', reply.ptr[0]);
	reply = str_make(end + 1, reply.len - (size_t)(end + 1 - reply.ptr));
	while (count-- > 0)
		content_add(content, take_bulk(&reply));
}

static void check_key_live(struct replay *r, yyjson_val *line)
{
	static const struct reader {
		struct qless_str type;
		struct qless_str words[5];
		size_t count;
	} readers[] = {
		{ STR_INIT("hash"), { STR_INIT("HGETALL") }, 2 },
		{ STR_INIT("list"),
		  { STR_INIT("LRANGE"), { 0 }, STR_INIT("0"), STR_INIT("-1") },
		  4 },
		{ STR_INIT("set"), { STR_INIT("SMEMBERS") }, 2 },
		{ STR_INIT("zset"),
		  { STR_INIT("ZRANGE"),
		    { 0 },
		    STR_INIT("0"),
		    STR_INIT("-1"),
		    STR_INIT("WITHSCORES") },
		  5 },
	};
	struct qless_str type[] = { STR("TYPE"), state_key_name(line) };
	struct qless_str reply = ask(r, type, 2);

	content_clear(&r->content, STR("none"));
	for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
		struct reader reader = readers[i];

		if (!str_equal(str_make(reply.ptr + 1, reply.len - 3), reader.type))
			continue;
		r->content.type = reader.type;
		reader.words[1] = state_key_name(line);
		take_array(&r->content, ask(r, reader.words, reader.count));
		break;
	}
	check_key(&r->scenario, line, &r->content);
}

static void check_state_live(struct replay *r, yyjson_val *line)
{
	const struct qless_str keys[] = { STR("KEYS"), STR("*") };

	content_clear(&r->content, STR("keys"));
	take_array(&r->content, ask(r, keys, 2));
	if (check_key_count(&r->scenario, line, r->content.count))
		check_key_count(&r->scenario, line,
				(size_t)strtoul(peer_ask(r->client, "DBSIZE") + 1, NULL, 10));
}

/* ---- kills ---- */

/* Over the Unix socket if the server will be killed, because no other process can take that in
 * between. */
static void connect_both(struct replay *r)
{
	r->client = r->kills ? peer_connect_unix(&q) : peer_connect(&q);
	r->listener = r->kills ? peer_connect_unix(&q) : peer_connect(&q);
	peer_send_words(r->listener, "PSUBSCRIBE *");
	peer_skip_replies(r->listener, 1);
}

static void kill_and_start_again(struct replay *r)
{
	peer_close(r->client);
	peer_close(r->listener);
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	qlessd_start_again(&q, (const char *const[]){ SERVER_ARGS, "--port", "0", NULL });
	connect_both(r);
}

/* ---- scenarios ---- */

static void scenario_begin(void *arg)
{
	struct replay *r = arg;

	ASK(r->client, "FLUSHALL", "+OK\r\n");
}

static void scenario_end(void *arg)
{
	(void)arg;
}

static void check_step(struct replay *r)
{
	send_step(r);
	peer_reply(r->client);
	check_reply(&r->scenario, str_make(r->client->reply, r->client->reply_len));
	peer_expect(r->client, ":1\r\n");
	hear_events(r);
	if (!r->scenario.failed)
		check_events(&r->scenario, &r->events);
}

static void scenario_line(void *arg, yyjson_val *line)
{
	struct replay *r = arg;
	yyjson_val *type = yyjson_obj_get(line, "t");

	if (r->kills && unit_random(&r->rng) % STEPS_TO_A_KILL == 0)
		kill_and_start_again(r);
	if (yyjson_equals_str(type, "step"))
		check_step(r);
	else if (yyjson_equals_str(type, "state"))
		check_state_live(r, line);
	else if (yyjson_equals_str(type, "key"))
		check_key_live(r, line);
}

static void replay_files(const struct qless_str *call, size_t call_words, bool kills)
{
	static const struct transcript_ops ops = { scenario_begin, scenario_line, scenario_end };
	struct tally tally = { 0, 0 };
	struct replay r = {
		.request = BUF_INIT(BUF_NO_MAX),
		.events.text = BUF_INIT(BUF_NO_MAX),
		.content.texts = BUF_INIT(BUF_NO_MAX),
		.call = call,
		.call_words = call_words,
		.kills = kills,
	};

	connect_both(&r);
	for (int i = 0; i < file_count; i++)
		transcript_run(files[i], NULL, &r.scenario, &ops, &r, &tally);
	buf_done(&r.request);
	buf_done(&r.events.text);
	buf_done(&r.content.texts);
	printf("%zu scenarios passed, %zu failed\n", tally.passed, tally.failed);
	TEST_ASSERT_EQUAL_INT(0, tally.failed);
	TEST_ASSERT_GREATER_THAN(0, tally.passed);
}

static void every_step_comes_out_as_recorded_by_qless(void)
{
	static const struct qless_str call[] = { STR_INIT("QLESS") };

	replay_files(call, 1, false);
}

static void every_step_comes_out_as_recorded_though_the_server_is_killed(void)
{
	static const struct qless_str call[] = { STR_INIT("QLESS") };

	if (q.pid <= 0)
		TEST_IGNORE_MESSAGE("needs a server of its own");
	replay_files(call, 1, true);
}

static void every_step_comes_out_as_recorded_by_a_script(void)
{
	struct qless_str call[] = { STR_INIT("EVALSHA"), STR_INIT(""), STR_INIT("0") };
	struct qless_str load[] = { STR_INIT("SCRIPT"), STR_INIT("LOAD"),
				    STR_INIT(LUATEXT_CLASSIC) };
	struct peer *loader = peer_connect(&q);
	struct buf request = BUF_INIT(BUF_NO_MAX);
	struct qless_str reply;

	buf_printf(&request, "*3\r\n");
	append_words(&request, load, 3);
	peer_send(loader, buf_data(&request), request.len);
	buf_done(&request);
	reply = str_from(peer_reply(loader));
	call[1] = take_bulk(&reply);
	replay_files(call, 3, false);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	files = argv + 1;
	while (file_count + 1 < argc && strstr(argv[file_count + 1], ".jsonl") != NULL)
		file_count++;
	argv += file_count;
	argc -= file_count;
	UNITY_BEGIN();
	RUN(every_step_comes_out_as_recorded_by_qless);
	RUN(every_step_comes_out_as_recorded_by_a_script);
	RUN(every_step_comes_out_as_recorded_though_the_server_is_killed);
	return UNIT_RESULT();
}
