/*
 * json_is_plain(), json_flat_read() and json_walk() against yyjson. If a text is plain or flat,
 * yyjson must accept it, and json_walk() must accept the texts that yyjson accepts, and no others.
 */
#include "unit.h"

#include "command/json.h"
#include "util/json_flat.h"

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

static const struct json_bounds no_bounds = { JSON_DEPTH_MAX, SIZE_MAX };

/* Check that json_walk() decides like yyjson. */
static void compare_walk(struct qless_str text)
{
	struct json_shape shape;
	enum json_kind kind;
	bool is_valid = json_check(text, &kind, &error);

	if (json_walk(text, &no_bounds, &shape, &error) != is_valid ||
	    (is_valid && shape.kind != kind))
		TEST_FAIL_MESSAGE(text.ptr);
}

/* Whether the text is plain. Fails if it is plain and not JSON of the same kind. */
static bool is_plain(struct qless_str text)
{
	enum json_kind plain_kind, kind;

	compare_walk(text);
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

/* Whether the text is a flat object. Fails if it is that and not a JSON object. */
static bool is_flat(struct qless_str text)
{
	struct json_flat flat;
	enum json_kind kind;

	if (!json_flat_read(text, &flat))
		return false;
	if (!json_check(text, &kind, &error) || kind != JSON_OBJECT || flat.count == 0)
		TEST_FAIL_MESSAGE(text.ptr);
	return true;
}

static void changed_flat_text_is_json(void)
{
	static const char whole[] =
		"{\"id\":170, \"name\": \"a name that is quite long\",\"\":-1.5 ,\"t\":true, "
		"\"f\" :false,\"n\":null, \"0123456789012345678901234567890123456789\":0}";
	char text[sizeof whole];
	size_t found = 0;

	TEST_ASSERT_TRUE(is_flat(str_from(whole)));
	for (int i = 0; i < ROUNDS; i++) {
		size_t end = sizeof whole - 1 - draw(2) * draw(sizeof whole - 1);

		memcpy(text, whole, sizeof whole);
		text[end - 1] = '}';
		for (unsigned changes = draw(3); changes != 0; changes--)
			text[draw((unsigned)end)] =
				draw(2) != 0 ? whole[draw(sizeof whole - 1)] : (char)draw(256);
		found += is_flat(str_make(text, end));
	}
	TEST_ASSERT_GREATER_THAN(ROUNDS / 20, found);
}

static void the_walk_reads_every_kind_of_string(void)
{
	static const char *const pieces[] = {
		"\\u0041",
		"\\ud83d\\ude00",
		"\\ud83d",
		"\\ude00",
		"\\ud83d\\u0041",
		"\\uD7fF",
		"\\u00",
		"\\x",
		"\\/",
		"\xc3\xa9",
		"\xe2\x82\xac",
		"\xf0\x9f\x98\x80",
		"\xc0\xaf",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf5\x80\x80\x80",
		"\xc3",
		"\x80",
		"\xff",
		"\x7f",
		"\x1f",
		"\\\"",
		"\\\\",
		"\\",
		"a",
		"0123456789abcdef",
		"\xef\xbb\xbf",
		"\\u0000",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
	};
	const size_t count = sizeof pieces / sizeof *pieces;

	for (int i = 0; i < ROUNDS; i++) {
		char text[256] = "\"";

		for (unsigned j = draw(4); j != 0; j--)
			strcat(text, pieces[draw((unsigned)count)]);
		strcat(text, "\"");
		compare_walk(str_from(text));
		compare_walk(str_make(text, strlen(text) - 1));
	}
}

static void the_walk_reads_every_kind_of_number(void)
{
	static const char bytes[] = "0123456789-+.eE ";

	for (int i = 0; i < ROUNDS; i++) {
		char text[8];
		size_t len = 1 + draw(sizeof text - 1);

		for (size_t j = 0; j < len; j++)
			text[j] = bytes[draw(sizeof bytes - 1)];
		compare_walk(str_make(text, len));
	}
	compare_walk(STR("1e999999999999999999999999"));
	compare_walk(STR("\xef\xbb\xbf[]"));
}

static void the_walk_ends_at_its_bounds(void)
{
	struct json_bounds bounds = { 2, 3 };
	struct json_shape shape;

	TEST_ASSERT_TRUE(json_walk(STR("[[1],{},3]"), &bounds, &shape, &error));
	TEST_ASSERT_EQUAL_INT(JSON_ARRAY, shape.kind);
	TEST_ASSERT_EQUAL_size_t(3, shape.elements);
	TEST_ASSERT_FALSE(json_walk(STR("[[1],{},3,4,!"), &bounds, &shape, &error));
	TEST_ASSERT_TRUE(shape.is_too_long);
	TEST_ASSERT_FALSE(json_walk(STR("[[[!"), &bounds, &shape, &error));
	TEST_ASSERT_TRUE(shape.is_too_deep);
	TEST_ASSERT_FALSE(json_walk(STR("[1,2 3]"), &bounds, &shape, &error));
	TEST_ASSERT_FALSE(shape.is_too_deep || shape.is_too_long);
	ASSERT_STR("Invalid JSON: unexpected character, expected a comma or ] at character 6",
		   buf_str(&error));
}

static void the_walk_remembers_the_kinds_of_all_levels(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (int round = 0; round < 300; round++) {
		char ends[1000];
		size_t depth = 1 + draw(1000);

		buf_clear(&text);
		for (size_t i = 0; i < depth; i++) {
			ends[i] = draw(2) != 0 ? ']' : '}';
			buf_append_str(&text, ends[i] == ']' ? STR("[") : STR("{\"a\":"));
		}
		buf_append_char(&text, '0');
		for (size_t i = depth; i != 0; i--)
			buf_append_char(&text, ends[i - 1]);
		compare_walk(buf_str(&text));
		text.mem[text.len - 1 - draw((unsigned)depth)] ^= ']' ^ '}';
		compare_walk(buf_str(&text));
	}
	buf_done(&text);
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
	RUN(changed_flat_text_is_json);
	RUN(the_walk_reads_every_kind_of_string);
	RUN(the_walk_reads_every_kind_of_number);
	RUN(the_walk_ends_at_its_bounds);
	RUN(the_walk_remembers_the_kinds_of_all_levels);
	return UNIT_RESULT();
}
