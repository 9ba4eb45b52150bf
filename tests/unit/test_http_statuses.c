#include "http/statuses.h"

#include "qless.h"
#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void each_error_of_the_engine_has_a_status(void)
{
	static const struct {
		const char *code;
		int status;
	} expected[] = {
		{ "BADARG", 400 },     { "BADJSON", 400 },     { "NOJOB", 404 },
		{ "NOTRUNNING", 409 }, { "NOTOWNER", 409 },    { "WRONGQUEUE", 409 },
		{ "NOTDEPENDS", 409 }, { "DEPENDENTS", 409 },  { "RETRIES", 409 },
		{ "LIMIT", 413 },      { "NOTFINISHED", 409 },
	};
	static const char *const words[] = {
#define WORD(name, value, word) word,
		QLESS_ERRORS(WORD)
#undef WORD
	};

	TEST_ASSERT_EQUAL_size_t(sizeof expected / sizeof *expected, sizeof words / sizeof *words);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		TEST_ASSERT_EQUAL_STRING(expected[i].code, words[i]);
		TEST_ASSERT_EQUAL_INT(expected[i].status, http_status_of(words[i]));
	}
}

static void errors_of_the_server_have_a_status(void)
{
	TEST_ASSERT_EQUAL_INT(401, http_status_of("NOAUTH"));
	TEST_ASSERT_EQUAL_INT(403, http_status_of("NOPERM"));
	TEST_ASSERT_EQUAL_INT(503, http_status_of("LOADING"));
	TEST_ASSERT_EQUAL_INT(503, http_status_of("OOM"));
	TEST_ASSERT_EQUAL_INT(400, http_status_of("ERR"));
	TEST_ASSERT_EQUAL_INT(400, http_status_of("SOMETHING"));
	TEST_ASSERT_EQUAL_INT(400, http_status_of(""));
}

static void only_what_may_pass_is_sent_again(void)
{
	TEST_ASSERT_TRUE(http_may_retry(503));
	TEST_ASSERT_TRUE(http_may_retry(429));
	TEST_ASSERT_FALSE(http_may_retry(413));
	TEST_ASSERT_FALSE(http_may_retry(409));
	TEST_ASSERT_FALSE(http_may_retry(200));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_error_of_the_engine_has_a_status);
	RUN(errors_of_the_server_have_a_status);
	RUN(only_what_may_pass_is_sent_again);
	return UNIT_RESULT();
}
