/*
 * UTF-8 (RFC 3629): neither surrogates nor overlong forms nor characters above U+10FFFF.
 */
#ifndef UTIL_UTF8_H
#define UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/block.h"
#include "util/str.h"

/* Bytes of the longest character. */
#define UTF8_MAX 4

/* Returns the length in bytes of the character that begins at `p`, or 0 if none does. `left` is the
 * number of bytes there, at least 1. */
size_t utf8_length(const char *p, size_t left);

/* Writes a character, which is no surrogate and not above U+10FFFF. Returns its length. */
size_t utf8_encode(uint32_t point, char ret_character[UTF8_MAX]);

/* The slow path of utf8_is_valid(): checks character by character. */
bool utf8_check_each(struct qless_str s);

/* The bytes of a slice of four to sixteen, or-ed together. */
static inline uint64_t utf8_fold_few(const char *p, size_t len)
{
	uint32_t first, last;
	uint64_t head, tail;

	if (len < 8) {
		memcpy(&first, p, 4);
		memcpy(&last, p + len - 4, 4);
		return first | last;
	}
	memcpy(&head, p, 8);
	memcpy(&tail, p + len - 8, 8);
	return head | tail;
}

/* The blocks of a slice of at least sixteen bytes, or-ed together. The last two may overlap. */
static inline block utf8_fold_blocks(const char *p, size_t len)
{
	block all = block_load(p + len - BLOCK_BYTES);

	for (; len > BLOCK_BYTES; len -= BLOCK_BYTES, p += BLOCK_BYTES)
		all |= block_load(p);
	return all;
}

/* Returns whether all of the slice is UTF-8. Nearly all names are ASCII, which is quickly seen. */
static inline bool utf8_is_valid(struct qless_str s)
{
	if (s.len > BLOCK_BYTES) {
		if (block_marks(utf8_fold_blocks(s.ptr, s.len) >= 0x80) == 0)
			return true;
	} else if (s.len >= 4) {
		if ((utf8_fold_few(s.ptr, s.len) & 0x8080808080808080u) == 0)
			return true;
	}
	return utf8_check_each(s);
}

#endif
