#include "push/header.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void a_name_is_a_token(void)
{
	TEST_ASSERT_NULL(header_check_name(STR("X-Env")));
	TEST_ASSERT_NULL(header_check_name(STR("Authorization")));
	TEST_ASSERT_NULL(header_check_name(STR("a!#$%&'*+-.^_`|~9")));
	TEST_ASSERT_EQUAL_STRING("is empty", header_check_name(STR("")));
	TEST_ASSERT_EQUAL_STRING("is not the name of a header", header_check_name(STR("a b")));
	TEST_ASSERT_EQUAL_STRING("is not the name of a header", header_check_name(STR("a:")));
	TEST_ASSERT_EQUAL_STRING("is not the name of a header", header_check_name(STR("a\r\nb")));
	TEST_ASSERT_EQUAL_STRING("is not the name of a header", header_check_name(STR("a\0")));
	TEST_ASSERT_EQUAL_STRING("is not the name of a header", header_check_name(STR("\xc3\xa4")));
}

static void headers_of_the_connection_are_refused_in_any_case(void)
{
	static const struct qless_str names[] = {
		STR_INIT("Connection"),
		STR_INIT("KEEP-ALIVE"),
		STR_INIT("proxy-authorization"),
		STR_INIT("te"),
		STR_INIT("Transfer-Encoding"),
		STR_INIT("Upgrade"),
		STR_INIT("Expect"),
		STR_INIT("Trailer"),
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		TEST_ASSERT_EQUAL_STRING("belongs to the connection", header_check_name(names[i]));
}

static void headers_of_the_server_are_refused(void)
{
	static const struct qless_str names[] = {
		STR_INIT("Host"),	STR_INIT("content-length"),	STR_INIT("Content-Type"),
		STR_INIT("User-Agent"), STR_INIT("X-Qlessd-Signature"),
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		TEST_ASSERT_EQUAL_STRING("is set by the server", header_check_name(names[i]));
}

static void a_value_stays_in_its_line(void)
{
	static const char control[] = "has a control character, such as the end of a line";

	TEST_ASSERT_NULL(header_check_value(STR("Bearer a\tb \xc3\xa4")));
	TEST_ASSERT_EQUAL_STRING(control, header_check_value(STR("a\r\nX: y")));
	TEST_ASSERT_EQUAL_STRING(control, header_check_value(STR("a\n")));
	TEST_ASSERT_EQUAL_STRING(control, header_check_value(STR("a\0b")));
	TEST_ASSERT_EQUAL_STRING(control, header_check_value(STR("\x7f")));
	TEST_ASSERT_EQUAL_STRING("is empty", header_check_value(STR("")));
	TEST_ASSERT_EQUAL_STRING("begins or ends with a blank", header_check_value(STR(" a")));
	TEST_ASSERT_EQUAL_STRING("begins or ends with a blank", header_check_value(STR("a\t")));
}

static void values_that_are_probably_secret_are_known_by_their_names(void)
{
	TEST_ASSERT_TRUE(header_is_secret(STR("authorization")));
	TEST_ASSERT_TRUE(header_is_secret(STR("X-Api-Key")));
	TEST_ASSERT_TRUE(header_is_secret(STR("Cookie")));
	TEST_ASSERT_TRUE(header_is_secret(STR("X-Gitlab-TOKEN")));
	TEST_ASSERT_FALSE(header_is_secret(STR("X-Env")));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_name_is_a_token);
	RUN(headers_of_the_connection_are_refused_in_any_case);
	RUN(headers_of_the_server_are_refused);
	RUN(a_value_stays_in_its_line);
	RUN(values_that_are_probably_secret_are_known_by_their_names);
	return UNIT_RESULT();
}
