#include "sys/pidfile.h"

#include <sys/wait.h>

#include "tempdir.h"
#include "unit.h"

static struct tempdir dir;
static struct buf error;
static struct pidfile pidfile;
static char path[128];

void setUp(void)
{
	tempdir_init(&dir);
	buf_init(&error, BUF_NO_MAX);
	pidfile = (struct pidfile)PIDFILE_INIT;
	snprintf(path, sizeof path, "%s/pid", dir.path);
}

void tearDown(void)
{
	pidfile_remove(&pidfile);
	tempdir_done(&dir);
	buf_done(&error);
}

/* Run in a child, so that a failed assertion there does not run the other tests. */
static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(body());
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_file_holds_the_process_id_and_is_removed(void)
{
	char expected[32];

	TEST_ASSERT_EQUAL_INT(0, pidfile_create(&pidfile, path, &error));
	snprintf(expected, sizeof expected, "%ld\n", (long)getpid());
	TEST_ASSERT_EQUAL_STRING(expected, tempdir_read(&dir, "pid"));
	pidfile_remove(&pidfile);
	TEST_ASSERT_EQUAL_INT(0, tempdir_count(&dir));
	pidfile_remove(&pidfile);
}

static void a_file_of_a_crashed_process_is_reused(void)
{
	char expected[32];

	tempdir_write(&dir, "pid", STR("1234567890123\nwhatever\n"));
	TEST_ASSERT_EQUAL_INT(0, pidfile_create(&pidfile, path, &error));
	snprintf(expected, sizeof expected, "%ld\n", (long)getpid());
	TEST_ASSERT_EQUAL_STRING(expected, tempdir_read(&dir, "pid"));
}

static int create_again(void)
{
	struct pidfile mine = PIDFILE_INIT;
	char expected[300];

	if (pidfile_create(&mine, path, &error) == 0)
		return 1;
	snprintf(expected, sizeof expected, "pid file \"%s\" is held by process %ld", path,
		 (long)getppid());
	return strcmp(expected, buf_cstr(&error)) == 0 ? 0 : 2;
}

static void a_second_process_learns_the_holder_of_the_file(void)
{
	TEST_ASSERT_EQUAL_INT(0, pidfile_create(&pidfile, path, &error));
	TEST_ASSERT_EQUAL_INT(0, in_child(create_again));
	TEST_ASSERT_EQUAL_INT(0, access(path, F_OK));
}

static int remove_inherited(void)
{
	pidfile_remove(&pidfile);
	return 0;
}

static void a_forked_child_does_not_remove_the_file_of_its_parent(void)
{
	TEST_ASSERT_EQUAL_INT(0, pidfile_create(&pidfile, path, &error));
	TEST_ASSERT_EQUAL_INT(0, in_child(remove_inherited));
	TEST_ASSERT_EQUAL_INT(0, access(path, F_OK));
	TEST_ASSERT_EQUAL_INT(0, in_child(create_again));
}

static void a_file_of_another_process_is_not_removed(void)
{
	TEST_ASSERT_EQUAL_INT(0, pidfile_create(&pidfile, path, &error));
	TEST_ASSERT_EQUAL_INT(0, unlink(path));
	tempdir_write(&dir, "pid", STR("1\n"));
	pidfile_remove(&pidfile);
	TEST_ASSERT_EQUAL_STRING("1\n", tempdir_read(&dir, "pid"));
}

static void a_failed_creation_gives_a_reason(void)
{
	TEST_ASSERT_EQUAL_INT(-1, pidfile_create(&pidfile, "/nowhere/pid", &error));
	TEST_ASSERT_EQUAL_STRING("cannot open pid file \"/nowhere/pid\": No such file or directory",
				 buf_cstr(&error));
}

static void a_symbolic_link_is_not_followed(void)
{
	tempdir_write(&dir, "precious", STR("keep me"));
	TEST_ASSERT_EQUAL_INT(0, symlink("precious", path));
	TEST_ASSERT_EQUAL_INT(-1, pidfile_create(&pidfile, path, &error));
	TEST_ASSERT_EQUAL_STRING("keep me", tempdir_read(&dir, "precious"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_file_holds_the_process_id_and_is_removed);
	RUN(a_file_of_a_crashed_process_is_reused);
	RUN(a_second_process_learns_the_holder_of_the_file);
	RUN(a_forked_child_does_not_remove_the_file_of_its_parent);
	RUN(a_file_of_another_process_is_not_removed);
	RUN(a_failed_creation_gives_a_reason);
	RUN(a_symbolic_link_is_not_followed);
	return UNIT_RESULT();
}
