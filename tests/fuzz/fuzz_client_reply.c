/*
 * Any bytes as the replies of a server to our programs. The same replies come out, and the same
 * error, whatever the pieces are in which the bytes arrive.
 *
 * The first byte of an input chooses the size of the pieces.
 */
#include "client/client_reply.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A text for a reply: two replies are equal if their texts are. */
static void describe(const struct client_reply *r, struct buf *out)
{
	buf_printf(out, "%d:%lld:%zu:", (int)r->type, (long long)r->integer, r->len);
	buf_append_str(out, client_reply_str(r));
	buf_printf(out, "(%zu ", r->count);
	for (size_t i = 0; i < r->count; i++)
		describe(&r->elements[i], out);
	buf_append_char(out, ')');
}

static void check(const struct client_reply *r, unsigned depth)
{
	assert(depth <= CLIENT_REPLY_DEPTH_MAX);
	assert(r->ptr == NULL || r->ptr[r->len] == '\0');
	assert(r->count <= r->cap);
	if (r->type == CLIENT_REPLY_MAP)
		assert(r->count % 2 == 0);
	for (size_t i = 0; i < r->count; i++)
		check(&r->elements[i], depth + 1);
}

static void read_in_pieces(struct qless_str bytes, size_t piece, struct buf *out)
{
	struct client_reply_parser parser;
	struct buf in = BUF_INIT(BUF_NO_MAX);
	enum client_reply_status status = CLIENT_REPLY_MORE;

	client_reply_parser_init(&parser);
	while (bytes.len > 0 && status != CLIENT_REPLY_INVALID) {
		size_t len = bytes.len < piece ? bytes.len : piece;
		struct client_reply reply;

		buf_append(&in, bytes.ptr, len);
		bytes = str_make(bytes.ptr + len, bytes.len - len);
		while ((status = client_reply_parse(&parser, &in, &reply)) == CLIENT_REPLY_WHOLE) {
			check(&reply, 0);
			describe(&reply, out);
			client_reply_done(&reply);
		}
	}
	if (status == CLIENT_REPLY_INVALID) {
		struct client_reply reply;

		assert(client_reply_parse(&parser, &in, &reply) == CLIENT_REPLY_INVALID);
		buf_printf(out, "invalid: %s", parser.error);
	}
	client_reply_parser_done(&parser);
	buf_done(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT(BUF_NO_MAX), pieces = BUF_INIT(BUF_NO_MAX);
	struct qless_str bytes;

	if (size < 2)
		return 0;
	bytes = str_make((const char *)data + 1, size - 1);
	read_in_pieces(bytes, bytes.len, &whole);
	read_in_pieces(bytes, 1 + data[0] % 16, &pieces);
	assert(str_equal(buf_str(&whole), buf_str(&pieces)));
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
