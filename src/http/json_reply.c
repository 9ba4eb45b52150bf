#include "http/json_reply.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "http/json_text.h"
#include "util/base64.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/num.h"
#include "util/utf8.h"

/* Bytes of a string that are written in one piece of the chain. */
#define PIECE_BYTES ((size_t)512)
/* Bytes of the longest escape. */
#define ESCAPE_BYTES 6

static struct json_reply *state_of(const struct reply *r)
{
	return r->state;
}

static void write(struct reply *r, struct qless_str text)
{
	chain_append_str(r->out, text);
}

static void write_char(struct reply *r, char c)
{
	*chain_reserve(r->out, 1) = c;
	chain_commit(r->out, 1);
}

static void write_buf(struct reply *r, struct buf *b)
{
	write(r, buf_str(b));
	buf_done(b);
}

/* ---- strings ---- */

static char *put_escape(char *to, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char letters[] = "btn\0fr"; /* of the bytes 8 to 13 */

	*to++ = '\\';
	if (c == '"' || c == '\\') {
		*to++ = (char)c;
	} else if (c >= '\b' && c <= '\r' && letters[c - '\b'] != '\0') {
		*to++ = letters[c - '\b'];
	} else {
		memcpy(to, "u00", 3);
		to[3] = hex[c >> 4];
		to[4] = hex[c & 15];
		to += 5;
	}
	return to;
}

static void write_escaped(struct reply *r, struct qless_str piece)
{
	char *start = chain_reserve(r->out, ESCAPE_BYTES * piece.len), *to = start;

	for (size_t i = 0; i < piece.len; i++) {
		unsigned char c = (unsigned char)piece.ptr[i];

		if (c < ' ' || c == '"' || c == '\\')
			to = put_escape(to, c);
		else
			*to++ = (char)c;
	}
	chain_commit(r->out, (size_t)(to - start));
}

/* The text is UTF-8. A character may be divided between two pieces, because its bytes are written
 * as they are. */
static void write_utf8(struct reply *r, struct qless_str s)
{
	write_char(r, '"');
	for (size_t at = 0; at < s.len; at += PIECE_BYTES) {
		size_t left = s.len - at;

		write_escaped(r, str_make(s.ptr + at, left < PIECE_BYTES ? left : PIECE_BYTES));
	}
	write_char(r, '"');
}

/* Bytes that are not UTF-8 become \u00xx: for what must be a string. */
static void write_string(struct reply *r, struct qless_str s)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	if (utf8_is_valid(s)) {
		write_utf8(r, s);
		return;
	}
	json_append_plain_string(&b, s);
	write_buf(r, &b);
}

static void write_base64(struct reply *r, struct qless_str s)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	base64_append_json(&b, s);
	write_buf(r, &b);
}

/* ---- commas and brackets ---- */

static struct json_reply_level *top_of(struct json_reply *state)
{
	return state->depth != 0 ? &state->levels[state->depth - 1] : NULL;
}

/* Returns whether the next value is the key of a member. */
static bool is_key_next(const struct reply *r)
{
	const struct json_reply_level *top = top_of(state_of(r));

	return top != NULL && top->is_map && top->written % 2 == 0;
}

static struct qless_str take_name(struct json_reply *state)
{
	struct qless_str left = state->names_left;
	const char *blank = memchr(left.ptr, ' ', left.len);
	size_t len = blank != NULL ? (size_t)(blank - left.ptr) : left.len;

	state->names_left = blank != NULL ? str_make(blank + 1, left.len - len - 1)
					  : str_make(left.ptr + left.len, 0);
	return str_make(left.ptr, len);
}

static bool has_names(const struct json_reply *state)
{
	return memchr(state->wrap.ptr, ' ', state->wrap.len) != NULL;
}

/* A single name precedes the value that is the whole reply. */
static void begin_whole(struct reply *r)
{
	const struct json_reply *state = state_of(r);

	if (state->wrap.len == 0 || has_names(state))
		return;
	write_char(r, '{');
	write_utf8(r, state->wrap);
	write_char(r, ':');
}

