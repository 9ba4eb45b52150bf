#include "sys/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* Fork, and let the child check something: as expected if that returns true. */
static void expect_in_child(bool (*look)(pid_t parent))
{
	pid_t parent = getpid(), pid;
	int status;

	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (pid == 0)
		_exit(look(parent) ? 0 : 1);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
}

static bool is_in_file(const char *path, const char *text)
{
	char line[64] = "";
	FILE *file = fopen(path, "r");
	bool is_equal =
		file != NULL && fgets(line, sizeof line, file) != NULL && strcmp(line, text) == 0;

	if (file != NULL)
		fclose(file);
	return is_equal;
}

static bool has_name(pid_t parent)
{
	return child_begin("qlessd-child", parent) &&
	       is_in_file("/proc/self/comm", "qlessd-child\n");
}

static void a_child_has_a_name(void)
{
	expect_in_child(has_name);
}

static bool begins_for_another(pid_t parent)
{
	return !child_begin("qlessd-child", parent + 1);
}

static void a_child_without_a_parent_does_not_start(void)
{
	expect_in_child(begins_for_another);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
	handled = number;
}

static bool minds_no_signal(pid_t parent)
{
	sigset_t pending;

	if (!child_begin("qlessd-child", parent))
		return false;
	raise(SIGTERM);
	raise(SIGINT);
	raise(SIGHUP);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigpending(&pending);
	return handled == 0 && !sigismember(&pending, SIGUSR2);
}

static void a_child_ignores_signals_for_its_parent(void)
{
	signal(SIGTERM, handle);
	signal(SIGUSR1, handle);
	expect_in_child(minds_no_signal);
	signal(SIGTERM, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool keeps_one(pid_t parent)
{
	int ends[2], other = open("/dev/null", O_RDONLY);
	char byte = 0;

	(void)parent;
	if (pipe(ends) < 0 || write(ends[1], "x", 1) != 1)
		return false;
	child_keep_fd(ends[0]);
	for (int fd = CHILD_FD + 1; fd <= other || fd <= ends[1]; fd++) {
		if (is_open(fd))
			return false;
	}
	return read(CHILD_FD, &byte, 1) == 1 && byte == 'x' && is_open(STDERR_FILENO);
}

static void a_child_keeps_one_descriptor(void)
{
	expect_in_child(keeps_one);
}

static bool is_killed_first(pid_t parent)
{
	(void)parent;
	child_be_killed_first();
	return is_in_file("/proc/self/oom_score_adj", "1000\n");
}

static void a_child_is_killed_first(void)
{
	expect_in_child(is_killed_first);
}

/* A process that was root is not dumpable, and its files in /proc belong to root. */
static bool is_killed_first_as_another(pid_t parent)
{
	int rc = geteuid() == 0 ? setresuid(65534, 65534, 65534) : prctl(PR_SET_DUMPABLE, 0);

	(void)parent;
	child_be_killed_first();
	return rc == 0 && prctl(PR_GET_DUMPABLE) == 0 &&
	       is_in_file("/proc/self/oom_score_adj", "1000\n");
}

static void a_child_of_another_user_is_killed_first_as_well(void)
{
	expect_in_child(is_killed_first_as_another);
}

/* The process that will be killed sends its id and waits. */
static void a_child_does_not_outlive_its_parent(void)
{
	pid_t parent, child;
	char byte;
	int ends[2], status;

	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
	fflush(NULL);
	parent = fork();
	if (parent == 0) {
		pid_t self = getpid();

		child = fork();
		if (child == 0) {
			close(ends[0]);
			if (child_begin("qlessd-child", self) && write(ends[1], "x", 1) == 1)
				pause();
			_exit(0);
		}
		pause();
		_exit(0);
	}
	close(ends[1]);
	TEST_ASSERT_EQUAL_INT64(1, read(ends[0], &byte, 1));
	kill(parent, SIGKILL);
	TEST_ASSERT_EQUAL_INT(parent, waitpid(parent, &status, 0));
	/* Both processes had the other end. */
	TEST_ASSERT_EQUAL_INT64(0, read(ends[0], &byte, 1));
	close(ends[0]);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_child_has_a_name);
	RUN(a_child_without_a_parent_does_not_start);
	RUN(a_child_ignores_signals_for_its_parent);
	RUN(a_child_keeps_one_descriptor);
	RUN(a_child_is_killed_first);
	RUN(a_child_of_another_user_is_killed_first_as_well);
	RUN(a_child_does_not_outlive_its_parent);
	return UNIT_RESULT();
}
