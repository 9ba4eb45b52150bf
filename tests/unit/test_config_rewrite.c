#include "config/config.h"

#include <sys/stat.h>

#include "tempdir.h"
#include "unit.h"

static struct config cfg;
static struct buf error;
static struct tempdir dir;

void setUp(void)
{
	config_init(&cfg);
	buf_init(&error, BUF_NO_MAX);
	tempdir_init(&dir);
}

void tearDown(void)
{
	config_done(&cfg);
	buf_done(&error);
	tempdir_done(&dir);
}

/* Write a file and read it. */
static void start_with(struct qless_str text)
{
	tempdir_write(&dir, "q.conf", text);
	TEST_ASSERT_EQUAL_INT(0, config_parse_file(&cfg, tempdir_file(&dir, "q.conf"), &error));
}

static void change(struct qless_str text)
{
	TEST_ASSERT_EQUAL_INT(0, config_parse_text(&cfg, "change", text, &error));
}

static const char *rewrite(void)
{
	int status = config_rewrite(&cfg, tempdir_file(&dir, "q.conf"), &error);

	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&error));
	TEST_ASSERT_EQUAL_INT(0, status);
	return tempdir_read(&dir, "q.conf");
}

static void comments_order_and_unchanged_lines_stay(void)
{
	start_with(STR("# Ours.\n"
		       "timeout   60\n"
		       "\n"
		       "  # The size was measured.\n"
		       "max-data-size 1024kb\n"
		       "PORT 7000\n"));
	change(STR("timeout 90\n"));
	TEST_ASSERT_EQUAL_STRING("# Ours.\n"
				 "timeout 90\n"
				 "\n"
				 "  # The size was measured.\n"
				 "max-data-size 1024kb\n"
				 "PORT 7000\n",
				 rewrite());
}

static void new_directives_go_under_a_marker(void)
{
	start_with(STR("port 7000"));
	change(STR("timeout 90\nrequirepass \"a b\"\nmax-data-size 1mb\n"));
	TEST_ASSERT_EQUAL_STRING("port 7000\n"
				 "\n"
				 "# Written by CONFIG REWRITE\n"
				 "timeout 90\n"
				 "requirepass \"a b\"\n"
				 "max-data-size 1mb\n",
				 rewrite());
	change(STR("maxclients 5\ntimeout 91\n"));
	TEST_ASSERT_EQUAL_STRING("port 7000\n"
				 "\n"
				 "# Written by CONFIG REWRITE\n"
				 "timeout 91\n"
				 "requirepass \"a b\"\n"
				 "max-data-size 1mb\n"
				 "maxclients 5\n",
				 rewrite());
}

static void a_value_back_at_its_default_is_written_where_the_file_differs(void)
{
	start_with(STR("timeout 60\nport 7000\n"));
	change(STR("timeout 0\n"));
	TEST_ASSERT_EQUAL_STRING("timeout 0\nport 7000\n", rewrite());
}

static void the_last_of_several_lines_is_changed_and_the_others_are_removed(void)
{
	start_with(STR("timeout 1\n# a\ntimeout 2\n# b\n"));
	change(STR("timeout 3\n"));
	TEST_ASSERT_EQUAL_STRING("# a\ntimeout 3\n# b\n", rewrite());
}

static void directives_of_many_lines_are_replaced_together(void)
{
	char *alice[] = { (char[]){ "alice" }, (char[]){ "on" }, (char[]){ "#x y" } };
	char *carol[] = { (char[]){ "carol" } };
	struct config_list lines[] = { { alice, 3 }, { carol, 1 } };

	start_with(STR("user bob on\n# a\nuser alice off\n"
		       "client-output-buffer-limit pubsub 1mb 1mb 1\n"));
	config_set_users(&cfg, &(struct config_lines){ lines, 2 });
	change(STR("client-output-buffer-limit normal 0 0 0\n"));
	TEST_ASSERT_EQUAL_STRING("# a\n"
				 "user alice on \"#x y\"\n"
				 "user carol\n"
				 "client-output-buffer-limit normal 0 0 0\n"
				 "client-output-buffer-limit pubsub 1mb 1mb 1\n",
				 rewrite());
	config_set_users(&cfg, &(struct config_lines){ .count = 0 });
	TEST_ASSERT_EQUAL_STRING("# a\n"
				 "client-output-buffer-limit normal 0 0 0\n"
				 "client-output-buffer-limit pubsub 1mb 1mb 1\n",
				 rewrite());
}

static void included_files_are_overridden_but_not_changed(void)
{
	tempdir_write(&dir, "sub", STR("timeout 5\nmaxclients 6\n"));
	start_with(STR("timeout 1\ninclude sub\nport 7000\n"));
	change(STR("timeout 0\nmaxclients 10000\nport 7001\n"));
	TEST_ASSERT_EQUAL_STRING("include sub\nport 7001\n"
				 "\n"
				 "# Written by CONFIG REWRITE\n"
				 "timeout 0\n"
				 "maxclients 10000\n",
				 rewrite());
	TEST_ASSERT_EQUAL_STRING("timeout 5\nmaxclients 6\n", tempdir_read(&dir, "sub"));
}

static void an_unwritable_value_is_refused_and_the_file_stays(void)
{
	char expected[300];

	tempdir_write(&dir, "sub", STR("user alice on\n"));
	start_with(STR("include sub\n"));
	config_set_users(&cfg, &(struct config_lines){ .count = 0 });
	TEST_ASSERT_EQUAL_INT(-1, config_rewrite(&cfg, tempdir_file(&dir, "q.conf"), &error));
	snprintf(expected, sizeof expected,
		 "%s/q.conf: user cannot be written: an included file has it", dir.path);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&error));
	TEST_ASSERT_EQUAL_STRING("include sub\n", tempdir_read(&dir, "q.conf"));
}

