/*
 * The reply writer.
 *
 * What is short is put together in one reserved piece of the chain; only strings worth copying in
 * pieces go through chain_append(), which uses up the last chunk first.
 */
#include "resp/writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "util/num.h"

/* A type, a number, CR LF. */
#define HEADER_MAX (1 + NUM_MAX + 2)

/* Strings up to this length are written in one piece with their header. Larger ones would leave too
 * much of a chunk unused when they do not fit in what is left of it. */
#define SHORT_BULK 512

/* A deferred body up to this length is copied, so that a row of small ones does not fill a row of
 * chunks. */
#define SHORT_BODY 2048

void resp_writer_init(struct resp_writer *w, struct chain *out, int proto)
{
	assert(proto >= RESP_PROTO_MIN && proto <= RESP_PROTO_MAX);
	*w = (struct resp_writer){ .out = out, .proto = proto };
}

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

static void write_number_line(struct resp_writer *w, char type, int64_t value)
{
	char *start, *end;

	if (w->muted)
		return;
	start = chain_reserve(w->out, HEADER_MAX);
	end = put_number_line(start, type, value);
	chain_commit(w->out, (size_t)(end - start));
}

static void write_text_line(struct resp_writer *w, char type, const char *code,
			    struct qless_str text)
{
	size_t code_len = code != NULL ? strlen(code) : 0;
	char *start, *to;

	if (w->muted)
		return;
	start = to = chain_reserve(w->out, 1 + code_len + 1 + text.len + 2);
	*to++ = type;
	if (code != NULL) {
		to = put_bytes(to, code, code_len);
		*to++ = ' ';
	}
	to = put_line_end(put_text(to, text));
	chain_commit(w->out, (size_t)(to - start));
}

/* A few bytes that are a reply already. */
static inline void write_short(struct resp_writer *w, struct qless_str bytes)
{
	if (w->muted)
		return;
	put_bytes(chain_reserve(w->out, bytes.len), bytes.ptr, bytes.len);
	chain_commit(w->out, bytes.len);
}

void resp_write_raw(struct resp_writer *w, struct qless_str bytes)
{
	if (!w->muted)
		chain_append_str(w->out, bytes);
}

/* ---- simple replies ---- */

void resp_write_ok(struct resp_writer *w)
{
	write_short(w, RESP_OK);
}

void resp_write_status(struct resp_writer *w, struct qless_str text)
{
	write_text_line(w, '+', NULL, text);
}

/* The first word of an error: what clients branch on and statistics are kept by. */
static void note_error(struct resp_writer *w, struct qless_str line)
{
	const char *blank = line.len != 0 ? memchr(line.ptr, ' ', line.len) : NULL;
	size_t len = blank != NULL ? (size_t)(blank - line.ptr) : line.len;

	if (len > RESP_ERROR_CODE_MAX)
		len = RESP_ERROR_CODE_MAX;
	memset(w->last_error, 0, sizeof w->last_error);
	if (len != 0)
		memcpy(w->last_error, line.ptr, len);
	w->errors++;
}

void resp_write_error(struct resp_writer *w, const char *code, struct qless_str text)
{
	note_error(w, str_from(code));
	write_text_line(w, '-', code, text);
}

void resp_write_errorf(struct resp_writer *w, const char *code, const char *format, ...)
{
	char text[RESP_ERROR_TEXT_MAX + 1] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	resp_write_error(w, code, str_from(text));
}

void resp_write_error_line(struct resp_writer *w, struct qless_str line)
{
	note_error(w, line);
	write_text_line(w, '-', NULL, line);
}

void resp_write_integer(struct resp_writer *w, int64_t value)
{
	write_number_line(w, ':', value);
}

void resp_write_boolean(struct resp_writer *w, bool value)
{
	if (w->proto == 2)
		write_short(w, value ? RESP_ONE : RESP_ZERO);
	else
		write_short(w, value ? STR("#t\r\n") : STR("#f\r\n"));
}

void resp_write_null(struct resp_writer *w)
{
	write_short(w, w->proto == 2 ? STR("$-1\r\n") : STR("_\r\n"));
}

void resp_write_null_array(struct resp_writer *w)
{
	write_short(w, w->proto == 2 ? STR("*-1\r\n") : STR("_\r\n"));
}

/* A value that RESP3 has a type for, on a line, and that is a bulk string in RESP2. */
static void write_typed_text(struct resp_writer *w, char type, struct qless_str text)
{
	if (w->proto == 2)
		resp_write_bulk(w, text);
	else
		write_text_line(w, type, NULL, text);
}

void resp_write_double(struct resp_writer *w, double value)
{
	char text[NUM_MAX];
	size_t len;

	/* The C library also knows a negative NaN. */
	len = num_format_g17(text, isnan(value) ? (double)NAN : value);
	write_typed_text(w, ',', str_make(text, len));
}

