/*
 * Writing JSON, spelled as clients of qless know it.
 *
 * No blanks, numbers with 14 significant digits, `/` escaped, bytes from 0x80 up as they are.
 * Values are appended to a buffer, which has no maximum; putting commas and brackets between them
 * is the caller's.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <math.h>

#include "util/buf.h"
#include "util/str.h"

/* With the quotes. */
void json_append_string(struct buf *b, struct qless_str s);

/* An infinite number, which JSON cannot say, becomes the largest one of its sign. */
void json_append_number(struct buf *b, double value);

/* The same at a place of an open buffer, see buf_open(). They return the place behind. */
char *json_put_string(struct buf *b, char *to, struct qless_str s);
char *json_put_long_number(struct buf *b, char *to, double value);

/* Priorities and counts of retries nearly always have one digit. */
static inline char *json_put_number(struct buf *b, char *to, double value)
{
	if (!(value >= 0 && value <= 9 && value == (double)(int)value) || signbit(value))
		return json_put_long_number(b, to, value);
	to = buf_room(b, to, 1);
	*to++ = (char)('0' + (int)value);
	return to;
}

static inline void json_append_bool(struct buf *b, bool value)
{
	buf_append_str(b, value ? STR("true") : STR("false"));
}

#endif
