#include <stdlib.h>

#include "unit.h"
#include "util/json_path.h"
#include "util/mem.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* Finds in a text that ends where its memory ends, so that a sanitizer sees reads after it. The
 * result is a slice of `ret_copy`. */
static bool find(struct qless_str path, struct qless_str text, struct qless_str *ret,
		 char **ret_copy)
{
	struct json_path parsed;
	bool found;

	*ret_copy = mem_alloc(text.len);
	memcpy(*ret_copy, text.ptr, text.len);
	TEST_ASSERT_TRUE(json_path_parse(path, &parsed));
	found = json_path_find(&parsed, str_make(*ret_copy, text.len), ret);
	json_path_done(&parsed);
	return found;
}

static void assert_found(const char *expected, struct qless_str path, struct qless_str text)
{
	struct qless_str value;
	char *copy;

	TEST_ASSERT_TRUE_MESSAGE(find(path, text, &value, &copy), path.ptr);
	TEST_ASSERT_EQUAL_size_t(strlen(expected), value.len);
	TEST_ASSERT_EQUAL_MEMORY(expected, value.ptr, value.len);
	free(copy);
}

static void assert_absent(struct qless_str path, struct qless_str text)
{
	struct qless_str value;
	char *copy;

	TEST_ASSERT_FALSE_MESSAGE(find(path, text, &value, &copy), path.ptr);
	free(copy);
}

#define ASSERT_FOUND(expected, path, text) assert_found(expected, STR(path), STR(text))
#define ASSERT_ABSENT(path, text)	   assert_absent(STR(path), STR(text))

static void names_select_members(void)
{
	ASSERT_FOUND("1", "a", "{\"a\":1}");
	ASSERT_FOUND("\"x\"", "user.id", " { \"b\" : [1,{}] , \"user\" : { \"id\" : \"x\" } } ");
	ASSERT_FOUND("{\"c\":[1,{\"d\":2}]}", "a.b",
		     "{\"a\":{\"b\":{\"c\":[1,{\"d\":2}]},\"e\":3}}");
	ASSERT_FOUND("null", "a", "{\"b\":\"a\",\"a\":null}");
	ASSERT_ABSENT("a", "{\"b\":{\"a\":1}}");
	ASSERT_ABSENT("a.b", "{\"a\":1,\"b\":2}");
	ASSERT_ABSENT("a", "{}");
	ASSERT_ABSENT("a", "[]");
	ASSERT_ABSENT("a", "\"a\"");
	ASSERT_ABSENT("a", "17");
	ASSERT_ABSENT("a", "");
}

static void numbers_select_elements(void)
{
	ASSERT_FOUND("10", "0", "[10,20]");
	ASSERT_FOUND("20", "1", "[10 , 20]");
	ASSERT_FOUND("\"s\"", "items.1.sku", "{\"items\":[{\"sku\":\"r\"},{\"sku\":\"s\"}]}");
	ASSERT_FOUND("7", "1", "{\"1\":7}");
	ASSERT_ABSENT("2", "[10,20]");
	ASSERT_ABSENT("01", "[10,20]");
	ASSERT_ABSENT("-1", "[10,20]");
	ASSERT_ABSENT("0", "[]");
}

static void the_empty_path_is_the_whole_text(void)
{
	ASSERT_FOUND("{\"a\":1}", "", " {\"a\":1} ");
	ASSERT_FOUND("\"a b\"", "", "\"a b\"");
}

static void the_last_member_of_a_name_counts(void)
{
	ASSERT_FOUND("2", "a", "{\"a\":1,\"a\":2}");
	ASSERT_FOUND("2", "a.b", "{\"a\":{\"b\":1},\"a\":{\"b\":2}}");
	ASSERT_ABSENT("a.b", "{\"a\":{\"b\":1},\"a\":{}}");
	ASSERT_ABSENT("a.b", "{\"a\":{\"b\":1},\"a\":3}");
}

static void a_backslash_takes_the_next_character_as_it_is(void)
{
	ASSERT_FOUND("1", "a\\.b", "{\"a.b\":1,\"a\":{\"b\":2}}");
	ASSERT_FOUND("1", "a\\\\b", "{\"a\\\\b\":1}");
	ASSERT_FOUND("1", "\\a", "{\"a\":1}");
}

static void names_with_escapes_are_compared_by_their_characters(void)
{
	ASSERT_FOUND("1", "a", "{\"\\u0061\":1}");
	ASSERT_FOUND("1", "\xc3\xa9", "{\"\\u00e9\":1}");
	ASSERT_FOUND("1", "a\"b", "{\"a\\\"b\":1}");
	ASSERT_ABSENT("a", "{\"a\\n\":1}");
	ASSERT_ABSENT("ab", "{\"\\u0061\":1}");
	ASSERT_FOUND("1", "a..b", "{\"a\":{\"\":{\"b\":1}}}");
	ASSERT_FOUND("1", "a.", "{\"a\":{\"\":1}}");
}

static void brackets_in_strings_do_not_nest(void)
{
	ASSERT_FOUND("1", "b", "{\"a\":[\"]}\\\"]\",{\"}\":\"{\"}],\"b\":1}");
	ASSERT_FOUND(
		"1", "b",
		"{\"a\":\"a string that is longer than a block \\\\\",\"c\":{\"long enough for "
		"two blocks of bytes\":[[[]]]},\"b\":1}");
}

static void a_path_has_a_limited_number_of_names(void)
{
	char text[2 * JSON_PATH_NAMES_MAX + 2];
	struct json_path path;

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 2 == 0 ? 'a' : '.';
	TEST_ASSERT_TRUE(json_path_parse(str_make(text, 2 * JSON_PATH_NAMES_MAX - 1), &path));
	TEST_ASSERT_EQUAL_size_t(JSON_PATH_NAMES_MAX, path.count);
	json_path_done(&path);
	TEST_ASSERT_FALSE(json_path_parse(str_make(text, 2 * JSON_PATH_NAMES_MAX + 1), &path));
	TEST_ASSERT_FALSE(json_path_parse(STR("a\\"), &path));
}

/* Every text that begins like JSON and ends early, as data of no valid job does. */
static void a_cut_text_is_read_within_its_bounds(void)
{
	static const char text[] = "{\"a\":{\"b\":[1,\"x\\\\y\",{\"c\":true}]},\"d\":-1.5e3}";
	struct qless_str value;
	char *copy;

	for (size_t len = 0; len < sizeof text; len++) {
		find(STR("a.b.2.c"), str_make(text, len), &value, &copy);
		free(copy);
		find(STR("d"), str_make(text, len), &value, &copy);
		free(copy);
	}
	ASSERT_FOUND("true", "a.b.2.c", "{\"a\":{\"b\":[1,\"x\\\\y\",{\"c\":true}]},\"d\":-1.5e3}");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(names_select_members);
	RUN(numbers_select_elements);
	RUN(the_empty_path_is_the_whole_text);
	RUN(the_last_member_of_a_name_counts);
	RUN(a_backslash_takes_the_next_character_as_it_is);
	RUN(names_with_escapes_are_compared_by_their_characters);
	RUN(brackets_in_strings_do_not_nest);
	RUN(a_path_has_a_limited_number_of_names);
	RUN(a_cut_text_is_read_within_its_bounds);
	return UNIT_RESULT();
}
