/*
 * Hexadecimal digits.
 */
#ifndef UTIL_HEX_H
#define UTIL_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* The digits in lowercase, without a NUL after them. */
extern const char hex_digits[16];

/* The value of a digit of either case, or -1. */
int hex_value(char c);

/* Write `len` bytes as 2 * len lowercase digits, high nibble first. No NUL follows. `bytes` may be
 * the second half of `to`. */
static inline void hex_write(char *to, const void *bytes, size_t len)
{
	const unsigned char *from = bytes;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = from[i];

		to[2 * i] = hex_digits[byte >> 4];
		to[2 * i + 1] = hex_digits[byte & 15];
	}
}

/* The inverse of hex_write(): read `len` bytes. Returns false, with `to` undefined, unless all
 * 2 * len characters are lowercase digits. */
bool hex_read(void *to, const char *from, size_t len);

#endif
