/*
 * The protocols RESP2 and RESP3.
 *
 * A short value is put together in one reserved piece of the chain. A long string goes through
 * chain_append(), which uses up the last chunk first.
 */
#include "resp/writer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "util/num.h"

/* A type, a number, CR LF. */
#define HEADER_MAX (1 + NUM_MAX + 2)

/* Strings up to this length in bytes are written in one piece with their header. Longer ones would
 * leave too much of a chunk unused when they do not fit into its rest. */
#define SHORT_BULK 512

/* Bytes of the type of a verbatim string. */
#define VERBATIM_TYPE_BYTES 3

/* ---- pieces: each writes at `to` and returns where the next one goes ---- */

static inline char *put_bytes(char *to, const void *src, size_t len)
{
	if (len != 0)
		memcpy(to, src, len);
	return to + len;
}

static inline char *put_line_end(char *to)
{
	to[0] = '\r';
	to[1] = '\n';
	return to + 2;
}

static inline char *put_number_line(char *to, char type, int64_t value)
{
	*to++ = type;
	if (value >= 0 && value <= 9)
		*to++ = (char)('0' + value);
	else
		to += num_format_i64(to, value);
	return put_line_end(to);
}

/* Text in a line must not end the line. */
static char *put_text(char *to, struct qless_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		*to++ = c == '\r' || c == '\n' ? ' ' : c;
	}
	return to;
}

/* ---- whole lines ---- */

static void write_number_line(struct reply *r, char type, int64_t value)
{
	char *start = chain_reserve(r->out, HEADER_MAX);
	char *end = put_number_line(start, type, value);

	chain_commit(r->out, (size_t)(end - start));
}

static void write_text_line(struct reply *r, char type, struct qless_str text)
{
	char *start, *to;

	start = to = chain_reserve(r->out, 1 + text.len + 2);
	*to++ = type;
	to = put_line_end(put_text(to, text));
	chain_commit(r->out, (size_t)(to - start));
}

/* A few bytes that are a whole value already. */
static inline void write_short(struct reply *r, struct qless_str bytes)
{
	put_bytes(chain_reserve(r->out, bytes.len), bytes.ptr, bytes.len);
	chain_commit(r->out, bytes.len);
}

/* ---- both versions ---- */

static void write_status(struct reply *r, struct qless_str text)
{
	write_text_line(r, '+', text);
}

static void write_error(struct reply *r, struct qless_str code, struct qless_str text)
{
	char *start, *to;

	start = to = chain_reserve(r->out, 1 + code.len + 1 + text.len + 2);
	*to++ = '-';
	to = put_text(to, code);
	if (text.len != 0)
		*to++ = ' ';
	to = put_line_end(put_text(to, text));
	chain_commit(r->out, (size_t)(to - start));
}

static void write_integer(struct reply *r, int64_t value)
{
	write_number_line(r, ':', value);
}

static void write_shared_bulk(struct reply *r, struct shared_bytes *s)
{
	write_number_line(r, '$', (int64_t)s->len);
	chain_append_shared(r->out, s);
	write_short(r, STR("\r\n"));
}

static void write_bulk(struct reply *r, struct qless_str s)
{
	char *start, *to;

	if (s.len > SHORT_BULK) {
		write_number_line(r, '$', (int64_t)s.len);
		chain_append_str(r->out, s);
		write_short(r, STR("\r\n"));
		return;
	}
	start = chain_reserve(r->out, HEADER_MAX + s.len + 2);
	to = put_number_line(start, '$', (int64_t)s.len);
	to = put_line_end(put_bytes(to, s.ptr, s.len));
	chain_commit(r->out, (size_t)(to - start));
}

static void finish(struct reply *r, struct reply_deferred *d, size_t count)
{
	if (d->type == REPLY_TEXT) {
		write_number_line(r, '$', (int64_t)d->body.len);
		reply_deferred_move(r, d);
		write_short(r, STR("\r\n"));
	} else {
		reply_header(r, d->type, count);
		reply_deferred_move(r, d);
	}
}

