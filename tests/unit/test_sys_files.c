#include "sys/files.h"

#include <errno.h>
#include <sys/stat.h>

#include "tempdir.h"
#include "unit.h"

static struct tempdir dir;
static struct buf text;

void setUp(void)
{
	tempdir_init(&dir);
	buf_init(&text, BUF_NO_MAX);
}

void tearDown(void)
{
	tempdir_done(&dir);
	buf_done(&text);
}

static void a_file_is_appended_to_the_buffer(void)
{
	tempdir_write(&dir, "a", STR("b\0c"));
	buf_append_str(&text, STR("a"));
	TEST_ASSERT_EQUAL_INT(0, files_read(tempdir_file(&dir, "a"), 3, &text));
	ASSERT_STR("ab\0c", buf_str(&text));
}

static void a_file_above_the_limit_appends_nothing(void)
{
	static char big[100000];

	tempdir_write(&dir, "a", str_make(big, sizeof big));
	buf_append_str(&text, STR("before"));
	TEST_ASSERT_EQUAL_INT(-EFBIG, files_read(tempdir_file(&dir, "a"), sizeof big - 1, &text));
	ASSERT_STR("before", buf_str(&text));
	TEST_ASSERT_EQUAL_INT(0, files_read(tempdir_file(&dir, "a"), sizeof big, &text));
	TEST_ASSERT_EQUAL_size_t(6 + sizeof big, text.len);
}

static void the_maximum_of_the_buffer_is_a_limit(void)
{
	struct buf small = BUF_INIT(4);

	tempdir_write(&dir, "a", STR("12345"));
	TEST_ASSERT_EQUAL_INT(-EFBIG, files_read(tempdir_file(&dir, "a"), 100, &small));
	TEST_ASSERT_EQUAL_size_t(0, small.len);
	buf_done(&small);
}

static void an_unreadable_file_gives_a_reason(void)
{
	TEST_ASSERT_EQUAL_INT(-ENOENT, files_read(tempdir_file(&dir, "a"), 10, &text));
	TEST_ASSERT_EQUAL_INT(-EISDIR, files_read(dir.path, 10, &text));
}

static void a_replaced_file_keeps_permissions_and_owner(void)
{
	struct stat st;

	tempdir_write(&dir, "a", STR("old"));
	TEST_ASSERT_EQUAL_INT(0, chmod(tempdir_file(&dir, "a"), 0604));
	if (geteuid() == 0)
		TEST_ASSERT_EQUAL_INT(0, chown(dir.file, 12, 34));
	TEST_ASSERT_EQUAL_INT(0, files_replace(dir.file, STR("new"), 0777));
	TEST_ASSERT_EQUAL_STRING("new", tempdir_read(&dir, "a"));
	TEST_ASSERT_EQUAL_INT(0, stat(tempdir_file(&dir, "a"), &st));
	TEST_ASSERT_EQUAL_UINT(0604, st.st_mode & 07777);
	TEST_ASSERT_EQUAL_UINT(geteuid() == 0 ? 12 : geteuid(), st.st_uid);
	TEST_ASSERT_EQUAL_UINT(geteuid() == 0 ? 34 : getegid(), st.st_gid);
	TEST_ASSERT_EQUAL_INT(1, tempdir_count(&dir));
}

static void a_new_file_gets_the_given_mode(void)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, files_replace(tempdir_file(&dir, "a"), STR("x"), 0640));
	TEST_ASSERT_EQUAL_INT(0, stat(dir.file, &st));
	TEST_ASSERT_EQUAL_UINT(0640, st.st_mode & 07777);
}

static void a_symbolic_link_is_followed(void)
{
	struct stat st;

	tempdir_write(&dir, "a", STR("old"));
	TEST_ASSERT_EQUAL_INT(0, symlink("a", tempdir_file(&dir, "link")));
	TEST_ASSERT_EQUAL_INT(0, files_replace(dir.file, STR("new"), 0600));
	TEST_ASSERT_EQUAL_INT(0, lstat(dir.file, &st));
	TEST_ASSERT_TRUE(S_ISLNK(st.st_mode));
	TEST_ASSERT_EQUAL_STRING("new", tempdir_read(&dir, "a"));
}

static void a_failed_replacement_leaves_no_file(void)
{
	char path[300];

	TEST_ASSERT_EQUAL_INT(0, mkdir(tempdir_file(&dir, "a"), 0700));
	TEST_ASSERT_EQUAL_INT(-EISDIR, files_replace(dir.file, STR("x"), 0600));
	TEST_ASSERT_EQUAL_INT(1, tempdir_count(&dir));
	TEST_ASSERT_EQUAL_INT(0, rmdir(dir.file));
	snprintf(path, sizeof path, "%s/missing/a", dir.path);
	TEST_ASSERT_EQUAL_INT(-ENOENT, files_replace(path, STR("x"), 0600));
}

static void directories_are_synced_by_name_or_by_a_file_in_them(void)
{
	TEST_ASSERT_EQUAL_INT(0, files_sync_dir(dir.path));
	TEST_ASSERT_EQUAL_INT(0, files_sync_parent(tempdir_file(&dir, "a")));
	TEST_ASSERT_EQUAL_INT(0, files_sync_parent("a"));
	TEST_ASSERT_EQUAL_INT(0, files_sync_parent("/a"));
	TEST_ASSERT_EQUAL_INT(-ENOENT, files_sync_dir(tempdir_file(&dir, "a")));
}

static void files_writable_by_everyone_are_detected(void)
{
	tempdir_write(&dir, "a", STR("x"));
	TEST_ASSERT_EQUAL_INT(0, chmod(tempdir_file(&dir, "a"), 0664));
	TEST_ASSERT_FALSE(files_is_open_to_all(dir.file));
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.file, 0602));
	TEST_ASSERT_TRUE(files_is_open_to_all(dir.file));
	TEST_ASSERT_FALSE(files_is_open_to_all(dir.path));
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 01777));
	TEST_ASSERT_TRUE(files_is_open_to_all(dir.path));
	TEST_ASSERT_FALSE(files_is_open_to_all("/dev/null"));
	TEST_ASSERT_FALSE(files_is_open_to_all(tempdir_file(&dir, "missing")));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_file_is_appended_to_the_buffer);
	RUN(a_file_above_the_limit_appends_nothing);
	RUN(the_maximum_of_the_buffer_is_a_limit);
	RUN(an_unreadable_file_gives_a_reason);
	RUN(a_replaced_file_keeps_permissions_and_owner);
	RUN(a_new_file_gets_the_given_mode);
	RUN(a_symbolic_link_is_followed);
	RUN(a_failed_replacement_leaves_no_file);
	RUN(directories_are_synced_by_name_or_by_a_file_in_them);
	RUN(files_writable_by_everyone_are_detected);
	return UNIT_RESULT();
}