void resp_write_big_number(struct resp_writer *w, struct qless_str digits)
{
	write_typed_text(w, '(', digits);
}

/* ---- strings ---- */

void resp_write_bulk(struct resp_writer *w, struct qless_str s)
{
	char *start, *to;

	if (w->muted)
		return;
	if (s.len > SHORT_BULK) {
		write_number_line(w, '$', (int64_t)s.len);
		chain_append_str(w->out, s);
		chain_append_str(w->out, STR("\r\n"));
		return;
	}
	start = chain_reserve(w->out, HEADER_MAX + s.len + 2);
	to = put_number_line(start, '$', (int64_t)s.len);
	to = put_line_end(put_bytes(to, s.ptr, s.len));
	chain_commit(w->out, (size_t)(to - start));
}

void resp_write_bulk_integer(struct resp_writer *w, int64_t value)
{
	char text[NUM_MAX];

	resp_write_bulk(w, str_make(text, num_format_i64(text, value)));
}

void resp_write_bulkf(struct resp_writer *w, const char *format, ...)
{
	char text[SHORT_BULK + 1];
	char *start, *to;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	assert(len >= 0);
	if (len <= SHORT_BULK) {
		resp_write_bulk(w, str_make(text, (size_t)len));
		return;
	}
	if (w->muted)
		return;
	/* The NUL goes where the CR will be. */
	start = chain_reserve(w->out, HEADER_MAX + (size_t)len + 2);
	to = put_number_line(start, '$', len);
	va_start(args, format);
	vsnprintf(to, (size_t)len + 1, format, args);
	va_end(args);
	to = put_line_end(to + len);
	chain_commit(w->out, (size_t)(to - start));
}

void resp_write_verbatim(struct resp_writer *w, const char *type, struct qless_str s)
{
	char head[HEADER_MAX + 4];
	char *to;

	assert(strlen(type) == 3);
	if (w->proto == 2) {
		resp_write_bulk(w, s);
		return;
	}
	to = put_number_line(head, '=', (int64_t)s.len + 4);
	to = put_bytes(to, type, 3);
	*to++ = ':';
	resp_write_raw(w, str_make(head, (size_t)(to - head)));
	resp_write_raw(w, s);
	resp_write_raw(w, STR("\r\n"));
}

/* ---- aggregates ---- */

void resp_write_header(struct resp_writer *w, enum resp_aggregate type, size_t count)
{
	static const char resp3_types[] = {
		[RESP_ARRAY] = '*',
		[RESP_MAP] = '%',
		[RESP_SET] = '~',
		[RESP_PUSH] = '>',
	};

	if (w->proto == 2)
		write_number_line(w, '*', (int64_t)(type == RESP_MAP ? 2 * count : count));
	else
		write_number_line(w, resp3_types[type], (int64_t)count);
}

void resp_deferred_begin(struct resp_writer *w, struct resp_deferred *d)
{
	chain_init(&d->body, w->out->pool);
	d->out = w->out;
	w->out = &d->body;
}

void resp_deferred_leave(struct resp_writer *w, struct resp_deferred *d)
{
	assert(w->out == &d->body);
	w->out = d->out;
}

/* Back to the chain from before begin, unless it has been left. */
static void leave_body(struct resp_writer *w, struct resp_deferred *d)
{
	if (w->out != d->out)
		resp_deferred_leave(w, d);
	/* Whoever wrote to the chain directly need not have looked whether the writer is muted. */
	if (w->muted)
		chain_done(&d->body);
}

static void append_body(struct resp_writer *w, struct resp_deferred *d)
{
	struct iovec piece;

	if (d->body.len > SHORT_BODY) {
		chain_move(w->out, &d->body);
		return;
	}
	while (chain_peek(&d->body, &piece, 1, SHORT_BODY) != 0) {
		chain_append(w->out, piece.iov_base, piece.iov_len);
		chain_consume(&d->body, piece.iov_len);
	}
	chain_done(&d->body);
}

void resp_deferred_end(struct resp_writer *w, struct resp_deferred *d, enum resp_aggregate type,
		       size_t count)
{
	leave_body(w, d);
	resp_write_header(w, type, count);
	append_body(w, d);
}

void resp_deferred_end_bulk(struct resp_writer *w, struct resp_deferred *d)
{
	leave_body(w, d);
	write_number_line(w, '$', (int64_t)d->body.len);
	append_body(w, d);
	resp_write_raw(w, STR("\r\n"));
}

void resp_deferred_drop(struct resp_writer *w, struct resp_deferred *d)
{
	leave_body(w, d);
	chain_done(&d->body);
}
