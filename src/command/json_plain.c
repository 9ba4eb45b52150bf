/*
 * A quick check for JSON of the usual kind.
 *
 * All data of jobs is checked. For that, yyjson builds a document, which is then thrown away; this
 * file only walks through the text. It answers "not plain" for everything rare or difficult, and
 * yyjson decides.
 */
#include "command/json.h"

#include <assert.h>
#include <stdint.h>

#include "util/block.h"

/* One bit for each open array or object. */
#define DEPTH_MAX JSON_PLAIN_DEPTH_MAX
static_assert(DEPTH_MAX <= 64, "they are the bits of a word");

struct text {
	const char *end;
	const char *last_block; /* the last BLOCK_BYTES of the text; NULL if it is shorter */
};

/* The open arrays and objects. */
struct nesting {
	uint64_t is_object; /* the lowest bit is the innermost */
	unsigned depth;
};

/*
 * The functions below skip a part of the text at `at`. They return the address after it, or NULL if
 * it is missing or not plain.
 */

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline const char *skip_blanks(const struct text *t, const char *at)
{
	while (at < t->end && *at <= ' ' &&
	       (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
		at++;
	return at;
}

static inline bool is_at(const struct text *t, const char *at, char c)
{
	return at < t->end && *at == c;
}

static inline const char *skip_word(const struct text *t, const char *at, struct qless_str word)
{
	if ((size_t)(t->end - at) < word.len || memcmp(at, word.ptr, word.len) != 0)
		return NULL;
	return at + word.len;
}

static inline bool is_ordinary(char c)
{
	return (unsigned char)(c - ' ') < 0x80 - ' ' && c != '"' && c != '\\';
}

/* Marks the bytes that end a string or need a closer look: bit 0 is the first byte. */
static inline unsigned mark_others(block b)
{
	return block_marks((block)(b < ' ') | (block)(b >= 0x80) | (block)(b == '"') |
			   (block)(b == '\\'));
}

/* Skips to the next byte that ends the string or needs a closer look, or to the end of the text. */
static inline const char *skip_ordinary(const struct text *t, const char *at)
{
	unsigned marks;

	for (; t->end - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
		marks = mark_others(block_load(at));
		/* A branch, so that the next block need not wait for the position. */
		if (marks != 0)
			return at + __builtin_ctz(marks);
	}
	if (t->last_block != NULL) {
		marks = mark_others(block_load(t->last_block)) >> (at - t->last_block);
		return marks != 0 ? at + __builtin_ctz(marks) : t->end;
	}
	while (at < t->end && is_ordinary(*at))
		at++;
	return at;
}

/* Bytes beyond ASCII and \u escapes are not plain. */
static __attribute__((noinline)) const char *skip_any_string(const struct text *t, const char *at)
{
	for (;;) {
		at = skip_ordinary(t, at);
		if (is_at(t, at, '"'))
			return at + 1;
		if (t->end - at < 2 || *at != '\\' || at[1] == '\0' ||
		    strchr("\"\\/bfnrt", at[1]) == NULL)
			return NULL;
		at += 2;
	}
}

/* The opening quote has been skipped. Most strings are short, and end in their first block. */
static inline const char *skip_string(const struct text *t, const char *at)
{
	if (t->end - at >= BLOCK_BYTES) {
		unsigned marks = mark_others(block_load(at));

		if (marks == 0)
			at += BLOCK_BYTES;
		else if (at[__builtin_ctz(marks)] == '"')
			return at + __builtin_ctz(marks) + 1;
	}
	return skip_any_string(t, at);
}

static inline const char *skip_digits(const struct text *t, const char *at)
{
	while (at < t->end && is_digit(*at))
		at++;
	return at;
}

/* Digits with or without a fraction. An exponent is not plain. */
static const char *skip_number(const struct text *t, const char *at)
{
	const char *whole = at + is_at(t, at, '-'), *fraction;

	at = skip_digits(t, whole);
	if (at == whole || (*whole == '0' && at - whole > 1))
		return NULL;
	if (!is_at(t, at, '.'))
		return at;
	fraction = at + 1;
	at = skip_digits(t, fraction);
	return at > fraction ? at : NULL;
}

/* The name of a member, and its colon. */
static inline const char *skip_name(const struct text *t, const char *at)
{
	at = skip_blanks(t, at);
	if (!is_at(t, at, '"'))
		return NULL;
	at = skip_string(t, at + 1);
	if (at == NULL)
		return NULL;
	at = skip_blanks(t, at);
	return is_at(t, at, ':') ? at + 1 : NULL;
}

/* A string, a number or a word. */
static inline const char *skip_leaf(const struct text *t, const char *at)
{
	if (at == t->end)
		return NULL;
	switch (*at) {
	case '"':
		return skip_string(t, at + 1);
	case 't':
		return skip_word(t, at, STR("true"));
	case 'f':
		return skip_word(t, at, STR("false"));
	case 'n':
		return skip_word(t, at, STR("null"));
	default:
		return skip_number(t, at);
	}
}

/* A leaf, an empty array or object, or the beginning of another one, up to its first value. */
static inline const char *skip_value(const struct text *t, const char *at, struct nesting *open,
				     bool *ret_is_whole)
{
	bool is_object;

	at = skip_blanks(t, at);
	*ret_is_whole = true;
	is_object = is_at(t, at, '{');
	if (!is_object && !is_at(t, at, '['))
		return skip_leaf(t, at);
	if (open->depth == DEPTH_MAX)
		return NULL;
	at = skip_blanks(t, at + 1);
	if (is_at(t, at, is_object ? '}' : ']'))
		return at + 1;
	open->depth++;
	open->is_object = open->is_object << 1 | is_object;
	*ret_is_whole = false;
	return is_object ? skip_name(t, at) : at;
}

/* The text after a value: ends of arrays and objects, then the separator before the next value. */
static inline const char *skip_ends(const struct text *t, const char *at, struct nesting *open)
{
	for (;; at++) {
		bool is_object = open->is_object & 1;

		at = skip_blanks(t, at);
		if (open->depth == 0)
			return at;
		if (is_at(t, at, ','))
			return is_object ? skip_name(t, at + 1) : at + 1;
		if (!is_at(t, at, is_object ? '}' : ']'))
			return NULL;
		open->depth--;
		open->is_object >>= 1;
	}
}

bool json_is_plain(struct qless_str text, enum json_kind *ret_kind)
{
	const struct text t = {
		.end = text.ptr + text.len,
		.last_block = text.len >= BLOCK_BYTES ? text.ptr + text.len - BLOCK_BYTES : NULL,
	};
	struct nesting open = { 0 };
	const char *at = skip_blanks(&t, text.ptr);
	bool is_whole;

	if (at == t.end)
		return false;
	*ret_kind = json_kind_of(*at);
	do {
		at = skip_value(&t, at, &open, &is_whole);
		if (at != NULL && is_whole)
			at = skip_ends(&t, at, &open);
		if (at == NULL)
			return false;
	} while (open.depth != 0);
	return at == t.end;
}
