#include <math.h>
#include <stdlib.h>

#include "unit.h"
#include "util/json.h"
#include "util/mem.h"

static struct buf out;

void setUp(void)
{
	buf_init(&out, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&out);
}

#define ASSERT_STRING_AS(expected, text)             \
	do {                                         \
		buf_clear(&out);                     \
		json_append_string(&out, STR(text)); \
		ASSERT_STR(expected, buf_str(&out)); \
	} while (0)

#define ASSERT_NUMBER_AS(expected, number)           \
	do {                                         \
		buf_clear(&out);                     \
		json_append_number(&out, (number));  \
		ASSERT_STR(expected, buf_str(&out)); \
	} while (0)

static void plain_text_is_quoted(void)
{
	ASSERT_STRING_AS("\"\"", "");
	ASSERT_STRING_AS("\"abc\"", "abc");
}

static void an_empty_slice_is_an_empty_string(void)
{
	struct buf b = BUF_INIT(64);

	json_append_string(&b, str_make(NULL, 0));
	json_append_string(&b, STR(""));
	TEST_ASSERT_EQUAL_STRING("\"\"\"\"", buf_cstr(&b));
	buf_done(&b);
}

static void bytes_that_the_reference_escapes_are_escaped(void)
{
	ASSERT_STRING_AS("\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d");
	ASSERT_STRING_AS("\"\\b\\t\\n\\f\\r\"", "\b\t\n\f\r");
	ASSERT_STRING_AS("\"\\u0000\\u0001\\u000b\\u001f\\u007f\"", "\0\1\v\x1f\x7f");
}

static void a_plain_string_keeps_its_slashes(void)
{
	json_append_plain_string(&out, STR("/v1/\xc3\xa9/\"\\\n\x01\xff/"));
	ASSERT_STR("\"/v1/\xc3\xa9/\\\"\\\\\\n\\u0001\\u00ff/\"", buf_str(&out));
	buf_clear(&out);
	json_append_plain_string(&out, str_make(NULL, 0));
	ASSERT_STR("\"\"", buf_str(&out));
}

static void characters_beyond_ascii_stay_unchanged(void)
{
	ASSERT_STRING_AS("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f\"",
			 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f");
	ASSERT_STRING_AS("\"a longer text with one \xc3\xa9 in it\"",
			 "a longer text with one \xc3\xa9 in it");
}

static void bytes_that_are_not_utf_8_are_escaped(void)
{
	ASSERT_STRING_AS("\"caf\\u00e9\"", "caf\xe9");
	ASSERT_STRING_AS("\"\xc3\xa9\\u00ff\\u0080\"", "\xc3\xa9\xff\x80");
	ASSERT_STRING_AS("\"a cut character at the end: \\u00e2\\u0082\"",
			 "a cut character at the end: \xe2\x82");
	ASSERT_STRING_AS("\"\\u00c0\\u00af \\u00ed\\u00a0\\u0080 \\u00f5\"",
			 "\xc0\xaf \xed\xa0\x80 \xf5");
}

/* Texts are written in pieces of 4096 bytes. */
static void no_character_is_cut_between_two_pieces(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX), expected = BUF_INIT(BUF_NO_MAX);

	for (size_t before = 0; before < 4; before++) {
		buf_clear(&text);
		buf_append(&text, "xxx", before);
		for (size_t i = 0; i < 3000; i++)
			buf_append_str(&text, STR("\xf0\x9f\x90\x9f"));
		buf_clear(&expected);
		buf_append_char(&expected, '"');
		buf_append_str(&expected, buf_str(&text));
		buf_append_char(&expected, '"');
		buf_clear(&out);
		json_append_string(&out, buf_str(&text));
		TEST_ASSERT_TRUE(str_equal(buf_str(&expected), buf_str(&out)));
	}
	buf_done(&text);
	buf_done(&expected);
}

