#include "util/json_read.h"

#include <stdlib.h>

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static bool is_json(const char *text)
{
	struct qless_str value;

	return json_read_check(str_from(text), &value);
}

static void values_are_recognised(void)
{
	static const char *const good[] = {
		"null",
		" true ",
		"false",
		"0",
		"-0.5e+10",
		"1E3",
		"\"\"",
		"\"a\"",
		"[]",
		"[ ]",
		"[1 , 2]",
		"{}",
		"{\"a\":[{}]}",
		"\t\r\n 1",
		"\"\\u00e9\\ud83d\\ude00\\n\\/\"",
		"\"\xc3\xa9\"",
	};

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		TEST_ASSERT_TRUE_MESSAGE(is_json(good[i]), good[i]);
}

static void mistakes_are_refused(void)
{
	static const char *const bad[] = {
		"",	    " ",	"nul",	       "truex",	      "01",
		"+1",	    "1.",	".5",	       "1e",	      "-",
		"\"",	    "\"a",	"\"\\\"",      "\"\\x\"",     "\"\\u12\"",
		"\"\n\"",   "\"\xff\"", "[",	       "[1,]",	      "[1 2]",
		"{",	    "{a:1}",	"{\"a\"}",     "{\"a\":}",    "{\"a\":1,}",
		"1 2",	    "[]]",	"\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
		"\"\xc3\"",
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		TEST_ASSERT_FALSE_MESSAGE(is_json(bad[i]), bad[i]);
}

static void every_beginning_of_a_text_is_refused(void)
{
	static const char text[] =
		"{\"a\":[1,-2.5e3,true,null,\"\\u00e9\\ud83d\\ude00\"],\"b\":{}}";
	struct qless_str value;

	for (size_t len = 0; len < sizeof text - 1; len++) {
		/* A copy of this length, so that a sanitizer notices a read beyond it. */
		char *copy = malloc(len + 1);

		memcpy(copy, text, len);
		TEST_ASSERT_FALSE(json_read_check(str_make(copy, len), &value));
		free(copy);
	}
	TEST_ASSERT_TRUE(is_json(text));
}

static void depth_is_limited(void)
{
	char text[2 * JSON_READ_DEPTH_MAX + 2];

	memset(text, '[', JSON_READ_DEPTH_MAX + 1);
	memset(text + JSON_READ_DEPTH_MAX + 1, ']', JSON_READ_DEPTH_MAX + 1);
	TEST_ASSERT_TRUE(json_read_check(str_make(text + 1, 2 * JSON_READ_DEPTH_MAX),
					 &(struct qless_str){ 0 }));
	TEST_ASSERT_FALSE(json_read_check(str_make(text, 2 * JSON_READ_DEPTH_MAX + 2),
					  &(struct qless_str){ 0 }));
}

static void expect_string(const char *json, enum json_escapes escapes, struct qless_str expected)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);

	TEST_ASSERT_TRUE(is_json(json));
	TEST_ASSERT_TRUE(json_read_string(str_from(json), escapes, &out));
	TEST_ASSERT_TRUE_MESSAGE(str_equal(buf_str(&out), expected), json);
	buf_done(&out);
}

static void escapes_are_decoded(void)
{
	expect_string("\"a\\n\\\"\\/\\u0041\\u0000\"", JSON_ESCAPES_TEXT, STR("a\n\"/A\0"));
	expect_string("\"\\u00e9\\u20ac\\ud83d\\ude00\"", JSON_ESCAPES_TEXT,
		      STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
}

/* The server writes bytes that are no UTF-8 as such escapes, and characters as they are. */
static void escapes_of_bytes_are_decoded(void)
{
	expect_string("\"\\u00e9\\u00ff\\u007f\xc3\xa9\"", JSON_ESCAPES_BYTES,
		      STR("\xe9\xff\x7f\xc3\xa9"));
}

static void members_are_found(void)
{
	struct qless_str object = STR("{ \"a\" : 1 , \"b\" :[ 2,3 ],\"ab\":\"x\"}"), value;
	struct qless_str name;
	struct json_items items;
	double number;

	TEST_ASSERT_TRUE(json_read_find(object, "b", &value));
	ASSERT_STR("[ 2,3 ]", value);
	TEST_ASSERT_TRUE(json_read_open(value, &items));
	TEST_ASSERT_TRUE(json_read_next(&items, &name, &value));
	TEST_ASSERT_TRUE(json_read_number(value, &number));
	TEST_ASSERT_TRUE(number == 2);
	TEST_ASSERT_TRUE(json_read_next(&items, &name, &value));
	ASSERT_STR("3", value);
	TEST_ASSERT_FALSE(json_read_next(&items, &name, &value));
	TEST_ASSERT_FALSE(json_read_find(object, "c", &value));
	TEST_ASSERT_FALSE(json_read_find(STR("[\"a\"]"), "a", &value));
	TEST_ASSERT_FALSE(json_read_number(STR("\"1\""), &number));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(values_are_recognised);
	RUN(mistakes_are_refused);
	RUN(every_beginning_of_a_text_is_refused);
	RUN(depth_is_limited);
	RUN(escapes_are_decoded);
	RUN(escapes_of_bytes_are_decoded);
	RUN(members_are_found);
	return UNIT_RESULT();
}
