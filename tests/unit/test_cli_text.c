/*
 * Text, times and numbers as people see them.
 */
#include "cli/text.h"

#include "cli/width.h"
#include "unit.h"

static struct buf out;

void setUp(void)
{
	buf_init(&out, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&out);
}

#define ASSERT_SHOWN(expected, call)                                \
	do {                                                        \
		buf_clear(&out);                                    \
		call;                                               \
		TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&out)); \
	} while (0)

#define ASSERT_SAFE(expected, text)  ASSERT_SHOWN(expected, text_append(&out, STR(text), true))
#define ASSERT_ASCII(expected, text) ASSERT_SHOWN(expected, text_append(&out, STR(text), false))

static void printable_text_stays(void)
{
	ASSERT_SAFE("mail \"a\\b\" ~", "mail \"a\\b\" ~");
	ASSERT_SAFE("é 漢字 👍", "é 漢字 👍");
	ASSERT_SAFE("", "");
}

static void controls_become_escapes(void)
{
	ASSERT_SAFE("\\x1b[2J\\a", "\033[2J\x07");
	ASSERT_SAFE("a\\nb\\r\\tc\\x7f\\x00", "a\nb\r\tc\x7f\0");
	ASSERT_SAFE("\\u009b31m", "\xc2\x9b"
				  "31m"); /* CSI as one character */
}

static void bytes_that_are_not_utf8_become_escapes(void)
{
	ASSERT_SAFE("a\\xffb\\xc3", "a\xff"
				    "b\xc3");
	ASSERT_SAFE("\\xed\\xa0\\x80", "\xed\xa0\x80"); /* a surrogate */
	ASSERT_SAFE("\\xc0\\xaf", "\xc0\xaf");		/* overlong */
}

static void text_that_turns_its_direction_becomes_escapes(void)
{
	ASSERT_SAFE("\\u202egpj.exe", "\xe2\x80\xaegpj.exe");
	ASSERT_SAFE("\\u2066x\\u2069", "\xe2\x81\xa6x\xe2\x81\xa9");
	ASSERT_SAFE("a\\u200bb\\ufeff\\u2028", "a\xe2\x80\x8b"
					       "b\xef\xbb\xbf\xe2\x80\xa8");
	ASSERT_SAFE("\\u{e0041}", "\xf3\xa0\x81\x81"); /* a tag, which shows nothing */
}

static void ascii_terminals_get_ascii(void)
{
	ASSERT_ASCII("\\u00e9 \\u6f22 \\u{1f44d} a", "é 漢 👍 a");
}

static void widths_are_those_of_a_terminal(void)
{
	TEST_ASSERT_EQUAL_size_t(4, width_of_text(STR("mail")));
	TEST_ASSERT_EQUAL_size_t(4, width_of_text(STR("漢字")));
	TEST_ASSERT_EQUAL_size_t(1, width_of_text(STR("e\xcc\x81"))); /* a combining accent */
	TEST_ASSERT_EQUAL_size_t(2, width_of_text(STR("👍")));
	TEST_ASSERT_EQUAL_size_t(1, width_of_text(STR("é")));
	TEST_ASSERT_EQUAL_size_t(0, width_of_text(STR("")));
}

#define ASSERT_CUT(expected, text, columns) \
	ASSERT_SHOWN(expected, text_append_cut(&out, STR(text), columns, true))

static void long_text_is_cut(void)
{
	ASSERT_CUT("abc", "abc", 3);
	ASSERT_CUT("ab…", "abcd", 3);
	ASSERT_CUT("…", "abcd", 1);
	ASSERT_CUT("", "abcd", 0);
	ASSERT_CUT("漢字", "漢字", 4);
	ASSERT_CUT("漢…", "漢字", 3);
	ASSERT_CUT("…", "漢字", 2);
	ASSERT_CUT("e\xcc\x81…", "e\xcc\x81xy", 2);
	ASSERT_SHOWN("ab~", text_append_cut(&out, STR("abcd"), 3, false));
}

static void json_on_a_terminal_has_no_controls(void)
{
	ASSERT_SHOWN("{\"a\":\"\\u009b\\u007f\\u202eé\"}",
		     text_append_json(&out, STR("{\"a\":\"\xc2\x9b\x7f\xe2\x80\xaeé\"}")));
	ASSERT_SHOWN("\"\\udb40\\udc41\"", text_append_json(&out, STR("\"\xf3\xa0\x81\x81\"")));
	ASSERT_SHOWN("\"\\u00ff\"", text_append_json(&out, STR("\"\xff\"")));
}

static void durations_have_two_units_at_most(void)
{
	static const struct {
		double seconds;
		const char *shown;
	} cases[] = {
		{ 0, "0s" },	     { -5, "0s" },	{ 0.0001, "1ms" },     { 0.85, "850ms" },
		{ 0.9999, "999ms" }, { 1, "1s" },	{ 59.9, "59s" },       { 60, "1m" },
		{ 200, "3m20s" },    { 599, "9m59s" },	{ 600, "10m" },	       { 659, "10m" },
		{ 3599, "59m" },     { 3600, "1h" },	{ 5400, "1h30m" },     { 86399, "23h" },
		{ 86400, "1d" },     { 90000, "1d1h" }, { 864000 * 3, "30d" }, { 1e300, "never" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		ASSERT_SHOWN(cases[i].shown, text_append_duration(&out, cases[i].seconds));
}

static void counts_have_separators(void)
{
	ASSERT_SHOWN("0", text_append_count(&out, 0));
	ASSERT_SHOWN("999", text_append_count(&out, 999));
	ASSERT_SHOWN("1,000", text_append_count(&out, 1000));
	ASSERT_SHOWN("-12,345,678", text_append_count(&out, -12345678));
	ASSERT_SHOWN("-123", text_append_count(&out, -123));
}

static void bytes_have_units(void)
{
	ASSERT_SHOWN("0 B", text_append_bytes(&out, 0));
	ASSERT_SHOWN("999 B", text_append_bytes(&out, 999));
	ASSERT_SHOWN("1.0 kB", text_append_bytes(&out, 1000));
	ASSERT_SHOWN("586 kB", text_append_bytes(&out, 585968));
	ASSERT_SHOWN("12.3 MB", text_append_bytes(&out, 12.34e6));
	ASSERT_SHOWN("5000 TB", text_append_bytes(&out, 5e15));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(printable_text_stays);
	RUN(controls_become_escapes);
	RUN(bytes_that_are_not_utf8_become_escapes);
	RUN(text_that_turns_its_direction_becomes_escapes);
	RUN(ascii_terminals_get_ascii);
	RUN(widths_are_those_of_a_terminal);
	RUN(long_text_is_cut);
	RUN(json_on_a_terminal_has_no_controls);
	RUN(durations_have_two_units_at_most);
	RUN(counts_have_separators);
	RUN(bytes_have_units);
	return UNIT_RESULT();
}
