/*
 * Backslash escapes inside double quotes, as in Redis and in the configuration.
 *
 * The escapes are `\a`, `\b`, `\n`, `\r`, `\t`, and `\xHH` with two hexadecimal digits. A backslash
 * before any other byte stands for that byte.
 */
#ifndef UTIL_ESCAPE_H
#define UTIL_ESCAPE_H

#include <stddef.h>

#include "util/hex.h"

/* Bytes that one escape takes at most: `\xHH`. */
#define ESCAPE_MAX ((size_t)4)

/* Write `c` as `\xHH`. Returns the end of the ESCAPE_MAX bytes written. */
static inline char *escape_hex(char to[ESCAPE_MAX], char c)
{
	to[0] = '\\';
	to[1] = 'x';
	hex_write(to + 2, &c, 1);
	return to + ESCAPE_MAX;
}

/* Write the shortest escape of `c`: a backslash before a quote or a backslash, otherwise its
 * letter, or `\xHH` if it has none. Returns the end of the bytes written. */
char *escape_write(char to[ESCAPE_MAX], char c);

/* Returns the byte that an escape stands for. `at` is after the backslash and before `end`.
 * *ret_next is set to the end of the escape. */
char escape_read(const char *at, const char *end, const char **ret_next);

#endif
