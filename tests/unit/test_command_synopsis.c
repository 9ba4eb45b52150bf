#include "unit.h"

#include "command/synopsis.h"
#include "util/buf.h"

static struct synopsis synopsis;
static struct buf text;

void setUp(void)
{
	buf_init(&text, 4096);
}

void tearDown(void)
{
	buf_done(&text);
}

static void print_run(int first, const char *separator);

/* "TYPE:name?*" is an optional, repeated argument after a token; "*!" repeats the token, too. */
static void print_arg(const struct synopsis_arg *arg)
{
	if (arg->token.len != 0) {
		buf_append_str(&text, arg->token);
		buf_append_char(&text, ':');
	}
	switch (arg->type) {
	case SYNOPSIS_TOKEN:
		break;
	case SYNOPSIS_ONEOF:
		buf_append_char(&text, '<');
		print_run(arg->child, "|");
		buf_append_char(&text, '>');
		break;
	case SYNOPSIS_BLOCK:
		buf_append_char(&text, '(');
		print_run(arg->child, " ");
		buf_append_char(&text, ')');
		break;
	default:
		buf_append_str(&text, arg->name);
		break;
	}
	buf_printf(&text, "%s%s%s", arg->optional ? "?" : "", arg->multiple ? "*" : "",
		   arg->multiple_token ? "!" : "");
}

static void print_run(int first, const char *separator)
{
	for (int i = first; i >= 0; i = synopsis.args[i].next) {
		print_arg(&synopsis.args[i]);
		if (synopsis.args[i].next >= 0)
			buf_printf(&text, "%s", separator);
	}
}

static const char *parse(const char *source)
{
	buf_clear(&text);
	if (!synopsis_parse(source, &synopsis))
		return "wrong";
	print_run(synopsis.first, " ");
	return buf_cstr(&text);
}

#define ASSERT_PARSED(expected, source) TEST_ASSERT_EQUAL_STRING(expected, parse(source))

static void words_are_arguments(void)
{
	ASSERT_PARSED("", "");
	ASSERT_PARSED("", "  ");
	ASSERT_PARSED("a", "a");
	ASSERT_PARSED("a b-c ip:port", " a  b-c ip:port ");
}

static void a_word_in_upper_case_is_literal(void)
{
	ASSERT_PARSED("ON:", "ON");
	ASSERT_PARSED("NO-TOUCH: NOW:", "NO-TOUCH NOW");
}

static void a_word_in_quotes_is_literal(void)
{
	ASSERT_PARSED("on: off:", "'on' 'off'");
	ASSERT_PARSED("<on:|off:> a", "'on'|'off' a");
	ASSERT_PARSED("<next:queue|delay:n>*", "<'next' queue | 'delay' n> ...");
}

static void a_literal_word_joins_the_argument_after_it(void)
{
	ASSERT_PARSED("a TYPE:name b", "a TYPE name b");
	ASSERT_PARSED("A: B:b", "A B b");
	ASSERT_PARSED("TYPE:<a|b>", "TYPE a|b");
	ASSERT_PARSED("TYPE:<A:|B:x>", "TYPE <A | B x>");
	/* This does not apply to an optional argument. */
	ASSERT_PARSED("TYPE: name?", "TYPE [name]");
}

static void brackets_make_arguments_optional(void)
{
	ASSERT_PARSED("a b?", "a [b]");
	ASSERT_PARSED("a? b?", "[a] [b]");
	ASSERT_PARSED("(a b)?", "[a b]");
	ASSERT_PARSED("(a b?)?", "[a [b]]");
	ASSERT_PARSED("COUNT:count? NOW:?", "[COUNT count] [NOW]");
	ASSERT_PARSED("(LIMIT:offset count)?", "[LIMIT offset count]");
}

static void a_bar_without_blanks_chooses_between_words(void)
{
	ASSERT_PARSED("<ON:|OFF:|SKIP:>", "ON|OFF|SKIP");
	ASSERT_PARSED("x <a|B:>? y", "x [a|B] y");
	ASSERT_PARSED("<a|b> c", "a|b c");
}

static void a_bar_with_blanks_chooses_between_runs(void)
{
	ASSERT_PARSED("F:<M:a|(b c)|N:>?", "[F <M a | b c | N>]");
	ASSERT_PARSED("<(a b)|c>?", "[a b | c]");
	ASSERT_PARSED("<(a b)|<c|d>>", "<a b | c|d>");
}

