/*
 * A complete check of JSON (RFC 8259) that builds nothing.
 *
 * yyjson builds a document, which takes up to twelve nanoseconds a byte for deeply nested text.
 * That is too long for a text of several megabytes. This walk takes one or two nanoseconds a byte,
 * whatever the text, and accepts just what yyjson accepts.
 */
#include "command/json.h"

#include <assert.h>
#include <stdint.h>

#include "util/block.h"

#define BITS 64

struct walk {
	const char *at;
	const char *end;
	const char *why; /* the error, which is at `at`; NULL until there is one */
	size_t depth;
	struct json_bounds bounds;
	struct json_shape shape;
	uint64_t is_object[JSON_DEPTH_MAX / BITS + 1]; /* a bit for each open array or object */
};

static bool fail(struct walk *w, const char *why)
{
	w->why = w->at == w->end ? "unexpected end of data" : why;
	return false;
}

static inline void skip_blanks(struct walk *w)
{
	const char *at = w->at;

	while (at < w->end && *at <= ' ' &&
	       (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
		at++;
	w->at = at;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- strings ---- */

static inline bool continues(const unsigned char *c)
{
	return (*c & 0xc0) == 0x80;
}

/* Returns the length of the UTF-8 sequence at `c`, which has `left` bytes; 0 if it is invalid. */
static size_t sequence_length(const unsigned char *c, size_t left)
{
	if (c[0] >= 0xc2 && c[0] <= 0xdf)
		return left >= 2 && continues(c + 1) ? 2 : 0;
	if ((c[0] & 0xf0) == 0xe0) {
		if (left < 3 || !continues(c + 1) || !continues(c + 2) ||
		    (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0))
			return 0;
		return 3;
	}
	if (c[0] < 0xf0 || c[0] > 0xf4 || left < 4 || !continues(c + 1) || !continues(c + 2) ||
	    !continues(c + 3) || (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
		return 0;
	return 4;
}

static bool skip_sequences(struct walk *w)
{
	while (w->at < w->end && (unsigned char)*w->at >= 0x80) {
		size_t len =
			sequence_length((const unsigned char *)w->at, (size_t)(w->end - w->at));

		if (len == 0)
			return fail(w, "invalid UTF-8 in a string");
		w->at += len;
	}
	return true;
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four hexadecimal digits at `at`; returns -1 if they are not there. */
static int read_unit(const struct walk *w, const char *at)
{
	int unit = 0;

	if (w->end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(at[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Skips \uXXXX, and the second one of a surrogate pair. */
static bool skip_unicode(struct walk *w)
{
	int unit = read_unit(w, w->at + 2);

	if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return fail(w, "invalid escape in a string");
	if (unit >= 0xd800 && unit <= 0xdbff) {
		if (w->end - w->at < 12 || w->at[6] != '\\' || w->at[7] != 'u')
			return fail(w, "invalid escape in a string");
		unit = read_unit(w, w->at + 8);
		if (unit < 0xdc00 || unit > 0xdfff)
			return fail(w, "invalid escape in a string");
		w->at += 6;
	}
	w->at += 6;
	return true;
}

static bool skip_escapes(struct walk *w)
{
	while (w->end - w->at >= 2 && *w->at == '\\') {
		switch (w->at[1]) {
		case '"':
		case '\\':
		case '/':
		case 'b':
		case 'f':
		case 'n':
		case 'r':
		case 't':
			w->at += 2;
			break;
		case 'u':
			if (!skip_unicode(w))
				return false;
			break;
		default:
			return fail(w, "invalid escape in a string");
		}
	}
	return true;
}

/* Skips to a byte that ends the string or needs a closer look, or to the end of the text. */
static inline void skip_ordinary(struct walk *w)
{
	const char *at = w->at;

	for (; w->end - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
		block b = block_load(at);
		unsigned marks = block_marks((block)(b < ' ') | (block)(b >= 0x80) |
					     (block)(b == '"') | (block)(b == '\\'));

		if (marks != 0) {
			w->at = at + __builtin_ctz(marks);
			return;
		}
	}
	while (at < w->end && (unsigned char)(*at - ' ') < 0x80 - ' ' && *at != '"' && *at != '\\')
		at++;
	w->at = at;
}

/* `at` is after the opening quote. */
static bool skip_string(struct walk *w)
{
	for (;;) {
		skip_ordinary(w);
		if (w->at == w->end)
			return fail(w, "");
		if (*w->at == '"') {
			w->at++;
			return true;
		}
		if (*w->at == '\\') {
			if (w->end - w->at < 2)
				return fail(w, "invalid escape in a string");
			if (!skip_escapes(w))
				return false;
		} else if ((unsigned char)*w->at >= 0x80) {
			if (!skip_sequences(w))
				return false;
		} else {
			return fail(w, "unexpected control character in a string");
		}
	}
}

/* ---- other values ---- */

static inline const char *skip_digits(const struct walk *w, const char *at)
{
	while (at < w->end && is_digit(*at))
		at++;
	return at;
}

/* Takes digits, of which there must be one at least. */
static inline bool take_digits(struct walk *w)
{
	const char *after = skip_digits(w, w->at);

	if (after == w->at)
		return fail(w, "no digit in a number");
	w->at = after;
	return true;
}

static inline bool skip_number(struct walk *w)
{
	if (*w->at == '-')
		w->at++;
	if (w->at < w->end && *w->at == '0') {
		w->at++;
		if (w->at < w->end && is_digit(*w->at))
			return fail(w, "number with leading zero");
	} else if (!take_digits(w)) {
		return false;
	}
	if (w->at < w->end && *w->at == '.') {
		w->at++;
		if (!take_digits(w))
			return false;
	}
	if (w->at < w->end && (*w->at | 0x20) == 'e') {
		w->at++;
		if (w->at < w->end && (*w->at == '+' || *w->at == '-'))
			w->at++;
		return take_digits(w);
	}
	return true;
}

static inline bool skip_word(struct walk *w, struct qless_str word)
{
	if ((size_t)(w->end - w->at) < word.len || memcmp(w->at, word.ptr, word.len) != 0)
		return fail(w, "unexpected character");
	w->at += word.len;
	return true;
}

/* Skips a value without members. `at` is not the end. */
static inline bool skip_leaf(struct walk *w)
{
	switch (*w->at) {
	case '"':
		w->at++;
		return skip_string(w);
	case 't':
		return skip_word(w, STR("true"));
	case 'f':
		return skip_word(w, STR("false"));
	case 'n':
		return skip_word(w, STR("null"));
	case '-':
		return skip_number(w);
	default:
		return is_digit(*w->at) ? skip_number(w) : fail(w, "unexpected character");
	}
}

/* ---- arrays and objects ---- */

static inline bool skip_name(struct walk *w)
{
	skip_blanks(w);
	if (w->at == w->end || *w->at != '"')
		return fail(w, "unexpected character, expected the name of a member");
	w->at++;
	if (!skip_string(w))
		return false;
	skip_blanks(w);
	if (w->at == w->end || *w->at != ':')
		return fail(w, "unexpected character, expected a colon");
	w->at++;
	return true;
}

static inline bool is_in_object(const struct walk *w)
{
	return w->is_object[w->depth / BITS] >> (w->depth % BITS) & 1;
}

/* Enters the array or object at `at`. */
static inline bool enter(struct walk *w, bool is_object)
{
	uint64_t bit;

	w->at++;
	if (w->depth == w->bounds.depth) {
		w->shape.is_too_deep = true;
		return fail(w, "nested too deeply");
	}
	w->depth++;
	bit = (uint64_t)1 << (w->depth % BITS);
	if (is_object)
		w->is_object[w->depth / BITS] |= bit;
	else
		w->is_object[w->depth / BITS] &= ~bit;
	return true;
}

/* Skips a value, or the beginning of an array or object up to its first value. */
static inline bool skip_value(struct walk *w, bool *ret_is_whole)
{
	bool is_object;

	skip_blanks(w);
	*ret_is_whole = true;
	if (w->at == w->end)
		return fail(w, "");
	is_object = *w->at == '{';
	if (!is_object && *w->at != '[')
		return skip_leaf(w);
	if (!enter(w, is_object))
		return false;
	skip_blanks(w);
	if (w->at < w->end && *w->at == (is_object ? '}' : ']')) {
		w->at++;
		w->depth--;
		return true;
	}
	*ret_is_whole = false;
	return !is_object || skip_name(w);
}

/* Skips the text after a value: ends of arrays and objects, then the comma before the next value.
 */
static inline bool skip_ends(struct walk *w)
{
	for (; w->depth != 0; w->at++, w->depth--) {
		bool is_object = is_in_object(w);

		skip_blanks(w);
		if (w->depth == 1 && ++w->shape.elements > w->bounds.elements) {
			w->shape.is_too_long = true;
			return fail(w, "too many elements");
		}
		if (w->at < w->end && *w->at == ',') {
			w->at++;
			return !is_object || skip_name(w);
		}
		if (w->at == w->end || *w->at != (is_object ? '}' : ']'))
			return fail(w, is_object ? "unexpected character, expected a comma or }"
						 : "unexpected character, expected a comma or ]");
	}
	skip_blanks(w);
	return w->at == w->end || fail(w, "unexpected content after the document");
}

bool json_walk(struct qless_str text, const struct json_bounds *bounds,
	       struct json_shape *ret_shape, struct buf *error)
{
	struct walk w;
	bool is_whole;
	bool ok;

	w.at = text.ptr;
	w.end = text.ptr + text.len;
	w.why = NULL;
	w.depth = 0;
	w.bounds = *bounds;
	assert(bounds->depth <= JSON_DEPTH_MAX);
	w.shape = (struct json_shape){ 0 };
	skip_blanks(&w);
	if (w.at < w.end)
		w.shape.kind = json_kind_of(*w.at);
	do {
		ok = skip_value(&w, &is_whole);
		if (ok && is_whole)
			ok = skip_ends(&w);
	} while (ok && w.depth != 0);
	*ret_shape = w.shape;
	if (!ok) {
		buf_clear(error);
		buf_printf(error, "Invalid JSON: %s at character %zu", w.why,
			   (size_t)(w.at - text.ptr) + 1);
	}
	return ok;
}
