#include "run/run_options.h"

#include "unit.h"

static struct run_options options;
static struct buf error = BUF_INIT(BUF_NO_MAX);

void setUp(void)
{
}

void tearDown(void)
{
	run_options_done(&options);
	options = (struct run_options){ 0 };
	buf_done(&error);
	buf_init(&error, BUF_NO_MAX);
}

static int parse_words(const char *const *words)
{
	static char *argv[20];
	int argc = 0;

	argv[argc++] = (char *)(uintptr_t) "qless-run";
	while (*words != NULL)
		argv[argc++] = (char *)(uintptr_t)*words++;
	argv[argc] = NULL;
	run_options_done(&options);
	buf_clear(&error);
	return run_options_parse(&options, argc, argv, &error);
}
#define PARSE(...) parse_words((const char *const[]){ __VA_ARGS__, NULL })

static void expect_error(const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&error), text), buf_cstr(&error));
}

static void options_of_the_program_are_left_to_it(void)
{
	TEST_ASSERT_EQUAL_INT(0, PARSE("-q", "mail", "-c", "4", "sh", "-c", "true"));
	TEST_ASSERT_EQUAL_UINT64(4, options.concurrency);
	TEST_ASSERT_EQUAL_STRING("sh", options.program[0]);
	TEST_ASSERT_EQUAL_STRING("-c", options.program[1]);
	TEST_ASSERT_EQUAL_INT(0, PARSE("-q", "mail", "--", "-odd"));
	TEST_ASSERT_EQUAL_STRING("-odd", options.program[0]);
}

static void queues_are_kept_in_order(void)
{
	TEST_ASSERT_EQUAL_INT(0, PARSE("-q", "b", "--queue", "a", "-qc", "true"));
	TEST_ASSERT_EQUAL_size_t(3, options.queue_count);
	TEST_ASSERT_EQUAL_STRING("b", options.queues[0]);
	TEST_ASSERT_EQUAL_STRING("c", options.queues[2]);
}

static void server_is_named_as_for_redis_cli(void)
{
	TEST_ASSERT_EQUAL_INT(0, PARSE("-h", "db", "-p", "1", "-n", "3", "-q", "mail", "true"));
	TEST_ASSERT_EQUAL_STRING("db", options.server.settings.host);
	TEST_ASSERT_EQUAL_INT(1, options.server.settings.port);
	TEST_ASSERT_EQUAL_UINT(3, options.server.settings.db);
}

static void backoff_has_a_base_and_a_maximum(void)
{
	TEST_ASSERT_EQUAL_INT(0, PARSE("-q", "mail", "true"));
	TEST_ASSERT_TRUE(options.backoff_base_s == 1 && options.backoff_max_s == 3600);
	TEST_ASSERT_EQUAL_INT(0, PARSE("--backoff", "0.5:7", "-q", "mail", "true"));
	TEST_ASSERT_TRUE(options.backoff_base_s == 0.5 && options.backoff_max_s == 7);
	TEST_ASSERT_EQUAL_INT(0, PARSE("--backoff", "7200", "-q", "mail", "true"));
	TEST_ASSERT_TRUE(options.backoff_max_s == 7200);
	TEST_ASSERT_EQUAL_INT(-1, PARSE("--backoff", "1:", "-q", "mail", "true"));
	expect_error("--backoff must be seconds");
	TEST_ASSERT_EQUAL_INT(-1, PARSE("--backoff", "-1", "-q", "mail", "true"));
}

static void mistakes_are_explained(void)
{
	TEST_ASSERT_EQUAL_INT(-1, PARSE("true"));
	expect_error("no queue is given");
	TEST_ASSERT_EQUAL_INT(-1, PARSE("-q", "mail"));
	expect_error("no program is given");
	TEST_ASSERT_EQUAL_INT(-1, PARSE("-q", "", "true"));
	expect_error("--queue must be");
	TEST_ASSERT_EQUAL_INT(-1, PARSE("-c", "0", "-q", "mail", "true"));
	expect_error("--concurrency must be a number from 1 to 1000, not '0'");
	TEST_ASSERT_EQUAL_INT(-1, PARSE("--nonsense", "-q", "mail", "true"));
	expect_error("unknown option --nonsense");
	TEST_ASSERT_EQUAL_INT(-1, PARSE("--name", "", "-q", "mail", "true"));
	expect_error("--name must not be empty");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(options_of_the_program_are_left_to_it);
	RUN(queues_are_kept_in_order);
	RUN(server_is_named_as_for_redis_cli);
	RUN(backoff_has_a_base_and_a_maximum);
	RUN(mistakes_are_explained);
	return UNIT_RESULT();
}
