#include "benchmark/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#define WORDS_MAX 32

static struct options options;
static struct buf error;

void setUp(void)
{
	buf_init(&error, BUF_NO_MAX);
	unsetenv("QLESSD_PASSWORD");
}

void tearDown(void)
{
	buf_done(&error);
}

/* The words stay in memory, like those of main(). */
static int parse(const char *const *words)
{
	static char copies[WORDS_MAX][64];
	static char *argv[WORDS_MAX + 1];
	int argc = 0;

	snprintf(copies[0], sizeof copies[0], "qlessd-benchmark");
	for (argv[argc] = copies[0]; words[argc] != NULL; argv[argc] = copies[argc]) {
		TEST_ASSERT_LESS_THAN_INT(WORDS_MAX, ++argc);
		snprintf(copies[argc], sizeof copies[argc], "%s", words[argc - 1]);
	}
	argv[argc + 1] = NULL;
	buf_clear(&error);
	return options_parse(argc + 1, argv, &options, &error);
}
#define PARSE(...) parse((const char *const[]){ __VA_ARGS__, NULL })

#define ASSERT_REFUSED(message, ...)                                 \
	do {                                                         \
		TEST_ASSERT_EQUAL_INT(-1, PARSE(__VA_ARGS__));       \
		TEST_ASSERT_EQUAL_STRING(message, buf_cstr(&error)); \
	} while (0)

static void options_have_defaults(void)
{
	TEST_ASSERT_EQUAL_INT(0, parse((const char *const[]){ NULL }));
	TEST_ASSERT_EQUAL_STRING("127.0.0.1", options.host);
	TEST_ASSERT_EQUAL_UINT64(7537, options.port);
	TEST_ASSERT_EQUAL_STRING("lifecycle", options.workload);
	TEST_ASSERT_EQUAL_UINT64(0, options.connections);
	TEST_ASSERT_EQUAL_UINT64(0, options.workers);
	TEST_ASSERT_EQUAL_UINT64(1, options.pipeline);
	TEST_ASSERT_EQUAL_UINT64(100, options.payload);
	TEST_ASSERT_EQUAL_INT(OPTIONS_NATIVE, options.dialect);
	TEST_ASSERT_FALSE(options.has_seed);
}

static void all_options_are_parsed(void)
{
	TEST_ASSERT_EQUAL_INT(0, PARSE("--host", "::1", "--port=7000", "--jobs", "10k", "--backlog",
				       "2M", "--dialect", "evalsha", "--script", "qless.lua",
				       "--rate", "500", "--json"));
	TEST_ASSERT_EQUAL_STRING("::1", options.host);
	TEST_ASSERT_EQUAL_UINT64(7000, options.port);
	TEST_ASSERT_EQUAL_UINT64(10000, options.jobs);
	TEST_ASSERT_EQUAL_UINT64(2000000, options.backlog);
	TEST_ASSERT_EQUAL_INT(OPTIONS_EVALSHA, options.dialect);
	TEST_ASSERT_EQUAL_STRING("qless.lua", options.script);
	TEST_ASSERT_EQUAL_UINT64(500, options.rate);
	TEST_ASSERT_TRUE(options.json);

	TEST_ASSERT_EQUAL_INT(0, PARSE("--seed", "0", "--duration", "0.5", "--warmup", "1.5",
				       "--user", "ann", "--password", "secret", "--database", "3",
				       "--flush", "--histogram", "--progress"));
	TEST_ASSERT_TRUE(options.has_seed);
	TEST_ASSERT_TRUE(options.duration_s == 0.5 && options.warmup_s == 1.5);
	TEST_ASSERT_EQUAL_STRING("ann", options.user);
	TEST_ASSERT_EQUAL_UINT64(3, options.database);
	TEST_ASSERT_TRUE(options.flush && options.histogram && options.progress);
	TEST_ASSERT_FALSE(options.json);
}

static void the_password_may_be_in_the_environment(void)
{
	setenv("QLESSD_PASSWORD", "secret", 1);
	TEST_ASSERT_EQUAL_INT(0, PARSE("--user", "ann"));
	TEST_ASSERT_EQUAL_STRING("secret", options.password);
	TEST_ASSERT_EQUAL_INT(0, PARSE("--password", "other"));
	TEST_ASSERT_EQUAL_STRING("other", options.password);
}

static void help_version_and_run_are_distinguished(void)
{
	PARSE("--help");
	TEST_ASSERT_EQUAL_INT(OPTIONS_HELP, options.task);
	PARSE("--version", "--nonsense");
	TEST_ASSERT_EQUAL_INT(OPTIONS_VERSION, options.task);
	PARSE("--workload", "help");
	TEST_ASSERT_EQUAL_INT(OPTIONS_LIST_WORKLOADS, options.task);
}

static void numbers_are_checked(void)
{
	ASSERT_REFUSED("--port must be a number from 1 to 65535, not '0'", "--port", "0");
	ASSERT_REFUSED("--port must be a number from 1 to 65535, not '65536'", "--port", "65536");
	ASSERT_REFUSED("--pipeline must be a number from 1 to 10000, not 'x'", "--pipeline", "x");
	ASSERT_REFUSED("--pipeline must be a number from 1 to 10000, not ''", "--pipeline", "");
	ASSERT_REFUSED("--pipeline must be a number from 1 to 10000, not 'k'", "--pipeline", "k");
	ASSERT_REFUSED("--pipeline must be a number from 1 to 10000, not '-1'", "--pipeline", "-1");
	ASSERT_REFUSED("--pipeline must be a number from 1 to 10000, not '1M'", "--pipeline", "1M");
	ASSERT_REFUSED("--payload must be a number from 2 to 64000000, not '1'", "--payload", "1");
	ASSERT_REFUSED("--seed must be a number from 0 to 18446744073709551615, "
		       "not '18446744073709551615k'",
		       "--seed", "18446744073709551615k");
	ASSERT_REFUSED("--duration must be seconds from 0 to 86400, not 'nan'", "--duration",
		       "nan");
	ASSERT_REFUSED("--warmup must be seconds from 0 to 86400, not '-1'", "--warmup", "-1");
}

static void unknown_options_are_refused(void)
{
	ASSERT_REFUSED("unknown option --nonsense", "--nonsense");
	ASSERT_REFUSED("unknown option -x", "-x");
	ASSERT_REFUSED("'extra' is not an option", "extra");
	ASSERT_REFUSED("--jobs needs a value", "--jobs");
	ASSERT_REFUSED("--dialect must be native, qless, evalsha, lists or beanstalkd, not 'lua'",
		       "--dialect", "lua");
	ASSERT_REFUSED("beanstalkd has no users, no databases and no FLUSHALL: no --user, "
		       "no --database and no --flush",
		       "--dialect", "beanstalkd", "--flush");
}

static void conflicting_options_are_refused(void)
{
	ASSERT_REFUSED("--script is for --dialect evalsha", "--script", "qless.lua");
	ASSERT_REFUSED("--user needs a --password", "--user", "ann");
	ASSERT_REFUSED("--batch is not for --dialect evalsha, which has no commands for multiple "
		       "jobs",
		       "--batch", "2", "--dialect", "evalsha");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(options_have_defaults);
	RUN(all_options_are_parsed);
	RUN(the_password_may_be_in_the_environment);
	RUN(help_version_and_run_are_distinguished);
	RUN(numbers_are_checked);
	RUN(unknown_options_are_refused);
	RUN(conflicting_options_are_refused);
	return UNIT_RESULT();
}
