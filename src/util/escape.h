/*
 * Backslash escapes: how a byte is written inside double quotes, by Redis and in the configuration.
 *
 * The escapes are `\a`, `\b`, `\n`, `\r`, `\t`, `\xHH` with two hexadecimal digits, and a
 * backslash before any other byte, which stands for that byte.
 */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

#include <stddef.h>

#include "util/hex.h"

/* Bytes that one escape takes at most: `\xHH`. */
#define ESCAPE_MAX ((size_t)4)

/* Write `c` as `\xHH`, whatever it is. Returns the end of what was written, ESCAPE_MAX bytes. */
static inline char *escape_hex(char to[ESCAPE_MAX], char c)
{
	to[0] = '\\';
	to[1] = 'x';
	hex_write(to + 2, &c, 1);
	return to + ESCAPE_MAX;
}

/* Write the shortest escape of `c`: for a quote or a backslash that byte after a backslash, for any
 * other byte its letter, or `\xHH`. Returns the end of what was written. */
char *escape_write(char to[ESCAPE_MAX], char c);

/* The byte that an escape stands for. `at` is after the backslash and before `end`. *ret_next is
 * set to the end of the escape. */
char escape_read(const char *at, const char *end, const char **ret_next);

#endif
