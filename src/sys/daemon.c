#include "sys/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the process that was started: wait until the daemon is ready or has ended, and exit
 * accordingly. The daemon writes one byte; if it ends first, the pipe is closed. */
static _Noreturn void wait_and_exit(int fd, pid_t middle)
{
	char byte;
	ssize_t got;

	while (waitpid(middle, NULL, 0) < 0 && errno == EINTR)
		;
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	_exit(got == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int daemon_detach(int *ret_ready_fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int status = -errno;

		close(ends[0]);
		close(ends[1]);
		return status;
	}
	if (pid > 0) {
		close(ends[1]);
		wait_and_exit(ends[0], pid);
	}
	close(ends[0]);
	setsid();
	/* The second child is not a session leader, so it cannot acquire a terminal by opening one.
	 * */
	pid = fork();
	if (pid != 0)
		_exit(pid > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	*ret_ready_fd = ends[1];
	return 0;
}

void daemon_ready(int ready_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	ssize_t put;

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		if (null > STDERR_FILENO)
			close(null);
	}
	do
		put = write(ready_fd, "", 1);
	while (put < 0 && errno == EINTR);
	close(ready_fd);
}
