/*
 * As posix_spawn() does, the child runs on a stack of its own in the memory of this process, which
 * waits until the child has executed the program. That takes the same short time however much
 * memory this process has. posix_spawn() itself cannot set the signal for the death of the parent.
 */
#include "run/spawn.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/mem.h"

/* Bytes of the stack of the child, which calls little more than system calls. */
#define STACK_BYTES ((size_t)64 * 1024)

#if defined(__SANITIZE_ADDRESS__)
#define ON_FOREIGN_STACK __attribute__((no_sanitize("address", "undefined")))
#else
#define ON_FOREIGN_STACK
#endif

struct start {
	const struct spawn *spawn;
	pid_t parent;
	int error; /* errno, if the program could not be executed */
};

/* Signals that this process ignores would stay ignored in the program. */
static void restore_signals(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int number = 1; number <= SIGSYS; number++)
		sigaction(number, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

ON_FOREIGN_STACK static int run_child(void *arg)
{
	struct start *start = arg;
	const struct spawn *spawn = start->spawn;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->parent)
		_exit(127);
	setsid();
	for (int i = 0; i < 3; i++) {
		if (dup2(spawn->streams[i], i) < 0)
			goto fail;
	}
	restore_signals();
	execve(spawn->path, spawn->argv, spawn->environment);
fail:
	start->error = errno;
	_exit(127);
}

int spawn_program(const struct spawn *spawn, pid_t *ret_pid)
{
	struct start start = { .spawn = spawn, .parent = getpid() };
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, old;
	pid_t pid;
	int rc = 0;

	if (stack == MAP_FAILED)
		return -errno;
	/* A handler of this process must not run in the child, which shares its memory. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = clone(run_child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
	if (pid < 0)
		rc = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_BYTES);
	if (rc == 0 && start.error != 0) {
		waitpid(pid, NULL, 0);
		rc = -start.error;
	}
	if (rc == 0)
		*ret_pid = pid;
	return rc;
}

static bool is_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if (!S_ISREG(st.st_mode)) {
		errno = EACCES;
		return false;
	}
	return access(path, X_OK) == 0;
}

char *spawn_find(const char *name)
{
	const char *dirs = getenv("PATH");
	struct buf path = BUF_INIT(BUF_NO_MAX);
	int error = ENOENT;
	char *found = NULL;

	if (strchr(name, '/') != NULL)
		return is_program(name) ? mem_dup(name, strlen(name)) : NULL;
	if (dirs == NULL)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	while (found == NULL && *name != '\0') {
		size_t len = strcspn(dirs, ":");

		buf_clear(&path);
		buf_append(&path, dirs, len);
		buf_printf(&path, "%s%s", len != 0 ? "/" : "./", name);
		if (is_program(buf_cstr(&path)))
			found = mem_dup(buf_data(&path), path.len);
		else if (errno != ENOENT && errno != ENOTDIR)
			error = errno;
		if (dirs[len] == '\0')
			break;
		dirs += len + 1;
	}
	buf_done(&path);
	if (found == NULL)
		errno = error;
	return found;
}
