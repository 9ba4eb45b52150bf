#include "sys/log.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>

#include "tempdir.h"
#include "unit.h"

static struct tempdir dir;
static struct buf error;

void setUp(void)
{
	tempdir_init(&dir);
	buf_init(&error, BUF_NO_MAX);
}

void tearDown(void)
{
	log_close();
	tempdir_done(&dir);
	buf_done(&error);
}

static void start(enum log_level level, enum log_format format)
{
	const struct log_options options = { .level = level,
					     .format = format,
					     .file = tempdir_file(&dir, "log") };

	TEST_ASSERT_EQUAL_INT(0, log_open(&options, &error));
}

/* The log without the time and process id of each line, which must be well-formed. */
static const char *logged(void)
{
	static char lines[64 * 1024];
	const char *head = "^(ts=)?20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
			   "\\.[0-9]{3}Z (pid=)?([0-9]+) ";
	const char *at = tempdir_read(&dir, "log");
	size_t len = 0;
	regex_t pattern;

	TEST_ASSERT_EQUAL_INT(0, regcomp(&pattern, head, REG_EXTENDED));
	while (*at != '\0') {
		const char *end = strchr(at, '\n');
		regmatch_t match[4];

		TEST_ASSERT_NOT_NULL(end);
		TEST_ASSERT_EQUAL_INT(0, regexec(&pattern, at, 4, match, 0));
		TEST_ASSERT_EQUAL_INT(getpid(), atoi(at + match[3].rm_so));
		at += match[0].rm_eo;
		memcpy(lines + len, at, (size_t)(end + 1 - at));
		len += (size_t)(end + 1 - at);
		at = end + 1;
	}
	lines[len] = '\0';
	regfree(&pattern);
	return lines;
}

static void an_event_is_one_line_of_text(void)
{
	start(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT);
	log_notice("listening on %s:%d", "127.0.0.1", 7537);
	log_warning("watch out");
	log_verbose("by the way");
	log_debug("bits");
	TEST_ASSERT_EQUAL_STRING("notice listening on 127.0.0.1:7537\n"
				 "warning watch out\n"
				 "verbose by the way\n"
				 "debug bits\n",
				 logged());
}

static void fields_follow_the_message_and_are_quoted_where_needed(void)
{
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	log_write(LOG_LEVEL_NOTICE,
		  LOG_FIELDS(LOG_INT("id", 7), LOG_INT("left", -1),
			     LOG_TEXT("addr", "127.0.0.1:4711"), LOG_TEXT("name", "a b"),
			     LOG_TEXT("empty", ""), LOG_STR("raw", STR("x=\"\\\n\0")),
			     LOG_TEXT("utf", "\xc3\xa4")),
		  "client closed");
	TEST_ASSERT_EQUAL_STRING(
		"notice client closed id=7 left=-1 addr=127.0.0.1:4711 name=\"a b\" "
		"empty=\"\" raw=\"x=\\\"\\\\\\n\\x00\" utf=\xc3\xa4\n",
		logged());
}

static void logfmt_names_all_its_parts(void)
{
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_LOGFMT);
	log_write(LOG_LEVEL_WARNING, LOG_FIELDS(LOG_INT("id", 7)), "said \"%s\"", "a\\b");
	log_notice("stopped");
	TEST_ASSERT_EQUAL_STRING("level=warning msg=\"said \\\"a\\\\b\\\"\" id=7\n"
				 "level=notice msg=\"stopped\"\n",
				 logged());
}

static void a_client_cannot_forge_a_line(void)
{
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	log_notice("name %s", "x\r\n2026-11-18T14:03:22.123Z 1 notice all is well\x1b[2J\x7f\t");
	TEST_ASSERT_EQUAL_STRING("notice name x\\r\\n2026-11-18T14:03:22.123Z 1 notice all is well"
				 "\\x1b[2J\\x7f\\t\n",
				 logged());
}

