#include "unit.h"

#include "command/lua.h"

static struct qless_str rest;

void setUp(void)
{
}

void tearDown(void)
{
}

static void begin(const char *text)
{
	rest = str_from(text);
}

static void expect(enum lua_token_type type, const char *text)
{
	struct lua_token token = lua_next(&rest);

	TEST_ASSERT_EQUAL_INT(type, token.type);
	TEST_ASSERT_EQUAL_INT(strlen(text), token.text.len);
	TEST_ASSERT_TRUE(str_equal(str_from(text), token.text));
}

static void expect_end(void)
{
	TEST_ASSERT_EQUAL_INT(LUA_END, lua_next(&rest).type);
	TEST_ASSERT_EQUAL_INT(LUA_END, lua_next(&rest).type);
}

static void a_text_consists_of_names_strings_numbers_and_symbols(void)
{
	begin("local _a1 = t.x[\"y\"](-12.5e3, 0xff) or 'z'");
	expect(LUA_NAME, "local");
	expect(LUA_NAME, "_a1");
	expect(LUA_SYMBOL, "=");
	expect(LUA_NAME, "t");
	expect(LUA_SYMBOL, ".");
	expect(LUA_NAME, "x");
	expect(LUA_SYMBOL, "[");
	expect(LUA_STRING, "y");
	expect(LUA_SYMBOL, "]");
	expect(LUA_SYMBOL, "(");
	expect(LUA_SYMBOL, "-");
	expect(LUA_NUMBER, "12.5e3");
	expect(LUA_SYMBOL, ",");
	expect(LUA_NUMBER, "0xff");
	expect(LUA_SYMBOL, ")");
	expect(LUA_NAME, "or");
	expect(LUA_STRING, "z");
	expect_end();
}

static void symbols_of_several_characters_stay_together(void)
{
	begin("a==b~=c<=d>=e..f...g=h<.5");
	for (const char *const *s =
		     (const char *const[]){ "a", "==", "b", "~=", "c", "<=", "d", ">=", "e", "..",
					    "f", "...", "g", "=", "h", "<", ".5", NULL };
	     *s != NULL; s++) {
		struct lua_token token = lua_next(&rest);

		TEST_ASSERT_TRUE(str_equal(str_from(*s), token.text));
	}
	expect_end();
}

static void comments_are_skipped(void)
{
	begin("a -- b c\nd --[[ e\n f ]] g --[==[ ]] ]=] ]==] h--[=x\ni --[[]]j--");
	expect(LUA_NAME, "a");
	expect(LUA_NAME, "d");
	expect(LUA_NAME, "g");
	expect(LUA_NAME, "h");
	expect(LUA_NAME, "i");
	expect(LUA_NAME, "j");
	expect_end();
}

static void a_string_may_contain_code(void)
{
	begin("'a -- b' \"c'd\" 'e\\'f\\\\' [[g\n--]=] h]] [=[ ]] ]=] ''");
	expect(LUA_STRING, "a -- b");
	expect(LUA_STRING, "c'd");
	expect(LUA_STRING, "e\\'f\\\\");
	expect(LUA_STRING, "g\n--]=] h");
	expect(LUA_STRING, " ]] ");
	expect(LUA_STRING, "");
	expect_end();
}

static void brackets_around_an_index_are_not_a_string(void)
{
	begin("t[u[1]] [=1");
	expect(LUA_NAME, "t");
	expect(LUA_SYMBOL, "[");
	expect(LUA_NAME, "u");
	expect(LUA_SYMBOL, "[");
	expect(LUA_NUMBER, "1");
	expect(LUA_SYMBOL, "]");
	expect(LUA_SYMBOL, "]");
	expect(LUA_SYMBOL, "[");
	expect(LUA_SYMBOL, "=");
	expect(LUA_NUMBER, "1");
	expect_end();
}

static void an_unclosed_string_or_comment_ends_the_text(void)
{
	static const char *const texts[] = {
		"a 'b",	    "a 'b\nc'",	  "a \"b\\\"", "a [[b]",   "a [==[b]=]",
		"a --[[ b", "a --[=[ ]]", "a 'b\\",    "a [[b]=]",
	};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		begin(texts[i]);
		expect(LUA_NAME, "a");
		expect_end();
	}
	begin("");
	expect_end();
}

static void any_bytes_are_accepted(void)
{
	static const char bytes[] = "a\0b\xff\x80@`\x7f";

	rest = str_make(bytes, sizeof bytes - 1);
	expect(LUA_NAME, "a");
	TEST_ASSERT_EQUAL_INT(LUA_SYMBOL, lua_next(&rest).type);
	expect(LUA_NAME, "b");
	while (rest.len > 0)
		TEST_ASSERT_EQUAL_INT(LUA_SYMBOL, lua_next(&rest).type);
	expect_end();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_text_consists_of_names_strings_numbers_and_symbols);
	RUN(symbols_of_several_characters_stay_together);
	RUN(comments_are_skipped);
	RUN(a_string_may_contain_code);
	RUN(brackets_around_an_index_are_not_a_string);
	RUN(an_unclosed_string_or_comment_ends_the_text);
	RUN(any_bytes_are_accepted);
	return UNIT_RESULT();
}
