#include "benchmark/beanstalk.h"

#include "scanreply.h"
#include "unit.h"

#define JID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct reply reply;
static struct request request;
static struct buf out;

void setUp(void)
{
	reply = (struct reply){ .type = REPLY_NULL, .integer = 77 };
	request = (struct request){ 0 };
	buf_init(&out, BUF_NO_MAX);
}

void tearDown(void)
{
	request_done(&request);
	buf_done(&out);
}

static ptrdiff_t scan(const char *bytes, size_t len)
{
	return scanreply_part(beanstalk_scan, bytes, len, &reply);
}

static void scan_split(const char *bytes)
{
	scanreply_split(beanstalk_scan, bytes, "USI", &reply);
}

static void a_job_has_an_id_and_a_body(void)
{
	scan_split("RESERVED 42 10\r\nab\r\n\ncdefg\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_BULK, reply.type);
	TEST_ASSERT_EQUAL_INT64(42, reply.integer);
	ASSERT_STR("ab\r\n\ncdefg", reply.text);
	TEST_ASSERT_EQUAL_size_t(0, reply.error.len);
}

static void statistics_have_a_body(void)
{
	scan_split("OK 4\r\n---\n\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_BULK, reply.type);
	ASSERT_STR("---\n", reply.text);
}

static void other_replies_are_lines(void)
{
	scan_split("INSERTED 18446744\r\n");
	TEST_ASSERT_EQUAL_INT(REPLY_INTEGER, reply.type);
	TEST_ASSERT_EQUAL_INT64(18446744, reply.integer);
	scan("WATCHING 2\r\n", 12);
	TEST_ASSERT_EQUAL_INT(REPLY_INTEGER, reply.type);
	TEST_ASSERT_EQUAL_INT64(2, reply.integer);
	scan("DELETED\r\n", 9);
	TEST_ASSERT_EQUAL_INT(REPLY_STATUS, reply.type);
	scan("USING tube\r\n", 12);
	TEST_ASSERT_EQUAL_INT(REPLY_STATUS, reply.type);
}

static void unexpected_lines_are_errors(void)
{
	static const char *const lines[] = { "NOT_FOUND\r\n",  "BURIED 5\r\n",	  "INSERTED\r\n",
					     "INSERTED x\r\n", "JOB_TOO_BIG\r\n", "\r\n" };

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		size_t len = strlen(lines[i]);

		TEST_ASSERT_EQUAL_INT64((int64_t)len, scan(lines[i], len));
		TEST_ASSERT_EQUAL_INT(REPLY_ERROR, reply.type);
		TEST_ASSERT_EQUAL_size_t(len - 2, reply.error.len);
	}
}

static void other_protocols_are_refused(void)
{
	static const char *const bytes[] = { "+OK\n",	       "\n",	    "RESERVED x 5\r\n",
					     "RESERVED 5\r\n", "OK -1\r\n", "OK 1000000001\r\n" };
	char endless[300];

	for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
		TEST_ASSERT_EQUAL_INT64(-1, scan(bytes[i], strlen(bytes[i])));
	memset(endless, 'x', sizeof endless);
	TEST_ASSERT_EQUAL_INT64(-1, scan(endless, sizeof endless));
}

static void requests_are_lines_and_a_body(void)
{
	const struct request_values values = { .jids = JID, .number = "0000000042" };

	beanstalk_make_put(&request, "\"text\"", 6);
	request_write(&request, &values, &out);
	ASSERT_STR("put 0 0 3600 38\r\n" JID "\"text\"\r\n", buf_str(&out));
	beanstalk_make_reserve(&request);
	buf_clear(&out);
	request_write(&request, &values, &out);
	ASSERT_STR("reserve\r\n", buf_str(&out));
	beanstalk_make_delete(&request);
	buf_clear(&out);
	request_write(&request, &values, &out);
	ASSERT_STR("delete 0000000042\r\n", buf_str(&out));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_job_has_an_id_and_a_body);
	RUN(statistics_have_a_body);
	RUN(other_replies_are_lines);
	RUN(unexpected_lines_are_errors);
	RUN(other_protocols_are_refused);
	RUN(requests_are_lines_and_a_body);
	return UNIT_RESULT();
}