static void a_file_with_errors_is_not_touched(void)
{
	char expected[300];

	start_with(STR("port 7000\n"));
	change(STR("timeout 5\n"));
	tempdir_write(&dir, "q.conf", STR("port 7000\nwork in progress\n"));
	TEST_ASSERT_EQUAL_INT(-1, config_rewrite(&cfg, tempdir_file(&dir, "q.conf"), &error));
	snprintf(expected, sizeof expected, "%s/q.conf:2: \"work\": unknown directive", dir.path);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&error));
	TEST_ASSERT_EQUAL_STRING("port 7000\nwork in progress\n", tempdir_read(&dir, "q.conf"));
}

static void line_ends_stay_as_they_are(void)
{
	start_with(STR("# a\r\ntimeout 5\r\nport 7000\r\n"));
	change(STR("timeout 6\nmaxclients 7\n"));
	TEST_ASSERT_EQUAL_STRING("# a\r\ntimeout 6\r\nport 7000\r\n"
				 "\r\n"
				 "# Written by CONFIG REWRITE\r\n"
				 "maxclients 7\r\n",
				 rewrite());
}

static void a_missing_file_is_created_for_its_owner_only(void)
{
	struct stat st;

	change(STR("timeout 6\n"));
	TEST_ASSERT_EQUAL_STRING("# Written by CONFIG REWRITE\ntimeout 6\n", rewrite());
	TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "q.conf"), &st));
	TEST_ASSERT_EQUAL_UINT(0600, st.st_mode & 07777);
}

static void permissions_stay_and_no_other_file_is_left(void)
{
	struct stat st;

	start_with(STR("port 7000\n"));
	TEST_ASSERT_EQUAL_INT(0, chmod(tempdir_file(&dir, "q.conf"), 0664));
	change(STR("port 7001\n"));
	rewrite();
	TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "q.conf"), &st));
	TEST_ASSERT_EQUAL_UINT(0664, st.st_mode & 07777);
	TEST_ASSERT_EQUAL_INT(1, tempdir_count(&dir));
}

static void a_file_with_the_current_values_is_not_written(void)
{
	struct stat before, after;

	start_with(STR("port 7000\nmax-data-size 1024kb"));
	TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "q.conf"), &before));
	TEST_ASSERT_EQUAL_STRING("port 7000\nmax-data-size 1024kb", rewrite());
	TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "q.conf"), &after));
	TEST_ASSERT_EQUAL_UINT64(before.st_ino, after.st_ino);
}

static void append_random_directive(unsigned long long *seed, struct buf *text)
{
	static const char *const lines[] = {
		"# comment",
		"",
		"timeout %d",
		"maxclients 1%d",
		"port %d",
		"max-data-size 1%dkb",
		"requirepass 'p %d'",
		"bind a%d b",
		"user u%d on",
		"client-output-buffer-limit normal %d 1 1",
	};
	size_t which = unit_random(seed) % (sizeof lines / sizeof lines[0]);
	int number = (int)(unit_random(seed) % 10);
	char line[100];
	const char *at = strstr(lines[which], "%d");

	if (at == NULL)
		snprintf(line, sizeof line, "%s", lines[which]);
	else
		snprintf(line, sizeof line, "%.*s%d%s", (int)(at - lines[which]), lines[which],
			 number, at + 2);
	buf_printf(text, "%s\n", line);
}

static void any_change_of_any_file_is_read_back(void)
{
	unsigned long long seed = 3;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (int round = 0; round < 300; round++) {
		struct config again;
		struct buf a = BUF_INIT(BUF_NO_MAX), b = BUF_INIT(BUF_NO_MAX);

		config_done(&cfg);
		config_init(&cfg);
		buf_clear(&text);
		for (size_t i = unit_random(&seed) % 12; i > 0; i--)
			append_random_directive(&seed, &text);
		start_with(buf_str(&text));
		buf_clear(&text);
		for (size_t i = unit_random(&seed) % 6; i > 0; i--)
			append_random_directive(&seed, &text);
		change(buf_str(&text));
		rewrite();
		config_init(&again);
		TEST_ASSERT_EQUAL_INT(
			0, config_parse_file(&again, tempdir_file(&dir, "q.conf"), &error));
		for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
			config_format_lines(&cfg, opt, &a);
			config_format_lines(&again, opt, &b);
		}
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&a), buf_cstr(&b));
		config_done(&again);
		buf_done(&a);
		buf_done(&b);
	}
	buf_done(&text);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(comments_order_and_unchanged_lines_stay);
	RUN(new_directives_go_under_a_marker);
	RUN(a_value_back_at_its_default_is_written_where_the_file_differs);
	RUN(the_last_of_several_lines_is_changed_and_the_others_are_removed);
	RUN(directives_of_many_lines_are_replaced_together);
	RUN(included_files_are_overridden_but_not_changed);
	RUN(an_unwritable_value_is_refused_and_the_file_stays);
	RUN(a_file_with_errors_is_not_touched);
	RUN(line_ends_stay_as_they_are);
	RUN(a_missing_file_is_created_for_its_owner_only);
	RUN(permissions_stay_and_no_other_file_is_left);
	RUN(a_file_with_the_current_values_is_not_written);
	RUN(any_change_of_any_file_is_read_back);
	return UNIT_RESULT();
}
