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

struct walk {
	const char *at;
	const char *end;
	const char *last_block; /* the last BLOCK_BYTES of the text; NULL if it is shorter */
	uint64_t is_object;	/* the lowest bit is the innermost */
	size_t depth;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline void skip_blanks(struct walk *w)
{
	const char *at = w->at, *end = w->end;

	while (at < end && *at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
		at++;
	w->at = at;
}

static inline bool take(struct walk *w, char c)
{
	if (w->at == w->end || *w->at != c)
		return false;
	w->at++;
	return true;
}

static bool take_word(struct walk *w, struct qless_str word)
{
	if ((size_t)(w->end - w->at) < word.len || memcmp(w->at, word.ptr, word.len) != 0)
		return false;
	w->at += word.len;
	return true;
}

static bool is_ordinary(char c)
{
	return (unsigned char)(c - ' ') < 0x80 - ' ' && c != '"' && c != '\\';
}

/* The position of the first byte that ends a string or needs a closer look; BLOCK_BYTES if there is
 * none. The first `skip` bytes do not count. */
static inline unsigned count_ordinary(block b, unsigned skip)
{
	static const block positions = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	return block_first(
		((block)(b < ' ') | (block)(b >= 0x80) | (block)(b == '"') | (block)(b == '\\')) &
		(block)(positions >= (unsigned char)skip));
}

/* Skips to the next byte that ends the string or needs a closer look, or to the end of the text. */
static inline void skip_ordinary(struct walk *w)
{
	const char *at = w->at, *end = w->end;

	while (end - at >= BLOCK_BYTES) {
		unsigned ordinary = count_ordinary(block_load(at), 0);

		at += ordinary;
		if (ordinary != BLOCK_BYTES) {
			w->at = at;
			return;
		}
	}
	if (w->last_block != NULL) {
		w->at = w->last_block +
			count_ordinary(block_load(w->last_block), (unsigned)(at - w->last_block));
		return;
	}
	while (at < end && is_ordinary(*at))
		at++;
	w->at = at;
}

/* The opening quote has been taken. Bytes beyond ASCII and \u escapes are not plain. */
static bool take_string(struct walk *w)
{
	for (;;) {
		skip_ordinary(w);
		if (take(w, '"'))
			return true;
		if (!take(w, '\\') || w->at == w->end || *w->at == '\0' ||
		    strchr("\"\\/bfnrt", *w->at) == NULL)
			return false;
		w->at++;
	}
}

/* Digits with or without a fraction. An exponent is not plain. */
static bool take_number(struct walk *w)
{
	const char *whole, *fraction;

	take(w, '-');
	whole = w->at;
	while (w->at < w->end && is_digit(*w->at))
		w->at++;
	if (w->at == whole || (*whole == '0' && w->at - whole > 1))
		return false;
	if (!take(w, '.'))
		return true;
	fraction = w->at;
	while (w->at < w->end && is_digit(*w->at))
		w->at++;
	return w->at > fraction;
}

static bool take_name(struct walk *w)
{
	skip_blanks(w);
	if (!take(w, '"') || !take_string(w))
		return false;
	skip_blanks(w);
	return take(w, ':');
}

/* A string, a number or a word. */
static bool take_leaf(struct walk *w)
{
	if (take(w, '"'))
		return take_string(w);
	return take_word(w, STR("true")) || take_word(w, STR("false")) ||
	       take_word(w, STR("null")) || take_number(w);
}

/* A leaf, an empty array or object, or the beginning of another one, up to its first value. */
static bool take_value(struct walk *w, bool *ret_is_whole)
{
	bool is_object;

	skip_blanks(w);
	*ret_is_whole = true;
	is_object = take(w, '{');
	if (!is_object && !take(w, '['))
		return take_leaf(w);
	if (w->depth == DEPTH_MAX)
		return false;
	skip_blanks(w);
	if (take(w, is_object ? '}' : ']'))
		return true;
	w->depth++;
	w->is_object = w->is_object << 1 | is_object;
	*ret_is_whole = false;
	return !is_object || take_name(w);
}

/* The text after a value: ends of arrays and objects, then the separator before the next value. */
static bool take_ends(struct walk *w)
{
	for (;;) {
		bool is_object = w->is_object & 1;

		skip_blanks(w);
		if (w->depth == 0)
			return true;
		if (take(w, ','))
			return !is_object || take_name(w);
		if (!take(w, is_object ? '}' : ']'))
			return false;
		w->depth--;
		w->is_object >>= 1;
	}
}

static enum json_kind kind_of(char first)
{
	switch (first) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

bool json_is_plain(struct qless_str text, enum json_kind *ret_kind)
{
	struct walk w = { .at = text.ptr, .end = text.ptr + text.len };
	bool is_whole;

	if (text.len >= BLOCK_BYTES)
		w.last_block = w.end - BLOCK_BYTES;
	skip_blanks(&w);
	if (w.at == w.end)
		return false;
	*ret_kind = kind_of(*w.at);
	do {
		if (!take_value(&w, &is_whole) || (is_whole && !take_ends(&w)))
			return false;
	} while (w.depth != 0);
	return w.at == w.end;
}
