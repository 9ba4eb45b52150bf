/*
 * Any bytes for the request parser. It must not crash or read past the end, and must find the same
 * requests and the same error however the bytes are cut. The writer sends each request again, which
 * must be parsed as the same arguments.
 *
 * The first byte of an input chooses the limits, and the second one how the rest is cut.
 */
#include <assert.h>
#include <stdint.h>

#include "resp/parser.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/mem.h"

/* Small enough for the fuzzer to reach each of them. */
static const struct resp_limits limit_choices[] = {
	RESP_LIMITS_DEFAULT,
	{ .max_args = 4, .max_bulk = 9, .max_inline = 20, .max_request = 60 },
	{ .max_args = 20,
	  .max_bulk = 40,
	  .max_inline = 5,
	  .max_request = 100,
	  .unauthenticated = true },
	{ .max_args = RESP_MAX_ARGS,
	  .max_bulk = RESP_MAX_BULK,
	  .max_inline = RESP_MAX_INLINE,
	  .max_request = RESP_MAX_REQUEST,
	  .unauthenticated = true },
};

/* Write a request as a client does, and parse it again. */
static void check_round_trip(const struct resp_request *r, struct chunk_pool *pool)
{
	const struct resp_limits limits = RESP_LIMITS_DEFAULT;
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct resp_parser parser;
	struct resp_request again;
	struct reply w;
	struct iovec piece;
	struct chain out;
	enum resp_status status;

	chain_init(&out, pool);
	resp_writer_init(&w, &out, 2);
	reply_array(&w, r->argc);
	for (size_t i = 0; i < r->argc; i++)
		reply_bulk(&w, r->argv[i]);
	while (chain_peek(&out, &piece, 1, SIZE_MAX) != 0) {
		buf_append(&bytes, piece.iov_base, piece.iov_len);
		chain_consume(&out, piece.iov_len);
	}

	resp_parser_init(&parser);
	resp_request_init(&again);
	status = resp_parse(&parser, &limits, buf_data(&bytes), bytes.len, &again);
	assert(status == RESP_REQUEST);
	assert(again.consumed == bytes.len);
	assert(again.argc == r->argc);
	for (size_t i = 0; i < r->argc; i++)
		assert(str_equal(again.argv[i], r->argv[i]));
	resp_request_done(&again);
	chain_done(&out);
	buf_done(&bytes);
}

/* Text from outside in a simple string or an error stays on one line. */
static void check_line(struct qless_str text, struct chunk_pool *pool)
{
	struct reply w;
	struct iovec piece;
	struct chain out;

	chain_init(&out, pool);
	resp_writer_init(&w, &out, 3);
	reply_status(&w, text);
	chain_peek(&out, &piece, 1, SIZE_MAX);
	assert(piece.iov_len == text.len + 3);
	assert(memchr(piece.iov_base, '\r', piece.iov_len) ==
	       (char *)piece.iov_base + piece.iov_len - 2);
	assert(memchr(piece.iov_base, '\n', piece.iov_len) ==
	       (char *)piece.iov_base + piece.iov_len - 1);
	chain_done(&out);
}

static void note_request(struct buf *log, const struct resp_request *r)
{
	buf_printf(log, "[%zu", r->argc);
	for (size_t i = 0; i < r->argc; i++) {
		buf_printf(log, " %zu:", r->argv[i].len);
		buf_append_str(log, r->argv[i]);
	}
	buf_append_char(log, ']');
}

/* The requests of the stream, if each delivery brings up to `max_piece` more bytes, and moves the
 * earlier ones. */
static struct buf read_stream(const struct resp_limits *limits, struct qless_str stream,
			      size_t max_piece, struct chunk_pool *pool)
{
	struct buf log = BUF_INIT(BUF_NO_MAX);
	struct resp_request r;
	struct resp_parser parser;
	size_t start = 0, end = 0;
	bool failed = false;

	resp_parser_init(&parser);
	resp_request_init(&r);
	while (end < stream.len && !failed) {
		size_t piece = max_piece < stream.len - end ? max_piece : stream.len - end;
		enum resp_status status;
		char *bytes;
		size_t at = 0, len;

		end += piece;
		len = end - start;
		bytes = mem_alloc(len);
		memcpy(bytes, stream.ptr + start, len);
		while ((status = resp_parse(&parser, limits, bytes + at, len - at, &r)) ==
		       RESP_REQUEST) {
			assert(r.consumed != 0 && r.consumed <= len - at);
			note_request(&log, &r);
			if (max_piece == stream.len) {
				check_round_trip(&r, pool);
				if (r.argc != 0)
					check_line(r.argv[r.argc - 1], pool);
			}
			at += r.consumed;
		}
		if (status == RESP_ERROR) {
			buf_printf(&log, "!%s", r.error);
			failed = true;
		} else {
			assert(resp_parser_wanted(&parser, len - at) >= 1);
			assert(resp_parser_is_idle(&parser) == (at == len));
		}
		/* Memory for slices and words follows the bytes that arrived, not the announced
		 * ones. */
		assert(r.argv_cap <= 2 * stream.len + 16);
		assert(r.text_cap <= stream.len);
		start += at;
		free(bytes);
	}
	resp_request_done(&r);
	return log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct resp_limits *limits;
	struct chunk_pool pool;
	struct qless_str stream;
	struct buf whole, pieces, single;

	if (size < 3)
		return 0;
	limits = &limit_choices[data[0] % (sizeof limit_choices / sizeof *limit_choices)];
	stream = str_make((const char *)data + 2, size - 2);

	chunk_pool_init(&pool, 2);
	whole = read_stream(limits, stream, stream.len, &pool);
	pieces = read_stream(limits, stream, 2 + data[1] % 30, &pool);
	single = read_stream(limits, stream, 1, &pool);
	assert(str_equal(buf_str(&whole), buf_str(&pieces)));
	assert(str_equal(buf_str(&whole), buf_str(&single)));
	buf_done(&whole);
	buf_done(&pieces);
	buf_done(&single);
	chunk_pool_done(&pool);
	return 0;
}
