#include "util/wire.h"

#include <stdlib.h>

#include "unit.h"

#define BYTES_MAX 80
#define ROOM	  8

void setUp(void)
{
}

void tearDown(void)
{
}

/* Any number of bytes is written, and no byte before them or after their room changes. Each run has
 * memory of its own, so that a sanitizer sees reads beyond it. */
static void any_number_of_bytes_is_written(void)
{
	for (size_t len = 0; len <= BYTES_MAX; len++) {
		unsigned char to[1 + BYTES_MAX + ROOM + 1], *from = malloc(len + 1);
		size_t room = len > ROOM ? len : ROOM;

		for (size_t i = 0; i < len; i++)
			from[i] = (unsigned char)(i + 1);
		from = realloc(from, len != 0 ? len : 1);
		memset(to, 0xee, sizeof to);
		wire_put_bytes(to + 1, from, len);
		TEST_ASSERT_EQUAL_HEX8(0xee, to[0]);
		if (len != 0)
			TEST_ASSERT_EQUAL_MEMORY(from, to + 1, len);
		for (size_t i = 1 + room; i < sizeof to; i++)
			TEST_ASSERT_EQUAL_HEX8(0xee, to[i]);
		free(from);
	}
	wire_put_bytes((unsigned char[ROOM]){ 0 }, NULL, 0);
}

static void words_are_read_as_if_zeros_followed(void)
{
	const unsigned char bytes[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

	TEST_ASSERT_EQUAL_HEX64(0, wire_get_word(bytes, 0));
	TEST_ASSERT_EQUAL_HEX64(0x01, wire_get_word(bytes, 1));
	TEST_ASSERT_EQUAL_HEX64(0x0201, wire_get_word(bytes, 2));
	TEST_ASSERT_EQUAL_HEX64(0x030201, wire_get_word(bytes, 3));
	TEST_ASSERT_EQUAL_HEX64(0x04030201, wire_get_word(bytes, 4));
	TEST_ASSERT_EQUAL_HEX64(0x0504030201, wire_get_word(bytes, 5));
	TEST_ASSERT_EQUAL_HEX64(0x07060504030201, wire_get_word(bytes, 7));
	TEST_ASSERT_EQUAL_HEX64(0x0807060504030201, wire_get_word(bytes, 8));
	TEST_ASSERT_EQUAL_HEX64(0x0807060504030201, wire_get_word(bytes, 9));
}

static void varints_are_read_as_written(void)
{
	const uint64_t values[] = { 0,	   1,	       127,	   128,
				    16383, 16384,      UINT32_MAX, UINT64_MAX >> 1,
				    300,   UINT64_MAX, 1ull << 63 };
	const unsigned char *at;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		unsigned char bytes[WIRE_VARINT_MAX];
		size_t len = wire_put_varint(bytes, values[i]);
		uint64_t value;

		TEST_ASSERT_EQUAL_size_t(wire_varint_size(values[i]), len);
		TEST_ASSERT_EQUAL_size_t(len, wire_get_varint(bytes, len, &value));
		TEST_ASSERT_EQUAL_UINT64(values[i], value);
		TEST_ASSERT_EQUAL_size_t(0, wire_get_varint(bytes, len - 1, &value));
		at = bytes;
		TEST_ASSERT_EQUAL_UINT64(values[i], wire_take_varint(&at));
		TEST_ASSERT_EQUAL_PTR(bytes + len, at);
	}
}

static void a_varint_above_64_bits_is_refused(void)
{
	unsigned char bytes[WIRE_VARINT_MAX];
	uint64_t value;

	memset(bytes, 0xff, sizeof bytes);
	TEST_ASSERT_EQUAL_size_t(0, wire_get_varint(bytes, sizeof bytes, &value));
	bytes[WIRE_VARINT_MAX - 1] = 2;
	TEST_ASSERT_EQUAL_size_t(0, wire_get_varint(bytes, sizeof bytes, &value));
	bytes[WIRE_VARINT_MAX - 1] = 1;
	TEST_ASSERT_EQUAL_size_t(sizeof bytes, wire_get_varint(bytes, sizeof bytes, &value));
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, value);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(any_number_of_bytes_is_written);
	RUN(words_are_read_as_if_zeros_followed);
	RUN(varints_are_read_as_written);
	RUN(a_varint_above_64_bits_is_refused);
	return UNIT_RESULT();
}