static void events_below_the_level_are_dropped(void)
{
	start(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
	TEST_ASSERT_FALSE(log_is_enabled(LOG_LEVEL_NOTICE));
	log_notice("no");
	log_set_level(LOG_LEVEL_VERBOSE);
	log_debug("no");
	log_verbose("yes");
	log_set_format(LOG_FORMAT_LOGFMT);
	log_verbose("yes");
	TEST_ASSERT_EQUAL_STRING("verbose yes\nlevel=verbose msg=\"yes\"\n", logged());
}

static void a_long_line_is_cut_and_marked(void)
{
	static char big[LOG_LINE_MAX_BYTES + 1];
	const char *lines;

	memset(big, 'x', sizeof big - 1);
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_LOGFMT);
	log_write(LOG_LEVEL_NOTICE, LOG_FIELDS(LOG_INT("id", 7)), "%s", big);
	lines = logged();
	TEST_ASSERT_NOT_NULL(strstr(lines, "x...\" id=7\n"));
	TEST_ASSERT_TRUE(strlen(lines) < LOG_LINE_MAX_BYTES);
	/* Quotes are closed wherever the line is cut. */
	for (int shift = 0; shift < 8; shift++) {
		memset(big, '\n', sizeof big - 1);
		log_write(LOG_LEVEL_NOTICE, LOG_FIELDS(LOG_TEXT("value", big)), "%.*s", shift,
			  "12345678");
	}
	lines = tempdir_read(&dir, "log");
	for (int i = 0; i < 9; i++) {
		const char *end = strchr(lines, '\n');

		TEST_ASSERT_NOT_NULL(end);
		TEST_ASSERT_TRUE(end - lines < LOG_LINE_MAX_BYTES);
		if (i > 0)
			TEST_ASSERT_EQUAL_MEMORY("...\"", end - 4, 4);
		lines = end + 1;
	}
	TEST_ASSERT_EQUAL_STRING("", lines);
}

static void the_file_is_appended_to(void)
{
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	log_notice("one");
	log_close();
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	log_notice("two");
	TEST_ASSERT_EQUAL_STRING("notice one\nnotice two\n", logged());
}

static void a_rotated_file_is_opened_again_on_request(void)
{
	char old[300];

	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	log_notice("one");
	snprintf(old, sizeof old, "%s", tempdir_file(&dir, "log.1"));
	TEST_ASSERT_EQUAL_INT(0, rename(tempdir_file(&dir, "log"), old));
	log_notice("two");
	TEST_ASSERT_EQUAL_INT(0, log_reopen(&error));
	log_notice("three");
	TEST_ASSERT_EQUAL_STRING("notice three\n", logged());
	TEST_ASSERT_NOT_NULL(strstr(tempdir_read(&dir, "log.1"), "two\n"));
}

static void a_file_that_cannot_be_opened_is_reported_and_the_old_one_stays(void)
{
	const struct log_options options = { .file = "/nowhere/log" };

	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	TEST_ASSERT_EQUAL_INT(-1, log_open(&options, &error));
	TEST_ASSERT_EQUAL_STRING("cannot open log file \"/nowhere/log\": No such file or directory",
				 buf_cstr(&error));
	log_notice("still here");
	TEST_ASSERT_EQUAL_STRING("notice still here\n", logged());
}

static void the_errno_of_the_caller_stays(void)
{
	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	errno = ENOTTY;
	log_notice("%s", strerror(errno));
	TEST_ASSERT_EQUAL_INT(ENOTTY, errno);
}

static void lines_that_do_not_fit_on_the_disk_are_counted(void)
{
	struct rlimit before, none;
	uint64_t lost = log_lines_lost();

	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	TEST_ASSERT_EQUAL_INT(0, getrlimit(RLIMIT_FSIZE, &before));
	none = before;
	none.rlim_cur = 0;
	signal(SIGXFSZ, SIG_IGN);
	TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &none));
	log_notice("lost");
	TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &before));
	TEST_ASSERT_EQUAL_UINT64(lost + 1, log_lines_lost());
	log_notice("kept");
	TEST_ASSERT_EQUAL_STRING("notice kept\n", logged());
}

