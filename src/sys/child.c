#include "sys/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The highest score: the kernel kills this process first when memory runs out. */
#define OOM_SCORE "1000"

/* Restore default signal handling, because the handlers belong to the parent and write to
 * descriptors that will be reused. Ignore the signals that a terminal or a service manager sends to
 * the whole process group: the parent acts on them. */
static void reset_signals(void)
{
	static const int ignored[] = {
		SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ,
	};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

bool child_begin(const char *name, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return false;
	prctl(PR_SET_NAME, name);
	reset_signals();
	return true;
}

void child_keep_fd(int fd)
{
	if (fd != CHILD_FD)
		dup2(fd, CHILD_FD);
	if (close_range(CHILD_FD + 1, ~0u, 0) == 0)
		return;
	/* An old kernel or a filter of system calls has no close_range(). */
	for (int other = CHILD_FD + 1; other < sysconf(_SC_OPEN_MAX); other++)
		close(other);
}

/* Best effort. After a change of user, only root may write the file unless the process is dumpable.
 * A failure has no consequence that the caller could act on. */
void child_be_killed_first(void)
{
	int dumpable = prctl(PR_GET_DUMPABLE), fd;

	prctl(PR_SET_DUMPABLE, 1);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, OOM_SCORE, sizeof OOM_SCORE - 1);
		close(fd);
	}
	prctl(PR_SET_DUMPABLE, dumpable);
}
