#include "util/str.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
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

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(slices_compare_by_bytes_and_then_by_length);
	RUN(case_is_ignored_for_ascii_only);
	return UNIT_RESULT();
}
