#include "push/verdict.h"

#include "unit.h"

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW INT64_C(784111777)

void setUp(void)
{
}

void tearDown(void)
{
}

static void the_status_decides(void)
{
	static const struct {
		int status;
		enum verdict_kind kind;
		bool is_trouble;
	} table[] = {
		{ 0, PUSH_RETRY, true },       { 200, PUSH_COMPLETE, false },
		{ 204, PUSH_COMPLETE, false }, { 299, PUSH_COMPLETE, false },
		{ 300, PUSH_FAIL, false },     { 301, PUSH_FAIL, false },
		{ 304, PUSH_FAIL, false },     { 400, PUSH_FAIL, false },
		{ 404, PUSH_FAIL, false },     { 407, PUSH_FAIL, false },
		{ 408, PUSH_RETRY, false },    { 409, PUSH_FAIL, false },
		{ 425, PUSH_RETRY, false },    { 429, PUSH_RETRY, true },
		{ 499, PUSH_FAIL, false },     { 500, PUSH_RETRY, true },
		{ 503, PUSH_RETRY, true },     { 599, PUSH_RETRY, true },
		{ 600, PUSH_FAIL, false },     { 999, PUSH_FAIL, false },
		{ 199, PUSH_FAIL, false },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		TEST_ASSERT_EQUAL_INT(table[i].kind, push_verdict(table[i].status));
		TEST_ASSERT_EQUAL_INT(table[i].is_trouble, push_is_trouble(table[i].status));
	}
}

static double after(struct qless_str value)
{
	return push_read_retry_after(value, NOW, 3600);
}

static void retry_after_is_a_number_of_seconds(void)
{
	TEST_ASSERT_EQUAL_DOUBLE(0, after(STR("0")));
	TEST_ASSERT_EQUAL_DOUBLE(120, after(STR(" 120 ")));
	TEST_ASSERT_EQUAL_DOUBLE(3600, after(STR("3601")));
	TEST_ASSERT_EQUAL_DOUBLE(3600, after(STR("99999999999999999999999999999999999999")));
}

static void retry_after_is_a_date(void)
{
	TEST_ASSERT_EQUAL_DOUBLE(30, after(STR("Sun, 06 Nov 1994 08:50:07 GMT")));
	TEST_ASSERT_EQUAL_DOUBLE(0, after(STR("Sun, 06 Nov 1994 08:49:37 GMT")));
	TEST_ASSERT_EQUAL_DOUBLE(0, after(STR("Mon, 01 Jan 1990 00:00:00 GMT")));
	TEST_ASSERT_EQUAL_DOUBLE(3600, after(STR("Fri, 31 Dec 9999 23:59:59 GMT")));
}

static void retry_after_that_is_neither_is_ignored(void)
{
	static const struct qless_str bad[] = {
		STR_INIT(""),
		STR_INIT("-1"),
		STR_INIT("1.5"),
		STR_INIT("1e3"),
		STR_INIT("soon"),
		STR_INIT("12 34"),
		STR_INIT("Sun, 06 Nov 1994 08:49:37"),
		STR_INIT("Sun, 31 Feb 1994 08:49:37 GMT"),
		STR_INIT("Sun, 00 Nov 1994 08:49:37 GMT"),
		STR_INIT("Sun, 06 Nov 0000 08:49:37 GMT"),
		STR_INIT("Sun, 06 Nov 1994 24:49:37 GMT"),
		STR_INIT("Sun, 06 Nov 1994 08:60:37 GMT"),
		STR_INIT("Sunday, 06-Nov-94 08:49:37 GMT"),
		STR_INIT("Sun Nov  6 08:49:37 1994"),
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		TEST_ASSERT_TRUE_MESSAGE(after(bad[i]) < 0, bad[i].ptr);
}

static void delays_double_up_to_an_hour(void)
{
	double base = VERDICT_BACKOFF_BASE;

	for (unsigned attempt = 1; attempt < 40; attempt++) {
		double delay = push_backoff(STR("j"), attempt);

		TEST_ASSERT_TRUE(delay <= base && delay > base * 0.8 - 1e-9);
		TEST_ASSERT_EQUAL_DOUBLE(delay, push_backoff(STR("j"), attempt));
		base = base * 2 < VERDICT_BACKOFF_MAX ? base * 2 : VERDICT_BACKOFF_MAX;
	}
	TEST_ASSERT_TRUE(push_backoff(STR("j"), 3) != push_backoff(STR("k"), 3));
	TEST_ASSERT_TRUE(push_backoff(STR("j"), 4294967295U) <= VERDICT_BACKOFF_MAX);
}

static void expect_text(struct qless_str body, size_t max, struct qless_str expected)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);

	buf_append_char(&out, '>');
	push_append_text(&out, body, max);
	TEST_ASSERT_EQUAL_size_t(expected.len + 1, out.len);
	TEST_ASSERT_EQUAL_MEMORY(expected.ptr, buf_data(&out) + 1, expected.len);
	buf_done(&out);
}

static void a_text_is_cut_between_characters(void)
{
	expect_text(STR("abc"), 3, STR("abc"));
	expect_text(STR("abcd"), 3, STR("abc"));
	expect_text(STR("ab\xc3\xa4"), 3, STR("ab"));
	expect_text(STR("ab\xc3\xa4"), 4, STR("ab\xc3\xa4"));
	expect_text(STR("a\0b"), 9, STR("a\0b"));
}

static void bytes_that_are_no_text_are_replaced(void)
{
	expect_text(STR("a\xff"), 9, STR("a\xEF\xBF\xBD"));
	expect_text(STR("a\xff\xff"), 6, STR("a\xEF\xBF\xBD"));
	expect_text(STR("\xc3"), 9, STR("\xEF\xBF\xBD"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_status_decides);
	RUN(retry_after_is_a_number_of_seconds);
	RUN(retry_after_is_a_date);
	RUN(retry_after_that_is_neither_is_ignored);
	RUN(delays_double_up_to_an_hour);
	RUN(a_text_is_cut_between_characters);
	RUN(bytes_that_are_no_text_are_replaced);
	return UNIT_RESULT();
}
