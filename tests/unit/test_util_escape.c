#include "util/escape.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void check_written(const char *expected, char c)
{
	char text[ESCAPE_MAX + 1];

	*escape_write(text, c) = '\0';
	TEST_ASSERT_EQUAL_STRING(expected, text);
}

/* Reads the escape after the backslash, which must end where `text` ends. */
static char read_all(const char *text)
{
	const char *end = text + strlen(text), *next;
	char c = escape_read(text + 1, end, &next);

	TEST_ASSERT_EQUAL_PTR(end, next);
	return c;
}

static void control_characters_with_a_letter_are_written_with_it(void)
{
	check_written("\\a", '\a');
	check_written("\\b", '\b');
	check_written("\\n", '\n');
	check_written("\\r", '\r');
	check_written("\\t", '\t');
	check_written("\\\"", '"');
	check_written("\\\\", '\\');
	check_written("\\x00", '\0');
	check_written("\\x0b", '\v');
	check_written("\\xff", '\xff');
}

static void every_byte_survives_being_written_and_read(void)
{
	for (int i = 0; i < 256; i++) {
		char text[ESCAPE_MAX + 1];

		*escape_write(text, (char)i) = '\0';
		TEST_ASSERT_EQUAL_INT((char)i, read_all(text));
		*escape_hex(text, (char)i) = '\0';
		TEST_ASSERT_EQUAL_INT((char)i, read_all(text));
	}
}

static void other_bytes_after_a_backslash_stand_for_themselves(void)
{
	TEST_ASSERT_EQUAL_INT('q', read_all("\\q"));
	TEST_ASSERT_EQUAL_INT('\'', read_all("\\'"));
	TEST_ASSERT_EQUAL_INT('\xAB', read_all("\\xaB"));
}

static void an_incomplete_hexadecimal_escape_is_an_x(void)
{
	static const char *const texts[] = { "x", "x1", "x1g", "xg1" };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const char *next;

		TEST_ASSERT_EQUAL_INT('x',
				      escape_read(texts[i], texts[i] + strlen(texts[i]), &next));
		TEST_ASSERT_EQUAL_PTR(texts[i] + 1, next);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(control_characters_with_a_letter_are_written_with_it);
	RUN(every_byte_survives_being_written_and_read);
	RUN(other_bytes_after_a_backslash_stand_for_themselves);
	RUN(an_incomplete_hexadecimal_escape_is_an_x);
	return UNIT_RESULT();
}
