/*
 * Any text as JSON from a client. Valid JSON is accepted and returned byte for byte; other text is
 * refused with a reason. Then the text goes to each command that takes JSON, and the reply must be
 * JSON again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"
#include "command/json.h"
#include "qless.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/json_value.h"
#include "util/mem.h"
#include "util/utf8.h"

#define NOW 1700000000.0

static void check_strings(struct qless_str text, bool objects)
{
	struct json_strings strings = { 0 };
	size_t bytes = 0;

	if (!json_read_strings(text, objects, &strings))
		return;
	for (size_t i = 0; i < strings.count; i++)
		bytes += strings.items[i].len;
	assert(bytes <= text.len);
	json_strings_done(&strings);
}

/* Hash the text between two others, from memory of just that size. */
static void hash_between(struct qless_str before, struct qless_str text, struct qless_str after,
			 struct json_value_room *room, unsigned char *hash)
{
	size_t len = before.len + text.len + after.len;
	char *copy = mem_alloc(len);

	memcpy(copy, before.ptr, before.len);
	memcpy(copy + before.len, text.ptr, text.len);
	memcpy(copy + before.len + text.len, after.ptr, after.len);
	json_hash_value(STR("label"), str_make(copy, len), room, hash);
	free(copy);
}

/* White space does not change a value; brackets do. */
static void check_value(struct qless_str text)
{
	struct json_value_room room = { 0 };
	unsigned char hash[HASH_WIDE_BYTES], other[HASH_WIDE_BYTES];

	hash_between(STR(""), text, STR(""), &room, hash);
	hash_between(STR("\n "), text, STR("\t"), &room, other);
	assert(memcmp(hash, other, sizeof hash) == 0);
	hash_between(STR("["), text, STR("]"), &room, other);
	assert(memcmp(hash, other, sizeof hash) != 0);
	hash_between(STR("[\r"), text, STR(" ]"), &room, hash);
	assert(memcmp(hash, other, sizeof hash) == 0);
	json_value_room_done(&room);
}

/* Any bytes can be a string. It reads as the same bytes if they are UTF-8. */
static void check_written(struct qless_str text, bool is_utf8)
{
	struct buf out = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(256);
	struct json_strings strings;
	enum json_kind kind;

	buf_append_char(&out, '[');
	json_append_string(&out, text);
	buf_append_char(&out, ']');
	assert(json_check(buf_str(&out), &kind, &error) && kind == JSON_ARRAY);
	assert(json_read_strings(buf_str(&out), false, &strings));
	assert(strings.count == 1 && str_equal(strings.items[0], text) == is_utf8);
	json_strings_done(&strings);
	buf_done(&out);
	buf_done(&error);
}

/* ---- by way of commands ---- */

struct subject {
	struct queue_caller classic;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
	struct buf reply;
};

static int run(struct subject *s, const char *name, const struct qless_str *args, size_t count)
{
	uint64_t changes = qless_changes(s->classic.own.engine);
	struct iovec piece;
	int rc = queue_run(&s->classic, queue_command_find(str_from(name)), REQUEST_QLESS, NOW,
			   args, count, &s->writer);

	buf_clear(&s->reply);
	while (chain_peek(&s->out, &piece, 1, SIZE_MAX) > 0) {
		buf_append(&s->reply, piece.iov_base, piece.iov_len);
		chain_consume(&s->out, piece.iov_len);
	}
	assert(s->reply.len > 0 && (buf_data(&s->reply)[0] == '-') == (rc < 0));
	if (rc < 0)
		assert(qless_changes(s->classic.own.engine) == changes);
	return rc;
}

#define RUN(s, name, ...)                                       \
	run(s, name, (const struct qless_str[]){ __VA_ARGS__ }, \
	    sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str))

/* The reply is a bulk string with JSON. */
static void check_reply(const struct subject *s)
{
	struct buf error = BUF_INIT(256);
	const char *begin = memchr(buf_data(&s->reply), '\n', s->reply.len);
	struct qless_str json;
	enum json_kind kind;

	assert(buf_data(&s->reply)[0] == '$' && begin != NULL);
	json = str_make(begin + 1, s->reply.len - (size_t)(begin + 1 - buf_data(&s->reply)) - 2);
	assert(json_check(json, &kind, &error));
	buf_done(&error);
}

