#include "http/response.h"

#include "unit.h"

static struct chunk_pool pool;
static struct chain out;
static char text[1024];

void setUp(void)
{
	chunk_pool_init(&pool, 4);
	chain_init(&out, &pool);
}

void tearDown(void)
{
	chain_done(&out);
	chunk_pool_done(&pool);
}

static const char *written(void)
{
	struct iovec pieces[4];
	int count = chain_peek(&out, pieces, 4, sizeof text - 1);
	size_t len = 0;

	for (int i = 0; i < count; i++) {
		memcpy(text + len, pieces[i].iov_base, pieces[i].iov_len);
		len += pieces[i].iov_len;
	}
	text[len] = '\0';
	return text;
}

static void a_head_has_a_status_and_fields(void)
{
	http_write_status(&out, 404);
	http_write_field(&out, STR("Content-Type"), STR("text/plain"));
	http_write_length(&out, 12);
	http_write_head_end(&out);
	TEST_ASSERT_EQUAL_STRING("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n"
				 "Content-Length: 12\r\n\r\n",
				 written());
}

static void a_value_cannot_begin_another_field(void)
{
	http_write_field(&out, STR("Location"),
			 STR("a\r\nSet-Cookie: b\x7f\x01"
			     "c"));
	TEST_ASSERT_EQUAL_STRING("Location: a  Set-Cookie: b  c\r\n", written());
}

static void a_body_may_come_in_chunks(void)
{
	http_write_chunk_begin(&out, 26);
	chain_append(&out, "abcdefghijklmnopqrstuvwxyz", 26);
	http_write_chunk_end(&out);
	http_write_last_chunk(&out);
	TEST_ASSERT_EQUAL_STRING("1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", written());
}

static void an_unknown_status_has_the_words_of_its_class(void)
{
	ASSERT_STR("Client Error", http_reason(499));
	ASSERT_STR("Unknown", http_reason(0));
	ASSERT_STR("Misdirected Request", http_reason(421));
}

static void check_date(int64_t seconds, const char *expected)
{
	char date[HTTP_DATE_SIZE];

	http_format_date(date, seconds);
	TEST_ASSERT_EQUAL_STRING(expected, date);
}

static void a_date_is_in_gmt(void)
{
	check_date(0, "Thu, 01 Jan 1970 00:00:00 GMT");
	check_date(784111777, "Sun, 06 Nov 1994 08:49:37 GMT");
	check_date(1709210096, "Thu, 29 Feb 2024 12:34:56 GMT");
	check_date(-5, "Thu, 01 Jan 1970 00:00:00 GMT");
	check_date(INT64_MAX, "Wed, 01 Dec 9999 00:00:00 GMT");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_head_has_a_status_and_fields);
	RUN(a_value_cannot_begin_another_field);
	RUN(a_body_may_come_in_chunks);
	RUN(an_unknown_status_has_the_words_of_its_class);
	RUN(a_date_is_in_gmt);
	return UNIT_RESULT();
}