static void long_texts_without_any_character_are_escaped(void)
{
	static char text[2 * 4096 + 5];

	memset(text, '\xbf', sizeof text);
	json_append_string(&out, str_make(text, sizeof text));
	TEST_ASSERT_EQUAL_size_t(2 + 6 * sizeof text, out.len);
	for (size_t i = 0; i < sizeof text; i++)
		TEST_ASSERT_EQUAL_MEMORY("\\u00bf", buf_data(&out) + 1 + 6 * i, 6);
}

static void a_stored_string_keeps_bytes_that_are_not_utf_8(void)
{
	json_append_stored_string(&out, STR("\xc3\xa9\xff\x80/\"\1"));
	ASSERT_STR("\"\xc3\xa9\xff\x80\\/\\\"\\u0001\"", buf_str(&out));
}

/* A text that is written in pieces, with a byte to escape at every place once. */
static void a_byte_is_escaped_at_any_position(void)
{
	static char text[9000], expected[9003];
	size_t lens[] = { 1, 7, 15, 16, 17, 31, 32, 33, 100, 4095, 4096, 4097, sizeof text };

	memset(text, 'x', sizeof text);
	memset(expected, 'x', sizeof expected);
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		for (size_t at = lens[i] > 40 ? lens[i] - 40 : 0; at < lens[i]; at++) {
			text[at] = '"';
			expected[0] = expected[lens[i] + 2] = '"';
			expected[at + 1] = '\\';
			expected[at + 2] = '"';
			buf_clear(&out);
			json_append_string(&out, str_make(text, lens[i]));
			TEST_ASSERT_EQUAL_size_t(lens[i] + 3, out.len);
			TEST_ASSERT_EQUAL_MEMORY(expected, buf_data(&out), out.len);
			text[at] = 'x';
			memset(expected, 'x', sizeof expected);
		}
	}
}

/* Appends to `expected` the escape of one byte. */
static void expect_byte(struct buf *expected, unsigned char c)
{
	static const char escaped[] = "\"\\/\b\f\n\r\t", letters[] = "\"\\/bfnrt";
	const char *found = memchr(escaped, c, sizeof escaped - 1);

	if (found != NULL)
		buf_printf(expected, "\\%c", letters[found - escaped]);
	else if (c < ' ' || c == 0x7f)
		buf_printf(expected, "\\u%04x", c);
	else
		buf_append_char(expected, (char)c);
}

/* Each text has memory of its own size, so that a sanitizer notices a read after its end. */
static void any_mixture_of_bytes_is_escaped_byte_for_byte(void)
{
	struct buf expected = BUF_INIT(BUF_NO_MAX);
	unsigned long long state = 1;

	for (int i = 0; i < 20000; i++) {
		size_t len = (size_t)i % 100;
		char *text = mem_alloc(len);
		unsigned kind = (unsigned)i / 100 % 4;

		buf_clear(&expected);
		buf_append_char(&expected, '"');
		for (size_t at = 0; at < len; at++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			/* From only letters to only bytes that need an escape. */
			text[at] = state >> 62 < kind ? "\"\\/\t\n\x7f\x1f\0"[state >> 40 & 7]
						      : (char)('a' + (state >> 50) % 26);
			expect_byte(&expected, (unsigned char)text[at]);
		}
		buf_append_char(&expected, '"');
		buf_clear(&out);
		json_append_string(&out, str_make(text, len));
		TEST_ASSERT_EQUAL_size_t(expected.len, out.len);
		TEST_ASSERT_EQUAL_MEMORY(buf_data(&expected), buf_data(&out), out.len);
		free(text);
	}
	buf_done(&expected);
}

static void numbers_have_fourteen_digits(void)
{
	ASSERT_NUMBER_AS("0", 0.0);
	ASSERT_NUMBER_AS("-0", -0.0);
	ASSERT_NUMBER_AS("2.5", 2.5);
	ASSERT_NUMBER_AS("1385000060.1235", 1385000060.1234567);
	ASSERT_NUMBER_AS("1e+14", 1e14);
	ASSERT_NUMBER_AS("1.2345678901235e+17", 123456789012345678.0);
}

