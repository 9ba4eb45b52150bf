#include "server/copy_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "journal/copy.h"
#include "journal/manifest.h"
#include "tempdir.h"
#include "unit.h"

#define SECOND_US INT64_C(1000000)

static struct tempdir dir;
static struct copy_watch watch;

void setUp(void)
{
	tempdir_init(&dir);
	watch = (struct copy_watch){ 0 };
}

void tearDown(void)
{
	tempdir_done(&dir);
}

static void leave_marker(int64_t seconds)
{
	struct timespec times[] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
	char path[JOURNAL_PATH_MAX];

	TEST_ASSERT_EQUAL_INT(0, copy_leave_marker(&journal_io_system, dir.path));
	journal_path(path, dir.path, COPY_MARKER_NAME);
	TEST_ASSERT_EQUAL_INT(0, utimensat(AT_FDCWD, path, times, 0));
}

static void a_log_that_was_never_copied_has_no_time(void)
{
	copy_watch_tick(&watch, dir.path, SECOND_US);
	TEST_ASSERT_EQUAL_INT64(0, watch.copied_s);
}

static void the_first_tick_reads_the_time_of_the_marker(void)
{
	leave_marker(1700000000);
	copy_watch_tick(&watch, dir.path, SECOND_US);
	TEST_ASSERT_EQUAL_INT64(1700000000, watch.copied_s);
}

static void the_marker_is_read_once_a_minute(void)
{
	leave_marker(1700000000);
	copy_watch_tick(&watch, dir.path, SECOND_US);
	leave_marker(1700000060);
	copy_watch_tick(&watch, dir.path, 60 * SECOND_US);
	TEST_ASSERT_EQUAL_INT64(1700000000, watch.copied_s);
	copy_watch_tick(&watch, dir.path, 61 * SECOND_US);
	TEST_ASSERT_EQUAL_INT64(1700000060, watch.copied_s);
}

/* The directory belongs to the user of the server, and root may make the copy. */
static void a_marker_is_never_written_through_a_link(void)
{
	char path[JOURNAL_PATH_MAX], fresh[JOURNAL_PATH_MAX], victim[JOURNAL_PATH_MAX];
	struct stat st;

	journal_path(path, dir.path, COPY_MARKER_NAME);
	journal_path(fresh, dir.path, COPY_MARKER_NAME ".new");
	journal_path(victim, dir.path, "victim");
	TEST_ASSERT_EQUAL_INT(0, symlink(victim, path));
	TEST_ASSERT_EQUAL_INT(0, symlink(victim, fresh));
	leave_marker(1700000000);
	TEST_ASSERT_EQUAL_INT(-1, stat(victim, &st));
	TEST_ASSERT_EQUAL_INT(0, lstat(path, &st));
	TEST_ASSERT_TRUE(S_ISREG(st.st_mode));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_log_that_was_never_copied_has_no_time);
	RUN(the_first_tick_reads_the_time_of_the_marker);
	RUN(the_marker_is_read_once_a_minute);
	RUN(a_marker_is_never_written_through_a_link);
	return UNIT_RESULT();
}
