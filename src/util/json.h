/*
 * Writing JSON in the spelling that clients of qless know, and reading its escapes.
 *
 * No blanks, numbers with 14 significant digits, an escaped `/`, and characters from U+0080 as they
 * are. A byte that is not UTF-8 becomes \u00xx, so that the text is valid JSON. No other text gives
 * such an escape with a number of 80 or more. The functions append values to a buffer without a
 * maximum. The caller adds commas and brackets.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <math.h>

#include "util/buf.h"
#include "util/num.h"
#include "util/str.h"
#include "util/utf8.h"

/* Appends a string in quotes. */
void json_append_string(struct buf *b, struct qless_str s);

/* Appends a string with all bytes from 0x80 unchanged, as the reference stores it. */
void json_append_stored_string(struct buf *b, struct qless_str s);

/* Appends a string for readers that are no clients of qless: `/` is not escaped, as JSON allows. */
void json_append_plain_string(struct buf *b, struct qless_str s);

/* Appends a JSON text whose strings may have bytes that are not UTF-8, so that it is valid JSON. */
void json_append_text(struct buf *b, struct qless_str text);

/* Appends a number. JSON has no infinity: it becomes the largest number of its sign. */
void json_append_number(struct buf *b, double value);

/* Writes a number where there is room for NUM_MAX bytes. Returns the length. */
size_t json_format_number(char out[NUM_MAX], double value);

/* json_append_string() and json_append_number() at a pointer into an open buffer, see buf_open().
 * They return the pointer after what they wrote. */
char *json_put_string(struct buf *b, char *to, struct qless_str s);
char *json_put_long_number(struct buf *b, char *to, double value);

/* Priorities and numbers of retries nearly always have one digit. */
static inline char *json_put_number(struct buf *b, char *to, double value)
{
	if (!(value >= 0 && value <= 9 && value == (double)(int)value) || signbit(value))
		return json_put_long_number(b, to, value);
	to = buf_room(b, to, 1);
	*to++ = (char)('0' + (int)value);
	return to;
}

/* Decodes the escape at `*at` of a string in valid JSON, such as `\n` or a pair of surrogates, and
 * moves `*at` after it. Half a pair, as imported data may have, is taken as a character. Returns
 * the length of the character in UTF-8. */
size_t json_decode_escape(const char **at, char ret_character[UTF8_MAX]);

static inline void json_append_bool(struct buf *b, bool value)
{
	buf_append_str(b, value ? STR("true") : STR("false"));
}

#endif