static void numbers_are_never_infinite(void)
{
	ASSERT_NUMBER_AS("1.7976931348623e+308", INFINITY);
	ASSERT_NUMBER_AS("-1.7976931348623e+308", -INFINITY);
}

static void booleans_are_words(void)
{
	json_append_bool(&out, true);
	json_append_bool(&out, false);
	ASSERT_STR("truefalse", buf_str(&out));
}

#define ASSERT_ESCAPE(expected, text, count)                             \
	do {                                                             \
		const char *begin_ = (text), *at_ = begin_;              \
		char character_[UTF8_MAX];                               \
		size_t len_ = json_decode_escape(&at_, character_);      \
		ASSERT_STR(expected, str_make(character_, len_));        \
		TEST_ASSERT_EQUAL_size_t(count, (size_t)(at_ - begin_)); \
	} while (0)

static void an_escape_is_decoded_and_skipped(void)
{
	ASSERT_ESCAPE("\"", "\\\"x", 2);
	ASSERT_ESCAPE("\\", "\\\\x", 2);
	ASSERT_ESCAPE("/", "\\/x", 2);
	ASSERT_ESCAPE("\b", "\\b", 2);
	ASSERT_ESCAPE("\t", "\\t", 2);
	ASSERT_ESCAPE("A", "\\u0041b", 6);
	ASSERT_ESCAPE("\0", "\\u0000", 6);
	ASSERT_ESCAPE("\xef\xbf\xbf", "\\uFfFf", 6);
	ASSERT_ESCAPE("\xf0\x9f\x90\x9f", "\\ud83d\\udc1f\\u0041", 12);
	/* Half a pair. */
	ASSERT_ESCAPE("\xed\xa0\xbd", "\\ud83d\\u0041", 6);
	ASSERT_ESCAPE("\xed\xa0\xbd", "\\ud83d\"", 6);
	ASSERT_ESCAPE("\xed\xb0\x9f", "\\udc1f\"", 6);
}

static void only_what_is_not_utf8_changes_in_a_text(void)
{
	json_append_text(&out, STR("{\"a/\": \"\\u0041\"}"));
	ASSERT_STR("{\"a/\": \"\\u0041\"}", buf_str(&out));
	buf_clear(&out);
	json_append_text(&out, STR("\"\xc3\xa9\x80x\xf0\x9f\x90\x9f\xf0\x9f\x90\""));
	ASSERT_STR("\"\xc3\xa9\\u0080x\xf0\x9f\x90\x9f\\u00f0\\u009f\\u0090\"", buf_str(&out));
	buf_clear(&out);
	json_append_text(&out, STR(""));
	ASSERT_STR("", buf_str(&out));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(plain_text_is_quoted);
	RUN(an_empty_slice_is_an_empty_string);
	RUN(bytes_that_the_reference_escapes_are_escaped);
	RUN(a_plain_string_keeps_its_slashes);
	RUN(characters_beyond_ascii_stay_unchanged);
	RUN(bytes_that_are_not_utf_8_are_escaped);
	RUN(no_character_is_cut_between_two_pieces);
	RUN(long_texts_without_any_character_are_escaped);
	RUN(a_stored_string_keeps_bytes_that_are_not_utf_8);
	RUN(a_byte_is_escaped_at_any_position);
	RUN(any_mixture_of_bytes_is_escaped_byte_for_byte);
	RUN(numbers_have_fourteen_digits);
	RUN(numbers_are_never_infinite);
	RUN(booleans_are_words);
	RUN(an_escape_is_decoded_and_skipped);
	RUN(only_what_is_not_utf8_changes_in_a_text);
	return UNIT_RESULT();
}
