/*
 * Numbers as bytes, the same on every machine: little-endian of a fixed size, or a varint. A varint
 * has seven bits in each byte, the low ones first, and the top bit is set in all bytes but the
 * last.
 */
#ifndef UTIL_WIRE_H
#define UTIL_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_VARINT_MAX 10

/* Written as single moves, because compilers do not always turn a loop over bytes into one. */
static inline void wire_put_u32(unsigned char *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof value);
}

static inline void wire_put_u64(unsigned char *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof value);
}

static inline uint32_t wire_get_u32(const unsigned char *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof value);
	return le32toh(value);
}

static inline uint64_t wire_get_u64(const unsigned char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof value);
	return le64toh(value);
}

/* Read up to eight bytes as if zeros followed them. Two overlapping halves are faster than single
 * bytes. */
static inline uint64_t wire_get_word(const unsigned char *from, size_t len)
{
	if (len >= 8)
		return wire_get_u64(from);
	if (len >= 4)
		return wire_get_u32(from) | (uint64_t)wire_get_u32(from + len - 4)
						    << (8 * (len - 4));
	if (len == 0)
		return 0;
	return from[0] | (uint64_t)from[len / 2] << (8 * (len / 2)) |
	       (uint64_t)from[len - 1] << (8 * (len - 1));
}

/*
 * The destination needs room for eight bytes, even if there are fewer. Most texts are short, and a
 * call of memcpy() takes longer than the move: up to two words are moved as two overlapping words.
 */
static inline void wire_put_bytes(unsigned char *to, const unsigned char *from, size_t len)
{
	if (len < 8) {
		wire_put_u64(to, wire_get_word(from, len));
	} else if (len <= 16) {
		wire_put_u64(to, wire_get_u64(from));
		wire_put_u64(to + len - 8, wire_get_u64(from + len - 8));
	} else if (len <= 32) {
		memcpy(to, from, 16);
		memcpy(to + len - 16, from + len - 16, 16);
	} else {
		memcpy(to, from, len);
	}
}

static inline void wire_put_double(unsigned char *to, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	wire_put_u64(to, bits);
}

static inline double wire_get_double(const unsigned char *from)
{
	uint64_t bits = wire_get_u64(from);
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* The destination needs room for WIRE_VARINT_MAX bytes. Returns the bytes written. */
static inline size_t wire_put_varint(unsigned char *to, uint64_t value)
{
	size_t len = 0;

	while (value >= 0x80) {
		to[len++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	to[len++] = (unsigned char)value;
	return len;
}

static inline size_t wire_varint_size(uint64_t value)
{
	size_t len = 1;

	while (value >= 0x80) {
		len++;
		value >>= 7;
	}
	return len;
}

/* Read the varint at `from`, which has `len` bytes. Returns the bytes read, or 0 if the varint does
 * not end there or has more than 64 bits. */
static inline size_t wire_get_varint(const unsigned char *from, size_t len, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < len && i < WIRE_VARINT_MAX; i++) {
		if (i == WIRE_VARINT_MAX - 1 && from[i] > 1)
			return 0;
		value |= (uint64_t)(from[i] & 0x7f) << (7 * i);
		if ((from[i] & 0x80) == 0) {
			*ret_value = value;
			return i + 1;
		}
	}
	return 0;
}

/* Read a varint that wire_put_varint() wrote and move `*from` past it. For bytes that never left
 * the process: nothing is checked. */
static inline uint64_t wire_take_varint(const unsigned char **from)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (**from & 0x80) {
		value |= (uint64_t)(*(*from)++ & 0x7f) << shift;
		shift += 7;
	}
	return value | (uint64_t) * (*from)++ << shift;
}

/* Maps small numbers of either sign to small unsigned numbers. */
static inline uint64_t wire_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t wire_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