static void check_commands(struct subject *s, struct qless_str text, bool is_good)
{
	const struct qless_job *job;
	struct qless_job_info info;
	int rc = RUN(s, "put", STR("w"), STR("q"), STR("j"), STR("K"), text, STR("0"));

	assert(is_good || rc < 0);
	if (rc == 0) {
		job = qless_get(s->classic.own.engine, STR("j"));
		qless_job_read(job, &info);
		assert(str_equal(info.data, text));
	}
	RUN(s, "put", STR("w"), STR("q"), STR("k"), STR("K"), STR("{}"), STR("0"), STR("tags"),
	    text);
	RUN(s, "put", STR("w"), STR("q"), STR("l"), STR("K"), STR("{}"), STR("0"), STR("depends"),
	    text);
	RUN(s, "recur", STR("q"), STR("r"), STR("K"), text, STR("interval"), STR("60"), STR("0"),
	    STR("tags"), text);
	RUN(s, "recur.update", STR("r"), STR("data"), text);
	RUN(s, "log", STR("k"), STR("said"), text);
	RUN(s, "log", STR("j"), text);
	RUN(s, "pop", STR("q"), STR("w"), STR("5"));
	RUN(s, "heartbeat", STR("k"), STR("w"), text);
	RUN(s, "fail", STR("j"), STR("w"), STR("g"), text, text);
	RUN(s, "complete", STR("k"), STR("w"), STR("q"), text, STR("next"), STR("q2"),
	    STR("depends"), text);
	RUN(s, "multiput", STR("w"), STR("q"), STR("0"), STR("jobs"), STR("m"), STR("K"), text);
	RUN(s, "config.set", STR("application"), text);
	RUN(s, "config.get", STR("application"));
	run(s, "config.get", NULL, 0);
	if (qless_get(s->classic.own.engine, STR("j")) != NULL) {
		RUN(s, "get", STR("j"));
		check_reply(s);
	}
	if (qless_get(s->classic.own.engine, STR("k")) != NULL) {
		RUN(s, "get", STR("k"));
		check_reply(s);
	}
	if (qless_recur_get(s->classic.own.engine, STR("r")) != NULL) {
		RUN(s, "recur.get", STR("r"));
		check_reply(s);
	}
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

/* Whether the text is UTF-8, as yyjson judges a string of it whose special bytes are escaped. Our
 * own check must agree. */
static bool text_is_utf8(struct qless_str text)
{
	struct buf out = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(256);
	enum json_kind kind;
	bool result;

	json_append_stored_string(&out, text);
	result = json_check(buf_str(&out), &kind, &error);
	assert(result == utf8_is_valid(text));
	buf_done(&out);
	buf_done(&error);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of just this size, so that a sanitizer sees a read of the byte after it. */
	char *copy = mem_alloc(size + (size == 0));
	struct qless_str text = str_make(copy, size);
	struct qless_hooks hooks = { .hash_seed = 1 };
	struct buf error = BUF_INIT(256);
	struct subject s;
	static const struct json_bounds no_bounds = { JSON_DEPTH_MAX, SIZE_MAX };
	struct json_shape shape;
	enum json_kind kind;
	bool is_good, is_utf8;

	if (size != 0)
		memcpy(copy, data, size);
	is_good = json_check(text, &kind, &error);
	assert(is_good || error.len > 0);
	assert(json_walk(text, &no_bounds, &shape, &error) == is_good);
	assert(!is_good || shape.kind == kind);
	is_utf8 = text_is_utf8(text);
	assert(!is_good || is_utf8);
	(void)json_is_deeper(text, 3);
	if (is_good) {
		assert(!json_is_deeper(text, size + 1));
		check_strings(text, false);
		check_strings(text, true);
		check_value(text);
	}
	check_written(text, is_utf8);

	queue_caller_init(&s.classic, qless_new(&hooks));
	s.classic.own.max_json_depth = 100;
	chunk_pool_init(&s.pool, 1);
	chain_init(&s.out, &s.pool);
	resp_writer_init(&s.writer, &s.out, 2);
	buf_init(&s.reply, BUF_NO_MAX);
	check_commands(&s, text, is_good);
	qless_check(s.classic.own.engine, fail_finding, NULL);

	qless_free(s.classic.own.engine);
	queue_caller_done(&s.classic);
	chain_done(&s.out);
	chunk_pool_done(&s.pool);
	buf_done(&s.reply);
	buf_done(&error);
	free(copy);
	return 0;
}
