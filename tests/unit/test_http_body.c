#include "http/body.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "util/buf.h"
#include "util/mem.h"

#define DEPTH 100

void setUp(void)
{
}

void tearDown(void)
{
}

static void check_valid(const char *text)
{
	char error[BODY_ERROR_SIZE];

	if (!body_check(str_from(text), DEPTH, error))
		TEST_FAIL_MESSAGE(error);
}

static void check_error(const char *expected, struct qless_str text)
{
	char error[BODY_ERROR_SIZE] = "";

	TEST_ASSERT_FALSE(body_check(text, DEPTH, error));
	TEST_ASSERT_EQUAL_STRING(expected, error);
}

static void json_is_valid(void)
{
	check_valid("{}");
	check_valid(" [ ] ");
	check_valid("\r\n\t null");
	check_valid("-0.5e+10");
	check_valid("[1,2.5,1E3,-0,[true,false,null],{\"a\":{\"b\":[{}]}}]");
	check_valid("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\udc1f\xc3\xa9\"");
	check_valid("{\"a\" : 1 , \"a\" : [ ] }");
}

static void other_text_is_refused_with_its_place(void)
{
	check_error("it ends too early at byte 0", STR(""));
	check_error("it ends too early at byte 5", STR("{\"a\":"));
	check_error("it ends too early at byte 3", STR("\"ab"));
	check_error("it ends too early at byte 2", STR("\"\\"));
	check_error("it ends too early at byte 1", STR("["));
	check_error("a value is expected at byte 1", STR("[,]"));
	check_error("a value is expected at byte 3", STR("[1,]"));
	check_error("a string is expected at byte 1", STR("{1:2}"));
	check_error("a string is expected at byte 7", STR("{\"a\":1,}"));
	check_error("a colon is expected at byte 5", STR("{\"a\" 1}"));
	check_error("a comma or a closing bracket is expected at byte 2", STR("[1}"));
	check_error("a comma or a closing bracket is expected at byte 3", STR("[1 2]"));
	check_error("something follows the value at byte 3", STR("{} {}"));
	check_error("something follows the value at byte 1", STR("01"));
	check_error("a digit is missing at byte 1", STR("-x"));
	check_error("it ends too early at byte 2", STR("1."));
	check_error("a digit is missing at byte 3", STR("[1e]"));
	check_error("a value is expected at byte 0", STR("tru"));
	check_error("a value is expected at byte 0", STR("NaN"));
	check_error("a string has a control character at byte 2", STR("\"a\n\""));
	check_error("the escape is invalid at byte 2", STR("\"\\x\""));
	check_error("the escape is invalid at byte 3", STR("\"\\u00g0\""));
	check_error("the escape is invalid at byte 3", STR("\"\\udc1f\""));
	check_error("the escape is half a pair of surrogates at byte 7", STR("\"\\ud83d\""));
	check_error("it is not UTF-8", STR("\"\xff\""));
	check_error("a value is expected at byte 0", str_make("\0", 1));
	check_error("the escape is invalid at byte 2", str_make("\"\\\0\"", 4));
}

/* Makes arrays in arrays, or objects in objects if `name` is not empty. */
static void nest(struct buf *b, const char *open, const char *close, size_t levels)
{
	buf_clear(b);
	for (size_t i = 0; i < levels; i++)
		buf_append_str(b, str_from(open));
	buf_append_char(b, '1');
	for (size_t i = 0; i < levels; i++)
		buf_append_str(b, str_from(close));
}

static void nesting_is_limited(void)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);
	char error[BODY_ERROR_SIZE];

	nest(&b, "[", "]", DEPTH);
	TEST_ASSERT_TRUE(body_check(buf_str(&b), DEPTH, error));
	nest(&b, "{\"a\":", "}", DEPTH);
	TEST_ASSERT_TRUE(body_check(buf_str(&b), DEPTH, error));
	nest(&b, "[", "]", DEPTH + 1);
	check_error("arrays and objects are nested too deeply at byte 100", buf_str(&b));
	nest(&b, "[", "]", BODY_DEPTH_MAX);
	TEST_ASSERT_TRUE(body_check(buf_str(&b), BODY_DEPTH_MAX, error));
	nest(&b, "[", "]", BODY_DEPTH_MAX + 1);
	TEST_ASSERT_FALSE(body_check(buf_str(&b), SIZE_MAX, error));
	buf_done(&b);
}

static void an_object_has_members(void)
{
	struct qless_str rest =
		STR("{\"a\":1, \"b\\n\" : [1,\"]\",{\"x\":\"}\"}] ,\"\":\"\\\"\" }");
	struct qless_str name, value;

	TEST_ASSERT_TRUE(body_next_member(&rest, &name, &value));
	ASSERT_STR("a", name);
	ASSERT_STR("1", value);
	TEST_ASSERT_TRUE(body_next_member(&rest, &name, &value));
	ASSERT_STR("b\\n", name);
	ASSERT_STR("[1,\"]\",{\"x\":\"}\"}]", value);
	TEST_ASSERT_TRUE(body_next_member(&rest, &name, &value));
	ASSERT_STR("", name);
	ASSERT_STR("\"\\\"\"", value);
	TEST_ASSERT_FALSE(body_next_member(&rest, &name, &value));
	rest = STR("{ }");
	TEST_ASSERT_FALSE(body_next_member(&rest, &name, &value));
}

static void an_array_has_elements(void)
{
	struct qless_str rest = STR("[ true,-1.5e3 ,[],{},\"a,b\",null]"), value;
	static const char *const expected[] = { "true", "-1.5e3", "[]", "{}", "\"a,b\"", "null" };

	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		TEST_ASSERT_TRUE(body_next_element(&rest, &value));
		TEST_ASSERT_TRUE(str_equal(str_from(expected[i]), value));
	}
	TEST_ASSERT_FALSE(body_next_element(&rest, &value));
	rest = STR("[]");
	TEST_ASSERT_FALSE(body_next_element(&rest, &value));
}

static void a_string_is_decoded(void)
{
	static const char text[] = "a\\n\\\"\\u00e9\\ud83d\\udc1f\\u0000z";
	char to[sizeof text];
	size_t len = body_decode(str_from(text), to);

	ASSERT_STR("a\n\"\xc3\xa9\xf0\x9f\x90\x9f\0z", str_make(to, len));
}

static void kinds_have_names(void)
{
	TEST_ASSERT_EQUAL_STRING("an object", body_kind_text(body_kind_of(STR("{}"))));
	TEST_ASSERT_EQUAL_STRING("an array", body_kind_text(body_kind_of(STR("[]"))));
	TEST_ASSERT_EQUAL_STRING("a string", body_kind_text(body_kind_of(STR("\"\""))));
	TEST_ASSERT_EQUAL_STRING("a number", body_kind_text(body_kind_of(STR("-1"))));
	TEST_ASSERT_EQUAL_STRING("true", body_kind_text(body_kind_of(STR("true"))));
	TEST_ASSERT_EQUAL_STRING("false", body_kind_text(body_kind_of(STR("false"))));
	TEST_ASSERT_EQUAL_STRING("null", body_kind_text(body_kind_of(STR("null"))));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(json_is_valid);
	RUN(other_text_is_refused_with_its_place);
	RUN(nesting_is_limited);
	RUN(an_object_has_members);
	RUN(an_array_has_elements);
	RUN(a_string_is_decoded);
	RUN(kinds_have_names);
	return UNIT_RESULT();
}
