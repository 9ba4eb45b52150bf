#include "benchmark/reply.h"

#include "scanreply.h"
#include "unit.h"

static struct reply reply;

void setUp(void)
{
	reply = (struct reply){ .type = REPLY_NULL, .integer = 77 };
}

void tearDown(void)
{
}

static ptrdiff_t scan(const char *bytes, size_t len)
{
	return scanreply_part(reply_scan, bytes, len, &reply);
}

static void scan_split(const char *bytes)
{
	scanreply_split(reply_scan, bytes, "+OK", &reply);
}

static void a_status_has_one_line(void)
{
	scan_split("+PONG\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_STATUS, reply.type);
	ASSERT_STR("PONG", reply.text);
	ASSERT_STR("", reply.error);
}

static void an_error_has_one_line(void)
{
	scan_split("-ERR no such thing\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_ERROR, reply.type);
	ASSERT_STR("ERR no such thing", reply.text);
	ASSERT_STR("ERR no such thing", reply.error);
}

static void an_integer_has_a_sign(void)
{
	scan_split(":-1234567890123\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_INTEGER, reply.type);
	TEST_ASSERT_EQUAL_INT64(-1234567890123, reply.integer);
}

static void a_bulk_string_may_hold_line_ends(void)
{
	scan_split("$8\r\na\r\nb\r\n+c\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_BULK, reply.type);
	ASSERT_STR("a\r\nb\r\n+c", reply.text);
}

static void an_empty_bulk_string_is_not_null(void)
{
	scan_split("$0\r\n\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_BULK, reply.type);
	ASSERT_STR("", reply.text);
}

static void null_is_a_bulk_string_or_an_array(void)
{
	scan_split("$-1\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_NULL, reply.type);
	reply.integer = 77;
	scan_split("*-1\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_NULL, reply.type);
}

static void an_array_consists_of_the_bytes_of_its_elements(void)
{
	struct reply element;

	scan_split("*3\r\n$1\r\na\r\n:5\r\n$-1\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_ARRAY, reply.type);
	TEST_ASSERT_EQUAL_INT64(3, reply.integer);
	TEST_ASSERT_TRUE(reply_next(&reply.text, &element));
	ASSERT_STR("a", element.text);
	TEST_ASSERT_TRUE(reply_next(&reply.text, &element));
	TEST_ASSERT_EQUAL_INT64(5, element.integer);
	TEST_ASSERT_TRUE(reply_next(&reply.text, &element));
	TEST_ASSERT_EQUAL_INT(REPLY_NULL, element.type);
	TEST_ASSERT_FALSE(reply_next(&reply.text, &element));
}

static void an_empty_array_has_no_elements(void)
{
	scan_split("*0\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_ARRAY, reply.type);
	TEST_ASSERT_EQUAL_size_t(0, reply.text.len);
}

static void arrays_nest(void)
{
	scan_split("*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n$2\r\nhi\r\n");
	TEST_ASSERT_EQUAL_INT64(2, reply.integer);
}

static void the_first_error_inside_an_array_is_found(void)
{
	scan_split("*3\r\n+ok\r\n-NOJOB one\r\n-NOJOB two\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_ARRAY, reply.type);
	ASSERT_STR("NOJOB one", reply.error);
}

static void invalid_replies_are_refused(void)
{
	static const char *const wrong[] = {
		"HTTP/1.1 400\r\n",
		"?\r\n",
		"+OK\n",
		":\r\n",
		":1x\r\n",
		"$-2\r\n",
		"*-2\r\n",
		"$536870913\r\n",
		"*16777217\r\n",
		"$ 1\r\n",
		"*1\r\n!\r\n",
		"\r\n",
		":99999999999999999999\r\n",
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		TEST_ASSERT_EQUAL_INT64_MESSAGE(-1, scan(wrong[i], strlen(wrong[i])), wrong[i]);
}

static void a_line_without_end_is_refused(void)
{
	static char line[REPLY_LINE_MAX + 2];

	memset(line, 'x', sizeof line);
	line[0] = '+';
	TEST_ASSERT_EQUAL_INT64(0, scan(line, REPLY_LINE_MAX));
	TEST_ASSERT_EQUAL_INT64(-1, scan(line, sizeof line));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_status_has_one_line);
	RUN(an_error_has_one_line);
	RUN(an_integer_has_a_sign);
	RUN(a_bulk_string_may_hold_line_ends);
	RUN(an_empty_bulk_string_is_not_null);
	RUN(null_is_a_bulk_string_or_an_array);
	RUN(an_array_consists_of_the_bytes_of_its_elements);
	RUN(an_empty_array_has_no_elements);
	RUN(arrays_nest);
	RUN(the_first_error_inside_an_array_is_found);
	RUN(invalid_replies_are_refused);
	RUN(a_line_without_end_is_refused);
	return UNIT_RESULT();
}
