/*
 * Any bytes for the parser of HTTP. It must not crash or read past the end, and must find the same
 * requests and the same error however the bytes are cut. The decoded parts of a target must fit
 * into it, and whatever a response echoes must stay in its header line.
 *
 * The first byte of an input chooses the limit of a body, and the second one how the rest is cut.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "http/parser.h"
#include "http/response.h"
#include "util/buf.h"
#include "util/mem.h"

static const size_t body_limits[] = { 0, 5, 40, (size_t)8 * 1024 * 1024 };

static struct http_request request;

static void note_str(struct buf *log, struct qless_str s)
{
	buf_printf(log, " %zu:", s.len);
	buf_append_str(log, s);
}

static void note_target(struct buf *log, const struct http_target *t)
{
	size_t bytes = 0;

	for (size_t i = 0; i < t->segment_count; i++) {
		note_str(log, t->segments[i]);
		bytes += t->segments[i].len;
	}
	for (size_t i = 0; i < t->parameter_count; i++) {
		note_str(log, t->parameters[i].name);
		note_str(log, t->parameters[i].value);
		bytes += t->parameters[i].name.len + t->parameters[i].value.len;
	}
	assert(bytes <= t->path.len + t->query.len);
	assert(t->path.len != 0 && t->path.ptr[0] == '/');
}

static void note_request(struct buf *log, const struct http_request *r)
{
	buf_printf(log, "[%d %d%d%d%d", (int)r->method, r->minor, r->keep_alive, r->has_body,
		   r->wants_continue);
	note_target(log, &r->target);
	for (int i = 0; i < HTTP_FIELD_COUNT; i++) {
		if (r->fields[i].ptr != NULL)
			note_str(log, r->fields[i]);
	}
	note_str(log, r->body);
	buf_append_char(log, ']');
}

static void check_echo(const struct http_request *r, struct chunk_pool *pool)
{
	struct iovec piece;
	struct chain out;
	const char *line;

	chain_init(&out, pool);
	http_write_field(&out, STR("Location"),
			 r->target.segment_count != 0 ? r->target.segments[0] : r->target.path);
	assert(chain_peek(&out, &piece, 1, SIZE_MAX) == 1);
	line = piece.iov_base;
	assert(memchr(line, '\r', piece.iov_len) == line + piece.iov_len - 2);
	assert(memchr(line, '\n', piece.iov_len) == line + piece.iov_len - 1);
	chain_done(&out);
}

/* The requests of the stream, if each delivery brings up to `max_piece` more bytes, and moves the
 * earlier ones. */
static struct buf read_stream(struct qless_str stream, size_t max_body, size_t max_piece,
			      struct chunk_pool *pool)
{
	struct buf log = BUF_INIT(BUF_NO_MAX);
	enum http_parse_status status = HTTP_NEED_MORE;
	struct http_parser parser;
	char *bytes = mem_alloc(1);
	size_t len = 0, sent = 0;

	http_parser_init(&parser);
	while (sent < stream.len && status != HTTP_ERROR) {
		size_t piece = max_piece < stream.len - sent ? max_piece : stream.len - sent;
		char *moved = mem_alloc(len + piece);
		size_t at = 0;

		memcpy(moved, bytes, len);
		memcpy(moved + len, stream.ptr + sent, piece);
		free(bytes);
		bytes = moved;
		len += piece;
		sent += piece;
		while ((status = http_parse(&parser, bytes + at, len - at, &request)) ==
			       HTTP_HEAD ||
		       status == HTTP_REQUEST) {
			if (status == HTTP_HEAD) {
				http_parser_accept(&parser, max_body);
				continue;
			}
			assert(request.consumed != 0 && request.consumed <= len - at);
			assert(request.body.len <= max_body);
			note_request(&log, &request);
			check_echo(&request, pool);
			at += request.consumed;
			http_parser_init(&parser);
		}
		if (status == HTTP_ERROR) {
			assert(request.status >= 400 && request.status < 600);
			buf_printf(&log, "!%d %s", request.status, request.error);
		} else {
			assert(http_parser_wanted(&parser, len - at) >= 1);
			assert(http_parser_is_idle(&parser) == (at == len));
		}
		len -= at;
		memmove(bytes, bytes + at, len);
	}
	free(bytes);
	return log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, pieces, single;
	struct chunk_pool pool;
	struct qless_str stream;
	size_t max_body;

	if (size < 3)
		return 0;
	max_body = body_limits[data[0] % (sizeof body_limits / sizeof *body_limits)];
	stream = str_make((const char *)data + 2, size - 2);

	chunk_pool_init(&pool, 2);
	whole = read_stream(stream, max_body, stream.len, &pool);
	pieces = read_stream(stream, max_body, 2 + data[1] % 30, &pool);
	single = read_stream(stream, max_body, 1, &pool);
	assert(str_equal(buf_str(&whole), buf_str(&pieces)));
	assert(str_equal(buf_str(&whole), buf_str(&single)));
	buf_done(&whole);
	buf_done(&pieces);
	buf_done(&single);
	chunk_pool_done(&pool);
	return 0;
}