static void begin_value(struct reply *r)
{
	struct json_reply *state = state_of(r);
	struct json_reply_level *top = top_of(state);

	if (top == NULL) {
		begin_whole(r);
		return;
	}
	if (top->written != 0)
		write_char(r, top->is_map && top->written % 2 != 0 ? ':' : ',');
	if (state->depth == 1 && state->names_members) {
		write_utf8(r, take_name(state));
		write_char(r, ':');
	}
	top->written++;
}

static char bracket(const struct json_reply *state, const struct json_reply_level *level,
		    const char brackets[2])
{
	bool is_object = level->is_map || (level == state->levels && state->names_members);

	return brackets[is_object ? 1 : 0];
}

/* Ends the aggregates whose last element this was. */
static void end_value(struct reply *r)
{
	struct json_reply *state = state_of(r);

	for (;;) {
		struct json_reply_level *top = top_of(state);

		if (top == NULL) {
			if (state->wrap.len != 0 && !has_names(state))
				write_char(r, '}');
			return;
		}
		if (top->is_deferred || top->written < top->total)
			return;
		write_char(r, bracket(state, top, "]}"));
		state->depth--;
	}
}

static struct json_reply_level *push(struct json_reply *state, enum reply_type type, size_t count)
{
	struct json_reply_level *level = &state->levels[state->depth++];

	assert(state->depth <= JSON_REPLY_LEVELS);
	*level = (struct json_reply_level){ .is_map = type == REPLY_MAP,
					    .total = type == REPLY_MAP ? 2 * count : count };
	return level;
}

/* ---- operations ---- */

static void write_whole(struct reply *r, struct qless_str text)
{
	begin_value(r);
	write(r, text);
	end_value(r);
}

static void op_bulk(struct reply *r, struct qless_str s)
{
	bool is_key = is_key_next(r);

	begin_value(r);
	if (is_key || utf8_is_valid(s))
		write_string(r, s);
	else
		write_base64(r, s);
	end_value(r);
}

static void op_bytes(struct reply *r, struct qless_str s)
{
	assert(!is_key_next(r));
	begin_value(r);
	write_base64(r, s);
	end_value(r);
}

static void op_json(struct reply *r, struct qless_str text)
{
	assert(!is_key_next(r));
	begin_value(r);
	json_text_write(r->out, text);
	end_value(r);
}

static void op_shared_bulk(struct reply *r, struct shared_bytes *s)
{
	op_bulk(r, str_make(s->data, s->len));
}

static void op_status(struct reply *r, struct qless_str text)
{
	if (str_equal(text, STR("OK")))
		write_whole(r, STR("true"));
	else
		op_bulk(r, text);
}

/* An error that is the whole reply is not wrapped. Commands about several jobs reply with a list in
 * which some elements are errors. */
static void op_error(struct reply *r, struct qless_str code, struct qless_str text)
{
	struct json_reply *state = state_of(r);
	bool is_whole = state->depth == 0;

	if (is_whole)
		state->is_error = true;
	else
		begin_value(r);
	write(r, STR("{\"error\":{\"code\":"));
	write_string(r, code);
	write(r, STR(",\"message\":"));
	write_string(r, text);
	write(r, STR("}}"));
	if (!is_whole)
		end_value(r);
}

static void op_restart(struct reply *r)
{
	struct json_reply *state = state_of(r);

	json_reply_begin(state, state->wrap, state->text);
}

static void op_integer(struct reply *r, int64_t value)
{
	struct json_reply *state = state_of(r);
	char digits[NUM_MAX];
	struct qless_str text = str_make(digits, num_format_i64(digits, value));

	if (is_key_next(r)) {
		op_bulk(r, text);
		return;
	}
	state->has_number = state->depth == 0;
	state->number = value;
	write_whole(r, text);
}

