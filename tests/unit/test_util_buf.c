#include "util/buf.h"

#include "unit.h"

static struct buf b;

void setUp(void)
{
	buf_init(&b, 100);
}

void tearDown(void)
{
	buf_done(&b);
}

static void nothing_can_be_appended_to_an_unused_buffer(void)
{
	TEST_ASSERT_TRUE(buf_append_str(&b, STR("")));
	TEST_ASSERT_EQUAL_size_t(0, b.len);
	TEST_ASSERT_NOT_NULL(buf_reserve(&b, 0));
	buf_done(&b);
}

static void bytes_come_back_in_the_order_they_went_in(void)
{
	TEST_ASSERT_TRUE(buf_append(&b, "ab\0c", 4));
	TEST_ASSERT_TRUE(buf_append_char(&b, 'd'));
	TEST_ASSERT_TRUE(buf_append_str(&b, STR("ef")));
	ASSERT_STR("ab\0cdef", buf_str(&b));
}

static void an_empty_buffer_is_an_empty_slice(void)
{
	ASSERT_STR("", buf_str(&b));
	TEST_ASSERT_NOT_NULL(buf_str(&b).ptr);
}

static void nothing_is_appended_past_the_maximum(void)
{
	char big[101] = { 0 };

	TEST_ASSERT_FALSE(buf_append(&b, big, sizeof big));
	TEST_ASSERT_EQUAL_size_t(0, b.len);
	TEST_ASSERT_TRUE(buf_append(&b, big, 100));
	TEST_ASSERT_FALSE(buf_append_char(&b, 'x'));
	TEST_ASSERT_FALSE(buf_printf(&b, "%d", 1));
	TEST_ASSERT_NULL(buf_reserve(&b, (size_t)-1));
	TEST_ASSERT_EQUAL_size_t(100, b.len);
}

static void consumed_bytes_do_not_count_towards_the_maximum(void)
{
	char half[50] = { 0 };

	for (int i = 0; i < 100; i++) {
		TEST_ASSERT_TRUE(buf_append(&b, half, sizeof half));
		TEST_ASSERT_TRUE(buf_append(&b, half, sizeof half));
		buf_consume(&b, 100);
	}
	TEST_ASSERT_LESS_OR_EQUAL_size_t(128, b.cap);
}

static void pieces_written_to_an_open_buffer_count_when_it_is_closed(void)
{
	struct buf open;
	char expected[3000];
	char *to;

	buf_init(&open, BUF_NO_MAX);
	buf_append_str(&open, STR("gone"));
	buf_append_str(&open, STR("kept"));
	buf_consume(&open, 4);
	to = buf_open(&open);
	for (size_t i = 0; i < sizeof expected; i += 3) {
		memcpy(expected + i, "abc", 3);
		to = buf_room(&open, to, 3);
		memcpy(to, "abc", 3);
		to += 3;
	}
	buf_close(&open, to);
	TEST_ASSERT_EQUAL_size_t(4 + sizeof expected, open.len);
	TEST_ASSERT_EQUAL_MEMORY("kept", buf_data(&open), 4);
	TEST_ASSERT_EQUAL_MEMORY(expected, buf_data(&open) + 4, sizeof expected);
	buf_done(&open);
}

static void printf_fits_exactly_under_the_maximum(void)
{
	char text[101];

	memset(text, 'x', 100);
	text[100] = '\0';
	TEST_ASSERT_TRUE(buf_printf(&b, "%s", text));
	TEST_ASSERT_EQUAL_size_t(100, b.len);
}

static void cstr_adds_a_nul(void)
{
	buf_append(&b, "abc", 3);
	TEST_ASSERT_EQUAL_STRING("abc", buf_cstr(&b));
	TEST_ASSERT_EQUAL_size_t(3, b.len);
}

static void shrink_keeps_the_bytes(void)
{
	buf_append(&b, "0123456789", 10);
	buf_consume(&b, 3);
	buf_shrink(&b, 0);
	ASSERT_STR("3456789", buf_str(&b));
	buf_clear(&b);
	buf_shrink(&b, 0);
	TEST_ASSERT_NULL(b.mem);
}

static void random_operations_agree_with_a_plain_array(void)
{
	char model[4096];
	size_t len = 0;
	unsigned long long seed = 7;

	for (int i = 0; i < 20000; i++) {
		unsigned long long r = unit_random(&seed);
		size_t n = (size_t)(r >> 8) % 40;

		switch (r % 4) {
		case 0:
		case 1: {
			char bytes[40];

			for (size_t k = 0; k < n; k++)
				bytes[k] = (char)(r >> k);
			if (buf_append(&b, bytes, n)) {
				memcpy(model + len, bytes, n);
				len += n;
			} else {
				TEST_ASSERT_TRUE(len + n > 100);
			}
			break;
		}
		case 2:
			if (n > len)
				n = len;
			buf_consume(&b, n);
			memmove(model, model + n, len - n);
			len -= n;
			break;
		default:
			if (n % 10 == 0)
				buf_shrink(&b, n);
			if (n < len && n > 30) {
				buf_truncate(&b, n);
				len = n;
			}
		}
		TEST_ASSERT_EQUAL_size_t(len, b.len);
		if (len != 0)
			TEST_ASSERT_EQUAL_MEMORY(model, buf_str(&b).ptr, len);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(nothing_can_be_appended_to_an_unused_buffer);
	RUN(bytes_come_back_in_the_order_they_went_in);
	RUN(an_empty_buffer_is_an_empty_slice);
	RUN(nothing_is_appended_past_the_maximum);
	RUN(consumed_bytes_do_not_count_towards_the_maximum);
	RUN(pieces_written_to_an_open_buffer_count_when_it_is_closed);
	RUN(printf_fits_exactly_under_the_maximum);
	RUN(cstr_adds_a_nul);
	RUN(shrink_keeps_the_bytes);
	RUN(random_operations_agree_with_a_plain_array);
	return UNIT_RESULT();
}
