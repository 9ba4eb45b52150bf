/*
 * A request of the API: a line with a method and a target, and a body. It becomes the arguments of
 * a command or an error, and the command replies with JSON, whatever the bytes are. A body is valid
 * just if other readers of JSON say so. The body is also taken as the text of INFO.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"
#include "command/json.h"
#include "command/rows.h"
#include "http/arguments.h"
#include "http/body.h"
#include "http/json_reply.h"
#include "http/json_text.h"
#include "qless.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/mem.h"

#define NOW	  1700000000.0
#define DEPTH_MAX 100

static void check_json(struct qless_str text)
{
	static const struct json_bounds bounds = { JSON_DEPTH_MAX, SIZE_MAX };
	struct buf error = BUF_INIT(256);
	struct json_shape shape;

	if (!json_walk(text, &bounds, &shape, &error)) {
		fprintf(stderr, "%.*s\nin %.*s\n", (int)error.len, buf_data(&error), (int)text.len,
			text.ptr);
		abort();
	}
	buf_done(&error);
}

static void check_body(struct qless_str text)
{
	static const struct json_bounds bounds = { DEPTH_MAX, SIZE_MAX };
	struct buf error = BUF_INIT(256);
	char why[BODY_ERROR_SIZE];
	struct json_shape shape;

	assert(body_check(text, DEPTH_MAX, why) == json_walk(text, &bounds, &shape, &error));
	buf_done(&error);
}

static void check_texts(struct qless_str text)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	json_text_append_info(&b, text);
	check_json(buf_str(&b));
	buf_clear(&b);
	json_text_append_clients(&b, text);
	check_json(buf_str(&b));
	buf_done(&b);
}

/* ---- commands ---- */

struct subject {
	struct queue_caller caller;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
	struct json_reply state;
	struct buf reply;
};

static void begin(struct subject *s)
{
	struct qless_hooks hooks = { .hash_seed = 1 };

	queue_caller_init(&s->caller, qless_new(&hooks));
	s->caller.own.max_json_depth = DEPTH_MAX;
	chunk_pool_init(&s->pool, 1);
	chain_init(&s->out, &s->pool);
	json_reply_init(&s->writer, &s->out, &s->state);
	buf_init(&s->reply, BUF_NO_MAX);
}

static void end(struct subject *s)
{
	qless_free(s->caller.own.engine);
	queue_caller_done(&s->caller);
	chain_done(&s->out);
	chunk_pool_done(&s->pool);
	buf_done(&s->reply);
}

/* Runs a command, if it is about queues and has that many arguments. */
static void run(struct subject *s, const struct route *route, const struct qless_str *argv,
		size_t argc)
{
	const struct command *row = queue_command_find(argv[0]);
	struct iovec piece;

	if (row == NULL || !command_takes(row, (int)argc - 1))
		return;
	json_reply_begin(&s->state, str_from(route->wrap), route->text);
	queue_run(&s->caller, row, REQUEST_NATIVE, NOW, argv + 1, argc - 1, &s->writer);
	buf_clear(&s->reply);
	while (chain_peek(&s->out, &piece, 1, SIZE_MAX) > 0) {
		buf_append(&s->reply, piece.iov_base, piece.iov_len);
		chain_consume(&s->out, piece.iov_len);
	}
	assert((s->reply.len == 0) == s->state.is_null);
	if (s->reply.len != 0)
		check_json(buf_str(&s->reply));
}

static void run_request(struct subject *s, const struct http_request *req)
{
	const struct arguments_context context = { .user = STR("alice"),
						   .idempotency_prefix = STR("once:"),
						   .now = NOW,
						   .max_json_depth = DEPTH_MAX };
	struct arguments a;
	const struct route *route;
	unsigned allowed;

	route = routes_find(req->method, &req->target, &allowed);
	if (route == NULL)
		return;
	arguments_init(&a);
	if (arguments_make(&a, route, req, &context)) {
		assert(a.argc != 0 && a.gap_count <= ARGUMENTS_GAPS_MAX);
		arguments_fill(&a, STR("q"), STR("k"), STR("{}"), true);
		run(s, route, a.argv, a.argc);
	} else {
		assert(a.code != NULL && a.error.len != 0);
	}
	arguments_trim(&a);
	arguments_done(&a);
}

static bool read_method(struct qless_str text, enum http_method *ret_method)
{
	for (unsigned method = 0; method < HTTP_METHOD_COUNT; method++) {
		if (str_equal(text, http_method_name(method))) {
			*ret_method = method;
			return true;
		}
	}
	return false;
}

/* Takes the bytes before the first `end`. */
static struct qless_str take(struct qless_str *rest, char end)
{
	const char *found = rest->len != 0 ? memchr(rest->ptr, end, rest->len) : NULL;
	size_t len = found != NULL ? (size_t)(found - rest->ptr) : rest->len;
	struct qless_str taken = str_make(rest->ptr, len);

	*rest = found != NULL ? str_make(found + 1, rest->len - len - 1)
			      : str_make(rest->ptr + len, 0);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qless_str rest = str_make(size != 0 ? (const char *)data : "", size);
	struct qless_str method = take(&rest, ' '), target = take(&rest, '\n');
	/* A block of just this size, so that a sanitizer sees a read of the byte after it. */
	char *body = mem_alloc(rest.len + (rest.len == 0));
	struct http_request *req = mem_zalloc(sizeof *req);
	struct subject s;

	if (rest.len != 0)
		memcpy(body, rest.ptr, rest.len);
	req->body = str_make(body, rest.len);
	check_body(req->body);
	check_texts(req->body);
	if (read_method(method, &req->method) && http_target_parse(&req->target, target) == 0) {
		begin(&s);
		/* Twice, because the second one finds what the first one made. */
		run_request(&s, req);
		run_request(&s, req);
		end(&s);
	}
	free(req);
	free(body);
	return 0;
}
