#include "util/str.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static bool glob(const char *pattern, const char *text)
{
	return str_glob_match(str_from(pattern), str_from(text), false);
}

static void slices_compare_by_bytes_and_then_by_length(void)
{
	TEST_ASSERT_TRUE(str_compare(STR("a"), STR("b")) < 0);
	TEST_ASSERT_TRUE(str_compare(STR("b"), STR("a")) > 0);
	TEST_ASSERT_TRUE(str_compare(STR("a"), STR("ab")) < 0);
	TEST_ASSERT_TRUE(str_compare(STR("\xff"), STR("a")) > 0);
	TEST_ASSERT_EQUAL_INT(0, str_compare(STR(""), str_make(NULL, 0)));
	TEST_ASSERT_TRUE(str_compare(STR("12345678"), STR("12345679")) < 0);
	TEST_ASSERT_TRUE(str_compare(STR("1234567\x80"), STR("1234567\x7f")) > 0);
	TEST_ASSERT_TRUE(str_compare(STR("21345678"), STR("12345687")) > 0);
	TEST_ASSERT_TRUE(str_compare(STR("12345678a"), STR("12345678b")) < 0);
	TEST_ASSERT_TRUE(str_compare(STR("12345678"), STR("12345678\0")) < 0);
	TEST_ASSERT_TRUE(str_compare(STR("1234567"), STR("12345678")) < 0);
	TEST_ASSERT_EQUAL_INT(0, str_compare(STR("123456789"), STR("123456789")));
	TEST_ASSERT_TRUE(str_equal(STR("a\0b"), STR("a\0b")));
	TEST_ASSERT_FALSE(str_equal(STR("a\0b"), STR("a\0c")));
}

static void case_is_ignored_for_ascii_only(void)
{
	TEST_ASSERT_TRUE(str_equal_nocase(STR("PiNg"), STR("pInG")));
	TEST_ASSERT_FALSE(str_equal_nocase(STR("ping"), STR("pin")));
	TEST_ASSERT_FALSE(str_equal_nocase(STR("\xc4"), STR("\xe4")));
	TEST_ASSERT_FALSE(str_equal_nocase(STR("@"), STR("`")));
}

static void globs_match_as_in_redis(void)
{
	TEST_ASSERT_TRUE(glob("*", ""));
	TEST_ASSERT_TRUE(glob("", ""));
	TEST_ASSERT_FALSE(glob("", "a"));
	TEST_ASSERT_TRUE(glob("h?llo", "hello"));
	TEST_ASSERT_FALSE(glob("h?llo", "hllo"));
	TEST_ASSERT_TRUE(glob("h[ae]llo", "hallo"));
	TEST_ASSERT_FALSE(glob("h[ae]llo", "hillo"));
	TEST_ASSERT_TRUE(glob("h[^e]llo", "hallo"));
	TEST_ASSERT_FALSE(glob("h[^e]llo", "hello"));
	TEST_ASSERT_TRUE(glob("h[a-c]llo", "hbllo"));
	TEST_ASSERT_TRUE(glob("h[c-a]llo", "hbllo"));
	TEST_ASSERT_TRUE(glob("a*b*c", "aXXbYYbc"));
	TEST_ASSERT_FALSE(glob("a*b*c", "aXXbYYbcd"));
	TEST_ASSERT_TRUE(glob("\\*", "*"));
	TEST_ASSERT_FALSE(glob("\\*", "a"));
	TEST_ASSERT_TRUE(glob("ql:*", "ql:log"));
	TEST_ASSERT_TRUE(glob("[\\]]", "]"));
	TEST_ASSERT_TRUE(str_glob_match(STR("MAX*"), STR("maxclients"), true));
	TEST_ASSERT_FALSE(str_glob_match(STR("MAX*"), STR("maxclients"), false));
}

static void broken_globs_do_no_harm(void)
{
	TEST_ASSERT_TRUE(glob("[a", "a"));
	TEST_ASSERT_FALSE(glob("[", "a"));
	TEST_ASSERT_TRUE(glob("[^", "a"));
	TEST_ASSERT_TRUE(glob("\\", "\\"));
	TEST_ASSERT_FALSE(glob("[a-", "b"));
}

static void many_stars_do_not_take_exponential_time(void)
{
	char text[5001];

	memset(text, 'a', 5000);
	text[5000] = '\0';
	TEST_ASSERT_FALSE(glob("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(slices_compare_by_bytes_and_then_by_length);
	RUN(case_is_ignored_for_ascii_only);
	RUN(globs_match_as_in_redis);
	RUN(broken_globs_do_no_harm);
	RUN(many_stars_do_not_take_exponential_time);
	return UNIT_RESULT();
}
