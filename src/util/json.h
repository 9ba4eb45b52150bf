/*
 * Writing JSON, spelled as clients of qless know it.
 *
 * No blanks, numbers with 14 significant digits, `/` escaped, bytes from 0x80 up as they are.
 * Values are appended to a buffer, which has no maximum; putting commas and brackets between them
 * is the caller's.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include "util/buf.h"
#include "util/str.h"

/* With the quotes. */
void json_append_string(struct buf *b, struct qless_str s);

/* An infinite number, which JSON cannot say, becomes the largest one of its sign. */
void json_append_number(struct buf *b, double value);

static inline void json_append_bool(struct buf *b, bool value)
{
	buf_append_str(b, value ? STR("true") : STR("false"));
}

#endif
