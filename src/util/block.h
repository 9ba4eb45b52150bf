/*
 * Vector comparisons of sixteen bytes at once. Most texts are long runs of bytes without a special
 * meaning, and a block shows whether it holds one that has.
 *
 * Comparing a block yields 0xff for each byte for which the comparison is true, and 0 for the
 * others.
 */
#ifndef UTIL_BLOCK_H
#define UTIL_BLOCK_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK_BYTES 16

typedef unsigned char block __attribute__((vector_size(BLOCK_BYTES)));

static inline block block_load(const char *from)
{
	block b;

	memcpy(&b, from, sizeof b);
	return b;
}

/* Returns a bit for each byte that a comparison found: bit 0 is the first byte. */
static inline unsigned block_marks(block found)
{
#ifdef __SSE2__
	__m128i bytes;

	memcpy(&bytes, &found, sizeof bytes);
	return (unsigned)_mm_movemask_epi8(bytes);
#else
	unsigned marks = 0;

	for (unsigned i = 0; i < BLOCK_BYTES; i++)
		marks |= (unsigned)(found[i] & 1) << i;
	return marks;
#endif
}

/* Returns the position of the first byte that a comparison found, or BLOCK_BYTES if it found none.
 * */
static inline unsigned block_first(block found)
{
#ifdef __SSE2__
	unsigned mask = block_marks(found);

	/* A branch: with the usual result predicted, the next block need not wait for it. */
	if (__builtin_expect(mask == 0, 1))
		return BLOCK_BYTES;
	return (unsigned)__builtin_ctz(mask);
#else
	uint64_t halves[2];

	memcpy(halves, &found, sizeof halves);
	if ((halves[0] | halves[1]) == 0)
		return BLOCK_BYTES;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (unsigned)(halves[0] != 0 ? __builtin_ctzll(halves[0])
					 : 64 + __builtin_ctzll(halves[1])) /
	       8;
#else
	return (unsigned)(halves[0] != 0 ? __builtin_clzll(halves[0])
					 : 64 + __builtin_clzll(halves[1])) /
	       8;
#endif
#endif
}

#endif
