#include "util/hex.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void every_byte_survives_being_written_and_read(void)
{
	unsigned char bytes[256], back[256];
	char text[2 * sizeof bytes];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	hex_write(text, bytes, sizeof bytes);
	TEST_ASSERT_EQUAL_MEMORY("000102", text, 6);
	TEST_ASSERT_EQUAL_MEMORY("fdfeff", text + sizeof text - 6, 6);
	TEST_ASSERT_TRUE(hex_read(back, text, sizeof bytes));
	TEST_ASSERT_EQUAL_MEMORY(bytes, back, sizeof bytes);
}

static void bytes_in_the_second_half_are_written_in_place(void)
{
	char text[] = { '-', '-', '-', '\x01', '\xab', '\xff' };

	hex_write(text, text + 3, 3);
	TEST_ASSERT_EQUAL_MEMORY("01abff", text, sizeof text);
}

static void digits_have_values_in_either_case(void)
{
	TEST_ASSERT_EQUAL_INT(0, hex_value('0'));
	TEST_ASSERT_EQUAL_INT(9, hex_value('9'));
	TEST_ASSERT_EQUAL_INT(10, hex_value('a'));
	TEST_ASSERT_EQUAL_INT(15, hex_value('F'));
	for (const char *c = "/:@G`g \xff"; *c != '\0'; c++)
		TEST_ASSERT_EQUAL_INT(-1, hex_value(*c));
	TEST_ASSERT_EQUAL_INT(-1, hex_value('\0'));
}

static void reading_refuses_uppercase_and_other_characters(void)
{
	char to[2];

	TEST_ASSERT_FALSE(hex_read(to, "0A", 1));
	TEST_ASSERT_FALSE(hex_read(to, "A0", 1));
	TEST_ASSERT_FALSE(hex_read(to, "000g", 2));
	TEST_ASSERT_FALSE(hex_read(to, "00 0", 2));
	TEST_ASSERT_TRUE(hex_read(to, "", 0));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_byte_survives_being_written_and_read);
	RUN(bytes_in_the_second_half_are_written_in_place);
	RUN(digits_have_values_in_either_case);
	RUN(reading_refuses_uppercase_and_other_characters);
	return UNIT_RESULT();
}