static void without_a_file_lines_go_to_standard_error(void)
{
	const struct log_options options = { .level = LOG_LEVEL_NOTICE };
	int saved = dup(STDERR_FILENO);
	int fd = open(tempdir_file(&dir, "log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	dup2(fd, STDERR_FILENO);
	log_notice("before it is opened");
	TEST_ASSERT_EQUAL_INT(0, log_open(&options, &error));
	TEST_ASSERT_EQUAL_INT(STDERR_FILENO, log_fd());
	TEST_ASSERT_EQUAL_INT(0, log_reopen(&error));
	log_notice("and after");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
	TEST_ASSERT_EQUAL_STRING("notice before it is opened\nnotice and after\n", logged());
}

static void lines_for_the_journal_begin_with_their_priority(void)
{
	struct log_options options = { .level = LOG_LEVEL_DEBUG };
	int saved = dup(STDERR_FILENO);
	int fd = open(tempdir_file(&dir, "journal"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char stream[64];
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, fstat(fd, &st));
	snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_find_journal();
	TEST_ASSERT_FALSE(log_is_journal());
	dup2(fd, STDERR_FILENO);
	log_find_journal();
	TEST_ASSERT_TRUE(log_is_journal());
	TEST_ASSERT_EQUAL_INT(0, log_open(&options, &error));
	log_debug("a");
	log_verbose("b");
	log_write(LOG_LEVEL_NOTICE, LOG_FIELDS(LOG_INT("id", 1)), "c");
	log_warning("d");
	log_fatal("e\n<7>f");
	log_set_format(LOG_FORMAT_LOGFMT);
	log_warning("g");
	options.file = tempdir_file(&dir, "log");
	TEST_ASSERT_EQUAL_INT(0, log_open(&options, &error));
	TEST_ASSERT_FALSE(log_is_journal());
	log_fatal("in the file");
	dup2(saved, STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	log_find_journal();
	close(saved);
	close(fd);
	TEST_ASSERT_EQUAL_STRING("<7>a\n<6>b\n<5>c id=1\n<4>d\n<2>e\\n<7>f\n"
				 "<4>level=warning msg=\"g\"\n",
				 tempdir_read(&dir, "journal"));
	TEST_ASSERT_EQUAL_STRING("fatal in the file\n", logged());
}

static void the_system_logger_replaces_standard_error_but_not_a_file(void)
{
	struct log_options options = { .syslog = true,
				       .syslog_ident = "qlessd-test",
				       .syslog_facility = LOG_LOCAL0,
				       .level = LOG_LEVEL_NOTICE };
	int saved = dup(STDERR_FILENO);
	int fd = open(tempdir_file(&dir, "stderr"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	dup2(fd, STDERR_FILENO);
	TEST_ASSERT_EQUAL_INT(0, log_open(&options, &error));
	log_notice("only there");
	TEST_ASSERT_EQUAL_INT(STDERR_FILENO, log_fd());
	options.file = tempdir_file(&dir, "log");
	TEST_ASSERT_EQUAL_INT(0, log_open(&options, &error));
	log_write(LOG_LEVEL_NOTICE, LOG_FIELDS(LOG_INT("id", 1)), "there and here");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
	TEST_ASSERT_EQUAL_STRING("", tempdir_read(&dir, "stderr"));
	TEST_ASSERT_EQUAL_STRING("notice there and here id=1\n", logged());
}

static void take_line(void *arg, enum log_level level, const char *line)
{
	struct buf *lines = arg;

	buf_printf(lines, "%d:%s|", (int)level, line);
}

static void *log_in_a_thread(void *arg)
{
	log_redirect_thread(take_line, arg);
	log_verbose("below its level");
	log_write(LOG_LEVEL_WARNING, LOG_FIELDS(LOG_TEXT("file", "a b")), "two\nlines");
	log_set_level(LOG_LEVEL_VERBOSE);
	log_verbose("verbose");
	log_redirect_thread(NULL, NULL);
	log_notice("in the log");
	return NULL;
}

static void a_thread_may_have_a_function_instead_of_the_log(void)
{
	struct buf lines = BUF_INIT(BUF_NO_MAX);
	pthread_t thread;

	start(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	TEST_ASSERT_EQUAL_INT(0, pthread_create(&thread, NULL, log_in_a_thread, &lines));
	pthread_join(thread, NULL);
	log_verbose("the level of the process is as it was");
	log_notice("the other threads too");
	TEST_ASSERT_EQUAL_STRING("3:two\\nlines file=\"a b\"|1:verbose|", buf_cstr(&lines));
	TEST_ASSERT_EQUAL_STRING("notice in the log\nnotice the other threads too\n", logged());
	buf_done(&lines);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_event_is_one_line_of_text);
	RUN(fields_follow_the_message_and_are_quoted_where_needed);
	RUN(logfmt_names_all_its_parts);
	RUN(a_client_cannot_forge_a_line);
	RUN(events_below_the_level_are_dropped);
	RUN(a_long_line_is_cut_and_marked);
	RUN(the_file_is_appended_to);
	RUN(a_rotated_file_is_opened_again_on_request);
	RUN(a_file_that_cannot_be_opened_is_reported_and_the_old_one_stays);
	RUN(the_errno_of_the_caller_stays);
	RUN(lines_that_do_not_fit_on_the_disk_are_counted);
	RUN(without_a_file_lines_go_to_standard_error);
	RUN(lines_for_the_journal_begin_with_their_priority);
	RUN(a_thread_may_have_a_function_instead_of_the_log);
	RUN(the_system_logger_replaces_standard_error_but_not_a_file);
	return UNIT_RESULT();
}
