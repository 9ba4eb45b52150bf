#include "sys/daemon.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "tempdir.h"
#include "unit.h"

static struct tempdir dir;
static int ends[2]; /* the daemon writes here for the test */

void setUp(void)
{
	tempdir_init(&dir);
	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
}

void tearDown(void)
{
	close(ends[0]);
	tempdir_done(&dir);
}

/* Start a process that goes into the background and then runs `body`. Returns the exit code that a
 * shell would see. */
static int start(void (*body)(int ready_fd))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int ready_fd;

		close(ends[0]);
		if (daemon_detach(&ready_fd) != 0)
			_exit(99);
		body(ready_fd);
		_exit(0);
	}
	close(ends[1]);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Everything that the daemon writes until it ends. */
static const char *said(void)
{
	static char text[1000];
	size_t len = 0;
	ssize_t got;

	while ((got = read(ends[0], text + len, sizeof text - 1 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	return text;
}

static bool is_null(int fd)
{
	char path[100];
	ssize_t len;
	char link[32];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof path - 1);
	path[len > 0 ? len : 0] = '\0';
	return strcmp(path, "/dev/null") == 0;
}

static void tell_about_the_process(int ready_fd)
{
	daemon_ready(ready_fd);
	dprintf(ends[1], "leads session: %s, in, out, err: %d %d %d",
		getsid(0) == getpid() ? "yes" : "no", is_null(0), is_null(1), is_null(2));
}

static void the_starter_succeeds_when_the_daemon_is_ready(void)
{
	TEST_ASSERT_EQUAL_INT(0, start(tell_about_the_process));
	TEST_ASSERT_EQUAL_STRING("leads session: no, in, out, err: 1 1 1", said());
}

static void exit_early(int ready_fd)
{
	(void)ready_fd;
	dprintf(ends[1], "stderr open: %s", is_null(2) ? "no" : "yes");
	_exit(0);
}

static void the_starter_fails_when_the_daemon_ends_first(void)
{
	TEST_ASSERT_EQUAL_INT(1, start(exit_early));
	TEST_ASSERT_EQUAL_STRING("stderr open: yes", said());
}

static void die_early(int ready_fd)
{
	(void)ready_fd;
	raise(SIGKILL);
}

static void the_starter_fails_when_the_daemon_is_killed_first(void)
{
	TEST_ASSERT_EQUAL_INT(1, start(die_early));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_starter_succeeds_when_the_daemon_is_ready);
	RUN(the_starter_fails_when_the_daemon_ends_first);
	RUN(the_starter_fails_when_the_daemon_is_killed_first);
	return UNIT_RESULT();
}