/* The C library also knows a negative NaN. As %.17g, which is what Redis 7.0 sends. */
static struct qless_str format_double(char text[NUM_MAX], double value)
{
	return str_make(text, num_format_g17(text, isnan(value) ? (double)NAN : value));
}

/* ---- RESP2 ---- */

static void write_boolean2(struct reply *r, bool value)
{
	write_integer(r, value);
}

static void write_null2(struct reply *r)
{
	write_short(r, STR("$-1\r\n"));
}

static void write_null_array2(struct reply *r)
{
	write_short(r, STR("*-1\r\n"));
}

static void write_double2(struct reply *r, double value)
{
	char text[NUM_MAX];

	write_bulk(r, format_double(text, value));
}

static void write_short_double2(struct reply *r, double value)
{
	char text[NUM_MAX];

	write_bulk(r, str_make(text, num_format_g14(text, value)));
}

static void write_verbatim2(struct reply *r, const char *type, struct qless_str s)
{
	(void)type;
	write_bulk(r, s);
}

static void write_header2(struct reply *r, enum reply_type type, size_t count)
{
	write_number_line(r, '*', (int64_t)(type == REPLY_MAP ? 2 * count : count));
}

static const struct reply_ops resp2 = {
	.status = write_status,
	.error = write_error,
	.integer = write_integer,
	.boolean = write_boolean2,
	.null = write_null2,
	.null_array = write_null_array2,
	.number = write_double2,
	.short_number = write_short_double2,
	.big_number = write_bulk,
	.bulk = write_bulk,
	.json = write_bulk,
	.bytes = write_bulk,
	.shared_bulk = write_shared_bulk,
	.verbatim = write_verbatim2,
	.header = write_header2,
	.finish = finish,
};

/* ---- RESP3 ---- */

static void write_boolean3(struct reply *r, bool value)
{
	write_short(r, value ? STR("#t\r\n") : STR("#f\r\n"));
}

static void write_null3(struct reply *r)
{
	write_short(r, STR("_\r\n"));
}

static void write_double3(struct reply *r, double value)
{
	char text[NUM_MAX];

	write_text_line(r, ',', format_double(text, value));
}

static void write_short_double3(struct reply *r, double value)
{
	char text[NUM_MAX];

	write_text_line(r, ',', str_make(text, num_format_g14(text, value)));
}

static void write_big_number3(struct reply *r, struct qless_str digits)
{
	write_text_line(r, '(', digits);
}

static void write_verbatim3(struct reply *r, const char *type, struct qless_str s)
{
	assert(strlen(type) == VERBATIM_TYPE_BYTES);
	write_number_line(r, '=', (int64_t)s.len + VERBATIM_TYPE_BYTES + 1);
	write_short(r, str_from(type));
	write_short(r, STR(":"));
	chain_append_str(r->out, s);
	write_short(r, STR("\r\n"));
}

static void write_header3(struct reply *r, enum reply_type type, size_t count)
{
	static const char types[] = {
		[REPLY_ARRAY] = '*',
		[REPLY_MAP] = '%',
		[REPLY_SET] = '~',
		[REPLY_PUSH] = '>',
	};

	assert(type < sizeof types);
	write_number_line(r, types[type], (int64_t)count);
}

static const struct reply_ops resp3 = {
	.status = write_status,
	.error = write_error,
	.integer = write_integer,
	.boolean = write_boolean3,
	.null = write_null3,
	.null_array = write_null3,
	.number = write_double3,
	.short_number = write_short_double3,
	.big_number = write_big_number3,
	.bulk = write_bulk,
	.json = write_bulk,
	.bytes = write_bulk,
	.shared_bulk = write_shared_bulk,
	.verbatim = write_verbatim3,
	.header = write_header3,
	.finish = finish,
	.nests_pairs = true,
};

void resp_writer_set_proto(struct reply *r, int proto)
{
	assert(proto >= RESP_PROTO_MIN && proto <= RESP_PROTO_MAX);
	r->ops = proto == 2 ? &resp2 : &resp3;
}

void resp_writer_init(struct reply *r, struct chain *out, int proto)
{
	reply_init(r, NULL, out);
	resp_writer_set_proto(r, proto);
}
