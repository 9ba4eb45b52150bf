/*
 * The part of a reply that does not depend on the protocol.
 */
#include "resp/reply.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/mem.h"
#include "util/num.h"

/* Formatted strings up to this length in bytes need no allocation. */
#define SHORT_TEXT 512

/* A deferred body up to this length in bytes is copied, so that many small ones do not fill a chunk
 * each. */
#define SHORT_BODY 2048

void reply_init(struct reply *r, const struct reply_ops *ops, struct chain *out)
{
	*r = (struct reply){ .ops = ops, .out = out, .max = REPLY_NO_MAX };
}

bool reply_fill(struct reply *r)
{
	r->muted = true;
	r->is_full = true;
	return false;
}

void reply_cut(struct reply *r, size_t len)
{
	if (len < r->out->len)
		chain_truncate(r->out, len);
	r->muted = false;
	if (r->ops->restart != NULL)
		r->ops->restart(r);
}

/* ---- errors ---- */

/* Remembers the code word: clients branch on it, and INFO errorstats counts by it. */
static void note_error(struct reply *r, struct qless_str code)
{
	size_t len = code.len < REPLY_ERROR_CODE_MAX ? code.len : REPLY_ERROR_CODE_MAX;

	memset(r->last_error, 0, sizeof r->last_error);
	if (len != 0)
		memcpy(r->last_error, code.ptr, len);
	r->errors++;
}

static void write_error(struct reply *r, struct qless_str code, struct qless_str text)
{
	note_error(r, code);
	if (!r->muted)
		r->ops->error(r, code, text);
}

void reply_error(struct reply *r, const char *code, struct qless_str text)
{
	write_error(r, str_from(code), text);
}

void reply_errorf(struct reply *r, const char *code, const char *format, ...)
{
	char text[REPLY_ERROR_TEXT_MAX + 1] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	reply_error(r, code, str_from(text));
}

void reply_error_line(struct reply *r, struct qless_str line)
{
	const char *blank = line.len != 0 ? memchr(line.ptr, ' ', line.len) : NULL;
	size_t len = blank != NULL ? (size_t)(blank - line.ptr) : line.len;

	if (blank == NULL)
		write_error(r, line, STR(""));
	else
		write_error(r, str_make(line.ptr, len), str_make(blank + 1, line.len - len - 1));
}

/* ---- strings ---- */

void reply_bulk_integer(struct reply *r, int64_t value)
{
	char text[NUM_MAX];

	reply_bulk(r, str_make(text, num_format_i64(text, value)));
}

void reply_bulkf(struct reply *r, const char *format, ...)
{
	char space[SHORT_TEXT + 1], *text = space;
	va_list args;
	int len;

	if (r->muted)
		return;
	va_start(args, format);
	len = vsnprintf(text, sizeof space, format, args);
	va_end(args);
	assert(len >= 0);
	if (len > SHORT_TEXT) {
		text = mem_alloc((size_t)len + 1);
		va_start(args, format);
		vsnprintf(text, (size_t)len + 1, format, args);
		va_end(args);
	}
	reply_bulk(r, str_make(text, (size_t)len));
	if (text != space)
		free(text);
}

/* ---- deferred values ---- */

void reply_deferred_begin(struct reply *r, struct reply_deferred *d, enum reply_type type)
{
	d->type = type;
	chain_init(&d->body, r->out->pool);
	d->out = r->out;
	d->max = r->max;
	if (r->max != REPLY_NO_MAX)
		r->max = reply_room(r);
	if (r->ops->begin != NULL && !r->muted)
		r->ops->begin(r, d);
	r->out = &d->body;
}

void reply_deferred_append(struct reply *r, struct reply_deferred *d, struct qless_str piece)
{
	assert(d->type == REPLY_TEXT);
	if (reply_takes(r, piece.len))
		chain_append_str(&d->body, piece);
}

void reply_deferred_leave(struct reply *r, struct reply_deferred *d)
{
	assert(r->out == &d->body);
	if (r->ops->leave != NULL && !r->muted)
		r->ops->leave(r, d);
	r->out = d->out;
	r->max = d->max;
}

/* Back to the chain from before begin, unless it has been left already. */
static void leave_body(struct reply *r, struct reply_deferred *d)
{
	if (r->out != d->out)
		reply_deferred_leave(r, d);
}

void reply_deferred_end(struct reply *r, struct reply_deferred *d, size_t count)
{
	leave_body(r, d);
	if (r->muted)
		chain_done(&d->body);
	else
		r->ops->finish(r, d, count);
	assert(d->body.len == 0);
}

void reply_deferred_drop(struct reply *r, struct reply_deferred *d)
{
	leave_body(r, d);
	chain_done(&d->body);
}

void reply_deferred_move(struct reply *r, struct reply_deferred *d)
{
	struct iovec piece;

	if (d->body.len > SHORT_BODY) {
		chain_move(r->out, &d->body);
		return;
	}
	while (chain_peek(&d->body, &piece, 1, SHORT_BODY) != 0) {
		chain_append(r->out, piece.iov_base, piece.iov_len);
		chain_consume(&d->body, piece.iov_len);
	}
	chain_done(&d->body);
}
