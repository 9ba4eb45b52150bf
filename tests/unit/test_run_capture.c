#include "run/capture.h"

#include "unit.h"

#define MAX 10

static struct buf out = BUF_INIT(BUF_NO_MAX);

void setUp(void)
{
}

void tearDown(void)
{
	buf_done(&out);
	buf_init(&out, BUF_NO_MAX);
}

static void first_bytes_are_kept(void)
{
	struct capture c;

	capture_init(&c, CAPTURE_FIRST, MAX);
	capture_add(&c, STR("01234"));
	capture_add(&c, STR("56789"));
	TEST_ASSERT_FALSE(c.is_cut);
	capture_add(&c, STR("ab"));
	ASSERT_STR("0123456789", capture_bytes(&c));
	TEST_ASSERT_TRUE(c.is_cut);
	capture_clear(&c);
	ASSERT_STR("", capture_bytes(&c));
	TEST_ASSERT_FALSE(c.is_cut);
	capture_done(&c);
}

/* However the bytes arrive. */
static void last_bytes_are_kept(void)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (size_t piece = 1; piece < sizeof text; piece++) {
		struct capture c;
		size_t left = sizeof text - 1;

		capture_init(&c, CAPTURE_LAST, MAX);
		while (left != 0) {
			size_t len = left < piece ? left : piece;

			capture_add(&c, str_make(text + sizeof text - 1 - left, len));
			left -= len;
		}
		ASSERT_STR("0123456789", capture_bytes(&c));
		TEST_ASSERT_TRUE(c.is_cut);
		capture_done(&c);
	}
}

static void bytes_that_are_no_text_are_replaced(void)
{
	capture_append_text(&out, STR("a\xff\xc3\xa9\xc3"), 100);
	ASSERT_STR("a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd", buf_str(&out));
}

static void text_is_cut_between_two_characters(void)
{
	capture_append_text(&out, STR("ab\xc3\xa9"), 3);
	ASSERT_STR("ab", buf_str(&out));
}

static void short_messages_are_whole(void)
{
	capture_append_last_lines(&out, STR("one\ntwo\n\n"), false, 100);
	ASSERT_STR("one\ntwo", buf_str(&out));
}

static void long_messages_begin_with_a_whole_line(void)
{
	capture_append_last_lines(&out, STR("first line\nlast\n"), false, 8);
	ASSERT_STR("last", buf_str(&out));
}

static void line_that_is_too_long_is_cut(void)
{
	capture_append_last_lines(&out, STR("0123456789"), false, 4);
	ASSERT_STR("6789", buf_str(&out));
}

static void half_a_character_at_the_beginning_is_left_out(void)
{
	capture_append_last_lines(&out,
				  STR("\xa9"
				      "abc"),
				  true, 100);
	ASSERT_STR("abc", buf_str(&out));
	buf_clear(&out);
	capture_append_last_lines(&out, STR("\xc3\xa9\xc3\xa9"), false, 3);
	ASSERT_STR("\xc3\xa9", buf_str(&out));
}

static void replacements_count_towards_the_maximum(void)
{
	capture_append_last_lines(&out, STR("\xff\xff\xff\xff"), false, 7);
	ASSERT_STR("\xef\xbf\xbd\xef\xbf\xbd", buf_str(&out));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(first_bytes_are_kept);
	RUN(last_bytes_are_kept);
	RUN(bytes_that_are_no_text_are_replaced);
	RUN(text_is_cut_between_two_characters);
	RUN(short_messages_are_whole);
	RUN(long_messages_begin_with_a_whole_line);
	RUN(line_that_is_too_long_is_cut);
	RUN(half_a_character_at_the_beginning_is_left_out);
	RUN(replacements_count_towards_the_maximum);
	return UNIT_RESULT();
}
