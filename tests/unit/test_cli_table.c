/*
 * Tables of qless at fixed widths.
 */
#include "cli/table.h"

#include "unit.h"

static const struct table_column columns[] = {
	{ "QUEUE", false, true, 0 },
	{ "JOBS", true, false, 0 },
	{ "SPARE", true, false, 1 },
	{ "NOTE", false, true, 0 },
};

static struct table_look look;
static struct table *table;
static struct buf out;

void setUp(void)
{
	look = (struct table_look){ .is_utf8 = true };
	buf_init(&out, BUF_NO_MAX);
	table = NULL;
}

void tearDown(void)
{
	table_free(table);
	buf_done(&out);
}

static void begin(size_t width)
{
	look.width = width;
	table_free(table);
	table = table_new(columns, sizeof columns / sizeof columns[0], &look);
}

static void add(const char *queue, double jobs, const char *note)
{
	table_text(table, TABLE_PLAIN, str_from(queue));
	table_count(table, TABLE_PLAIN, jobs);
	table_count(table, TABLE_PLAIN, 7);
	table_text(table, TABLE_RED, str_from(note));
}

static void assert_table(const char *expected)
{
	buf_clear(&out);
	table_take(table, &out);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&out));
}

static void columns_are_aligned(void)
{
	begin(0);
	add("mail", 1234567, "");
	add("images", 1, "paused");
	assert_table("QUEUE        JOBS  SPARE  NOTE\n"
		     "mail    1,234,567      7\n"
		     "images          1      7  paused\n");
}

static void wide_characters_and_escapes_are_aligned(void)
{
	begin(0);
	add("漢字", 1, "a");
	add("e\xcc\x81t\xc3\xa9", 2, "b");
	add("a\nb", 3, "c");
	assert_table("QUEUE  JOBS  SPARE  NOTE\n"
		     "漢字      1      7  a\n"
		     "e\xcc\x81t\xc3\xa9       2      7  b\n"
		     "a\\nb      3      7  c\n");
}

static void a_narrow_table_cuts_the_longest_texts(void)
{
	begin(40);
	add("a-very-long-name-of-a-queue", 1, "short");
	add("mail", 22, "a note that is long as well");
	assert_table("QUEUE             JOBS  NOTE\n"
		     "a-very-long-nam…     1  short\n"
		     "mail                22  a note that is …\n");
}

static void a_spare_column_is_left_out_before_texts_become_unreadable(void)
{
	begin(24);
	add("a-very-long-name-of-a-queue", 1, "short");
	assert_table("QUEUE        JOBS  NOTE\n"
		     "a-very-lon…     1  short\n");
	begin(60);
	add("mail", 1, "short");
	assert_table("QUEUE  JOBS  SPARE  NOTE\n"
		     "mail      1      7  short\n");
}

static void a_table_that_cannot_be_narrower_is_too_wide(void)
{
	begin(5);
	add("a-very-long-name-of-a-queue", 1, "a long note");
	assert_table("QUEUE   JOBS  NOTE\n"
		     "a-ver…     1  a lon…\n");
}

static void rows_are_printed_in_portions(void)
{
	begin(0);
	add("mail", 1, "");
	assert_table("QUEUE  JOBS  SPARE  NOTE\n"
		     "mail      1      7\n");
	TEST_ASSERT_EQUAL_size_t(0, table_rows(table));
	add("longer-name", 2, "");
	add("x", 3, "");
	TEST_ASSERT_EQUAL_size_t(2, table_rows(table));
	assert_table("longer-name     2      7\n"
		     "x               3      7\n");
}

static void an_empty_table_has_titles(void)
{
	begin(0);
	assert_table("QUEUE  JOBS  SPARE  NOTE\n");
	assert_table("");
}

static void colours_do_not_change_the_alignment(void)
{
	look.has_colour = true;
	begin(0);
	add("mail", 0, "paused");
	assert_table("\033[1mQUEUE\033[0m  \033[1mJOBS\033[0m  \033[1mSPARE\033[0m  "
		     "\033[1mNOTE\033[0m\n"
		     "mail      \033[2m0\033[0m      7  \033[31mpaused\033[0m\n");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(columns_are_aligned);
	RUN(wide_characters_and_escapes_are_aligned);
	RUN(a_narrow_table_cuts_the_longest_texts);
	RUN(a_spare_column_is_left_out_before_texts_become_unreadable);
	RUN(a_table_that_cannot_be_narrower_is_too_wide);
	RUN(rows_are_printed_in_portions);
	RUN(an_empty_table_has_titles);
	RUN(colours_do_not_change_the_alignment);
	return UNIT_RESULT();
}