static void op_boolean(struct reply *r, bool value)
{
	write_whole(r, value ? STR("true") : STR("false"));
}

static void op_null(struct reply *r)
{
	struct json_reply *state = state_of(r);

	if (state->depth == 0)
		state->is_null = true;
	else
		write_whole(r, STR("null"));
}

static void op_number(struct reply *r, double value)
{
	char text[NUM_MAX];

	if (isnan(value))
		write_whole(r, STR("null"));
	else if (isinf(value))
		write_whole(r, value > 0 ? STR("1.7976931348623157e308")
					 : STR("-1.7976931348623157e308"));
	else
		write_whole(r, str_make(text, num_format_g17(text, value)));
}

static void op_short_number(struct reply *r, double value)
{
	char text[NUM_MAX];

	if (!isfinite(value))
		op_number(r, value);
	else
		write_whole(r, str_make(text, num_format_g14(text, value)));
}

static void op_big_number(struct reply *r, struct qless_str digits)
{
	write_whole(r, digits);
}

static void op_verbatim(struct reply *r, const char *type, struct qless_str s)
{
	const struct json_reply *state = state_of(r);
	struct buf b = BUF_INIT(BUF_NO_MAX);

	(void)type;
	if (state->text == JSON_REPLY_STRING || state->depth != 0) {
		op_bulk(r, s);
		return;
	}
	if (state->text == JSON_REPLY_INFO)
		json_text_append_info(&b, s);
	else
		json_text_append_clients(&b, s);
	begin_value(r);
	write_buf(r, &b);
	end_value(r);
}

static void op_header(struct reply *r, enum reply_type type, size_t count)
{
	struct json_reply *state = state_of(r);

	if (state->depth == 0 && has_names(state)) {
		assert(type == REPLY_ARRAY);
		state->names_members = true;
		state->names_left = state->wrap;
	}
	begin_value(r);
	write_char(r, bracket(state, push(state, type, count), "[{"));
	end_value(r);
}

/* The elements of a deferred value go to a chain of their own, so it has a level from its begin
 * on. */
static void op_begin(struct reply *r, struct reply_deferred *d)
{
	struct json_reply *state = state_of(r);

	d->level = state->depth;
	push(state, d->type, 0)->is_deferred = true;
}

static void op_leave(struct reply *r, struct reply_deferred *d)
{
	state_of(r)->depth = d->level;
}

/* The body has its commas, but no brackets. */
static void op_finish(struct reply *r, struct reply_deferred *d, size_t count)
{
	bool is_map = d->type == REPLY_MAP;

	(void)count;
	begin_value(r);
	if (d->type != REPLY_TEXT)
		write_char(r, is_map ? '{' : '[');
	reply_deferred_move(r, d);
	if (d->type != REPLY_TEXT)
		write_char(r, is_map ? '}' : ']');
	end_value(r);
}

static const struct reply_ops json_ops = {
	.status = op_status,
	.error = op_error,
	.integer = op_integer,
	.boolean = op_boolean,
	.null = op_null,
	.null_array = op_null,
	.number = op_number,
	.short_number = op_short_number,
	.big_number = op_big_number,
	.bulk = op_bulk,
	.json = op_json,
	.bytes = op_bytes,
	.shared_bulk = op_shared_bulk,
	.verbatim = op_verbatim,
	.header = op_header,
	.begin = op_begin,
	.leave = op_leave,
	.restart = op_restart,
	.finish = op_finish,
	.nests_pairs = true,
	.embeds_data = true,
};

void json_reply_begin(struct json_reply *state, struct qless_str wrap, enum json_reply_text text)
{
	*state = (struct json_reply){ .wrap = wrap, .text = text };
}

void json_reply_init(struct reply *r, struct chain *out, struct json_reply *state)
{
	json_reply_begin(state, STR(""), JSON_REPLY_STRING);
	reply_init(r, &json_ops, out);
	r->state = state;
}
