/*
 * json_is_plain() against yyjson: whenever it says yes, yyjson must agree.
 */
#include "unit.h"

#include "command/json.h"

#define ROUNDS 300000

static struct buf error;
static uint64_t state;

void setUp(void)
{
	buf_init(&error, BUF_NO_MAX);
	state = 4711;
}

void tearDown(void)
{
	buf_done(&error);
}

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % below;
}

/* Whether the text is plain. Fails if it is plain and not JSON of the same kind. */
static bool is_plain(struct qless_str text)
{
	enum json_kind plain_kind, kind;

	if (!json_is_plain(text, &plain_kind))
		return false;
	if (!json_check(text, &kind, &error) || kind != plain_kind)
		TEST_FAIL_MESSAGE(text.ptr);
	return true;
}

#define ASSERT_PLAIN(text)     TEST_ASSERT_TRUE(is_plain(STR(text)))
#define ASSERT_NOT_PLAIN(text) TEST_ASSERT_FALSE(is_plain(STR(text)))

static void usual_documents_are_plain(void)
{
	ASSERT_PLAIN("{}");
	ASSERT_PLAIN(" [ ] ");
	ASSERT_PLAIN("null");
	ASSERT_PLAIN("false");
	ASSERT_PLAIN("-1.50");
	ASSERT_PLAIN("\"a string that is longer than a block of sixteen bytes\"");
	ASSERT_PLAIN(
		"{\"id\": 17, \"name\": \"x\\\"\\\\\\/\\n\", \"list\": [1, [true], {}, []]}\n");
	ASSERT_PLAIN("[{\"a\":{\"b\":[0,-0.25,null]}},\"\"]");
}

static void invalid_json_is_not_plain(void)
{
	ASSERT_NOT_PLAIN("");
	ASSERT_NOT_PLAIN("  ");
	ASSERT_NOT_PLAIN("{\"a\":1,}");
	ASSERT_NOT_PLAIN("[1 2]");
	ASSERT_NOT_PLAIN("[1]]");
	ASSERT_NOT_PLAIN("[1}");
	ASSERT_NOT_PLAIN("{} {}");
	ASSERT_NOT_PLAIN("01");
	ASSERT_NOT_PLAIN("1.");
	ASSERT_NOT_PLAIN("\"a\nb\"");
	ASSERT_NOT_PLAIN("\"\\\0\"");
	ASSERT_NOT_PLAIN("{1:2}");
	ASSERT_NOT_PLAIN("truer");
}

static void rare_json_is_not_plain(void)
{
	ASSERT_NOT_PLAIN("\"\\u00e9\"");
	ASSERT_NOT_PLAIN("\"\xc3\xa9\"");
	ASSERT_NOT_PLAIN("1e3");
}

static void json_is_plain_up_to_a_depth(void)
{
	char text[2 * JSON_PLAIN_DEPTH_MAX + 4];
	size_t depth = JSON_PLAIN_DEPTH_MAX;

	memset(text, '[', depth + 1);
	memset(text + depth + 1, ']', depth + 1);
	TEST_ASSERT_FALSE(json_is_deeper(str_make(text + 1, 2 * depth), depth));
	TEST_ASSERT_TRUE(is_plain(str_make(text + 1, 2 * depth)));
	TEST_ASSERT_FALSE(is_plain(str_make(text, 2 * depth + 2)));
}

static void random_plain_text_is_json(void)
{
	static const char *const pieces[] = {
		"{",  "}",  "[", "]",	 ",",	 ":",	  "\"",	  "\"a\":", "\"bc\"",
		"1",  "-0", " ", "true", "null", "\\",	  "/",	  "\n",	    ".5",
		"[]", "{}", "0", "e1",	 "x",	 "false", "\x80", "\\\\",   "\"0123456789abcdef\"",
	};
	size_t plain = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char text[256] = "";
		unsigned count = 1 + draw(8);

		for (unsigned j = 0; j < count; j++)
			strcat(text, pieces[draw(sizeof pieces / sizeof *pieces)]);
		plain += is_plain(str_from(text));
	}
	TEST_ASSERT_GREATER_THAN(1000, plain);
}

static void changed_plain_text_is_json(void)
{
	static const char whole[] =
		"{\"id\": 17, \"name\": \"a name that is quite long\", \"x\\n\": [1.5, [true], "
		"{}, []], \"n\": {\"a\": null, \"b\": -2}}";
	char text[sizeof whole];

	for (int i = 0; i < ROUNDS; i++) {
		memcpy(text, whole, sizeof whole);
		for (unsigned changes = 1 + draw(2); changes != 0; changes--)
			text[draw(sizeof whole - 1)] =
				(char)(draw(4) != 0 ? ' ' + draw(96) : draw(256));
		is_plain(str_make(text, sizeof whole - 1));
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(usual_documents_are_plain);
	RUN(invalid_json_is_not_plain);
	RUN(rare_json_is_not_plain);
	RUN(json_is_plain_up_to_a_depth);
	RUN(random_plain_text_is_json);
	RUN(changed_plain_text_is_json);
	return UNIT_RESULT();
}
