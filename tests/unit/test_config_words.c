#include "config/config_int.h"

#include "unit.h"

static struct config_list words;
static struct buf text;

void setUp(void)
{
	words = (struct config_list){ .count = 0 };
	buf_init(&text, BUF_NO_MAX);
}

void tearDown(void)
{
	config_list_done(&words);
	buf_done(&text);
}

/* The words of a line, each in brackets. */
static const char *split(struct qless_str line)
{
	const char *wrong;

	config_list_done(&words);
	buf_clear(&text);
	wrong = config_split(line, &words);
	if (wrong != NULL)
		return wrong;
	for (size_t i = 0; i < words.count; i++)
		buf_printf(&text, "[%s]", words.words[i]);
	return buf_cstr(&text);
}

static void words_are_separated_by_blanks(void)
{
	TEST_ASSERT_EQUAL_STRING("", split(STR("")));
	TEST_ASSERT_EQUAL_STRING("", split(STR(" \t\r\v\f\n")));
	TEST_ASSERT_EQUAL_STRING("[port][7537]", split(STR("port 7537")));
	TEST_ASSERT_EQUAL_STRING("[bind][a][b]", split(STR("\tbind  a\t b \r")));
	TEST_ASSERT_EQUAL_STRING("[a\\n#b]", split(STR("a\\n#b")));
}

static void quotes_keep_blanks_and_escapes_name_bytes(void)
{
	TEST_ASSERT_EQUAL_STRING("[a][]", split(STR("a \"\"")));
	TEST_ASSERT_EQUAL_STRING("[a b][c]", split(STR("\"a b\" 'c'")));
	TEST_ASSERT_EQUAL_STRING("[\n\r\t\b\a]", split(STR("\"\\n\\r\\t\\b\\a\"")));
	TEST_ASSERT_EQUAL_STRING("[AzxZ1\"\\]", split(STR("\"\\x41\\x7A\\xZ1\\\"\\\\\"")));
	TEST_ASSERT_EQUAL_STRING("[it's \\n]", split(STR("'it\\'s \\n'")));
	TEST_ASSERT_EQUAL_STRING("[ab c]", split(STR("a\"b c\"")));
}

static void broken_quotes_are_refused(void)
{
	TEST_ASSERT_EQUAL_STRING("a quote is not closed", split(STR("a \"b")));
	TEST_ASSERT_EQUAL_STRING("a quote is not closed", split(STR("\"")));
	TEST_ASSERT_EQUAL_STRING("a quote is not closed", split(STR("'b\\'")));
	TEST_ASSERT_EQUAL_STRING("a quote is not closed", split(STR("\"\\")));
	TEST_ASSERT_EQUAL_STRING("a closing quote must end the word", split(STR("\"a\"b")));
	TEST_ASSERT_EQUAL_STRING("a closing quote must end the word", split(STR("'a'\"b\"")));
}

static void a_nul_byte_is_refused_however_it_is_written(void)
{
	TEST_ASSERT_EQUAL_STRING("a NUL byte cannot be in a word", split(STR("a\0b")));
	TEST_ASSERT_EQUAL_STRING("a NUL byte cannot be in a word", split(STR("'a\0b'")));
	TEST_ASSERT_EQUAL_STRING("a NUL byte cannot be in a word", split(STR("\"\\x00\"")));
}

static void the_number_of_words_is_limited(void)
{
	for (int i = 0; i < CONFIG_VALUE_MAX_WORDS + 1; i++)
		buf_append_str(&text, STR("w "));
	TEST_ASSERT_NULL(config_split(buf_str(&text), &words));
	config_list_done(&words);
	buf_append_str(&text, STR("w "));
	TEST_ASSERT_EQUAL_STRING("too many words", config_split(buf_str(&text), &words));
}

static void a_plain_word_is_written_unchanged(void)
{
	config_quote(STR("/var/lib/qless-1.0#x"), &text);
	TEST_ASSERT_EQUAL_STRING("/var/lib/qless-1.0#x", buf_cstr(&text));
}

static void any_word_can_be_written_and_read_back(void)
{
	unsigned long long seed = 7;

	for (int round = 0; round < 20000; round++) {
		char word[16];
		size_t len = unit_random(&seed) % sizeof word;

		for (size_t i = 0; i < len; i++)
			word[i] = (char)(1 + unit_random(&seed) % 255);
		config_list_done(&words);
		buf_clear(&text);
		config_quote(str_make(word, len), &text);
		TEST_ASSERT_NULL(config_split(buf_str(&text), &words));
		TEST_ASSERT_EQUAL_size_t(1, words.count);
		TEST_ASSERT_TRUE(str_equal(str_make(word, len), str_from(words.words[0])));
	}
}

static void messages_show_the_beginning_of_a_long_word(void)
{
	char word[100];

	memset(word, 'w', sizeof word);
	config_quote_briefly(str_make(word, sizeof word), &text);
	TEST_ASSERT_EQUAL_size_t(2 + 64 + 3, text.len);
	buf_clear(&text);
	config_quote_briefly(STR("a\nb\x1b\"\xc3\xa4"), &text);
	TEST_ASSERT_EQUAL_STRING("\"a\\nb\\x1b\\\"\xc3\xa4\"", buf_cstr(&text));
}

static void lines_end_with_lf_crlf_or_the_text(void)
{
	struct qless_str rest = STR("a\r\n\nb\n#c"), line;

	TEST_ASSERT_TRUE(config_next_line(&rest, &line));
	ASSERT_STR("a", line);
	TEST_ASSERT_TRUE(config_next_line(&rest, &line));
	ASSERT_STR("", line);
	TEST_ASSERT_TRUE(config_line_is_void(line));
	TEST_ASSERT_TRUE(config_next_line(&rest, &line));
	ASSERT_STR("b", line);
	TEST_ASSERT_FALSE(config_line_is_void(line));
	TEST_ASSERT_TRUE(config_next_line(&rest, &line));
	ASSERT_STR("#c", line);
	TEST_ASSERT_TRUE(config_line_is_void(line));
	TEST_ASSERT_FALSE(config_next_line(&rest, &line));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(words_are_separated_by_blanks);
	RUN(quotes_keep_blanks_and_escapes_name_bytes);
	RUN(broken_quotes_are_refused);
	RUN(a_nul_byte_is_refused_however_it_is_written);
	RUN(the_number_of_words_is_limited);
	RUN(a_plain_word_is_written_unchanged);
	RUN(any_word_can_be_written_and_read_back);
	RUN(messages_show_the_beginning_of_a_long_word);
	RUN(lines_end_with_lf_crlf_or_the_text);
	return UNIT_RESULT();
}
