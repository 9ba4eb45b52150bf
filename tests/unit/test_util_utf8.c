#include "unit.h"
#include "util/utf8.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static bool is_valid(const char *text)
{
	return utf8_is_valid(str_from(text));
}

static void ascii_is_valid(void)
{
	TEST_ASSERT_TRUE(utf8_is_valid(str_make(NULL, 0)));
	TEST_ASSERT_TRUE(utf8_is_valid(STR("\0\x7f")));
	TEST_ASSERT_TRUE(is_valid("name"));
	TEST_ASSERT_TRUE(is_valid("a name of more than sixteen bytes"));
}

static void characters_of_each_length_are_valid(void)
{
	TEST_ASSERT_TRUE(is_valid("\xc2\x80"));
	TEST_ASSERT_TRUE(is_valid("\xdf\xbf"));
	TEST_ASSERT_TRUE(is_valid("\xe0\xa0\x80"));
	TEST_ASSERT_TRUE(is_valid("\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
	TEST_ASSERT_TRUE(is_valid("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
}

static void overlong_forms_surrogates_and_large_numbers_are_invalid(void)
{
	static const char *const texts[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc3",
		"\xe2\x82",
		"\xf0\x9f\x90",
		"\xe2\x28\xa1",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		TEST_ASSERT_FALSE_MESSAGE(is_valid(texts[i]), texts[i]);
}

static void an_invalid_byte_is_found_at_any_position(void)
{
	char text[40];

	for (size_t len = 1; len <= sizeof text; len++) {
		for (size_t at = 0; at < len; at++) {
			memset(text, 'x', len);
			TEST_ASSERT_TRUE(utf8_is_valid(str_make(text, len)));
			text[at] = '\xe9';
			TEST_ASSERT_FALSE(utf8_is_valid(str_make(text, len)));
		}
	}
}

/* Every character that is no surrogate. */
static void what_is_encoded_is_one_valid_character(void)
{
	char text[UTF8_MAX], before[UTF8_MAX] = { 0 };
	size_t len, before_len = 0;

	for (uint32_t point = 0; point <= 0x10ffff; point++) {
		if (point >= 0xd800 && point <= 0xdfff)
			continue;
		len = utf8_encode(point, text);
		TEST_ASSERT_EQUAL_size_t(len, utf8_length(text, len));
		/* The order of the bytes is the order of the characters. */
		TEST_ASSERT_TRUE(point == 0 || str_compare(str_make(before, before_len),
							   str_make(text, len)) < 0);
		memcpy(before, text, len);
		before_len = len;
	}
	ASSERT_STR("\xf4\x8f\xbf\xbf", str_make(before, before_len));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(ascii_is_valid);
	RUN(characters_of_each_length_are_valid);
	RUN(overlong_forms_surrogates_and_large_numbers_are_invalid);
	RUN(an_invalid_byte_is_found_at_any_position);
	RUN(what_is_encoded_is_one_valid_character);
	return UNIT_RESULT();
}