static void dots_repeat_the_argument_before_them(void)
{
	ASSERT_PARSED("a*", "a ...");
	ASSERT_PARSED("a b*", "a b ...");
	ASSERT_PARSED("a?*", "[a ...]");
	ASSERT_PARSED("(a b)?*", "[a b ...]");
	ASSERT_PARSED("ID:a?*", "[ID a ...]");
	ASSERT_PARSED("GET:a?*!", "[GET a] ...");
	ASSERT_PARSED("a?*", "[a] ...");
}

static void an_argument_and_its_optional_repetition_become_one(void)
{
	ASSERT_PARSED("a*", "a [a ...]");
	ASSERT_PARSED("x a* y", "x a [a ...] y");
	ASSERT_PARSED("a?*", "[a [a ...]]");
	ASSERT_PARSED("ID:a*", "ID a [a ...]");
	ASSERT_PARSED("GET:a*!", "GET a [GET a ...]");
	ASSERT_PARSED("x (a b)*", "x a b [a b ...]");
	ASSERT_PARSED("a b?*", "a [b ...]");
	ASSERT_PARSED("a a?", "a [a]");
	ASSERT_PARSED("b a (a b)?*", "b a [a b ...]");
	ASSERT_PARSED("a (a b)?*", "a [a b ...]");
}

static void names_determine_types(void)
{
	parse("count offset timeout pattern word WORD");
	TEST_ASSERT_EQUAL_INT(6, synopsis_run_length(&synopsis, synopsis.first));
	TEST_ASSERT_EQUAL_INT(SYNOPSIS_INTEGER, synopsis.args[0].type);
	TEST_ASSERT_EQUAL_INT(SYNOPSIS_INTEGER, synopsis.args[1].type);
	TEST_ASSERT_EQUAL_INT(SYNOPSIS_DOUBLE, synopsis.args[2].type);
	TEST_ASSERT_EQUAL_INT(SYNOPSIS_PATTERN, synopsis.args[3].type);
	TEST_ASSERT_EQUAL_INT(SYNOPSIS_STRING, synopsis.args[4].type);
	TEST_ASSERT_EQUAL_INT(SYNOPSIS_TOKEN, synopsis.args[5].type);
}

static void an_invalid_synopsis_is_refused(void)
{
	static const char *const wrong[] = { "[",     "]",    "[a",  "a]",  "[]",     "<>",
					     "<a]",   "...",  "| a", "a |", "[a | ]", "a | b",
					     "[...]", "a b>", "[a>", "'a",  "''" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		TEST_ASSERT_EQUAL_STRING_MESSAGE("wrong", parse(wrong[i]), wrong[i]);
}

static void too_many_arguments_are_refused(void)
{
	char source[SYNOPSIS_MAX_ARGS * 2 + 3] = "";

	for (int i = 0; i < SYNOPSIS_MAX_ARGS - 1; i++)
		memcpy(source + 2 * i, "a ", 3);
	TEST_ASSERT_TRUE(strcmp(parse(source), "wrong") != 0);
	memcpy(source + 2 * (SYNOPSIS_MAX_ARGS - 1), "a a", 4);
	ASSERT_PARSED("wrong", source);
}

/* The parser ends for any text. If it accepts the text, the arguments are a tree. */
static void the_parser_survives_random_text(void)
{
	static const char *const parts[] = { "a", " ", "B", "[", "]", "<", ">", "|", "...", " " };
	unsigned long long seed = 3;

	for (int round = 0; round < 200000; round++) {
		char source[64] = "";
		size_t len = 0;

		for (int i = (int)(unit_random(&seed) % 16); i > 0; i--) {
			const char *part = parts[unit_random(&seed) % 10];

			memcpy(source + len, part, strlen(part) + 1);
			len += strlen(part);
		}
		parse(source);
		TEST_ASSERT_TRUE(text.len < 400);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(words_are_arguments);
	RUN(a_word_in_upper_case_is_literal);
	RUN(a_word_in_quotes_is_literal);
	RUN(a_literal_word_joins_the_argument_after_it);
	RUN(brackets_make_arguments_optional);
	RUN(a_bar_without_blanks_chooses_between_words);
	RUN(a_bar_with_blanks_chooses_between_runs);
	RUN(dots_repeat_the_argument_before_them);
	RUN(an_argument_and_its_optional_repetition_become_one);
	RUN(names_determine_types);
	RUN(an_invalid_synopsis_is_refused);
	RUN(too_many_arguments_are_refused);
	RUN(the_parser_survives_random_text);
	return UNIT_RESULT();
}
