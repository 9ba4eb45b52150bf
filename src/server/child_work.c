#include "server/child_work.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/server_int.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/log.h"

/* Nice value of the child, so that it takes little processor time from the server. */
#define CHILD_NICE 10
/* Bytes of output read in one go. */
#define READ_BYTES ((size_t)64 * 1024)

void child_work_init(struct server *s)
{
	buf_init(&s->child_work.output, BUF_NO_MAX);
}

/* The child has closed the pipe, so it has freed its memory and is about to end. Returns whether it
 * has succeeded. */
static bool reap(struct child_work *child)
{
	int status = 0;
	pid_t pid;

	event_free(child->event);
	close(child->fd);
	do {
		pid = waitpid(child->pid, &status, 0);
	} while (pid < 0 && errno == EINTR);
	child->pid = 0;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void child_work_done(struct server *s)
{
	child_work_abandon(s);
	if (s->child_work.pid != 0)
		reap(&s->child_work);
	buf_done(&s->child_work.output);
}

void child_work_abandon(struct server *s)
{
	s->child_work.waiting = NULL;
	if (s->child_work.pid != 0)
		kill(s->child_work.pid, SIGKILL);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct child_work *child = &s->child_work;
	struct waiting *w;
	ssize_t n;

	(void)what;
	server_read_clock(s);
	n = read(fd, buf_reserve(&child->output, READ_BYTES), READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		buf_commit(&child->output, (size_t)n);
		return;
	}
	w = child->waiting;
	child->waiting = NULL;
	if (!reap(child))
		buf_done(&child->output);
	else if (child->output.mem == NULL)
		buf_reserve(&child->output, 1);
	if (w != NULL)
		waiting_wake(w, &child->output);
	buf_done(&child->output);
}

/* ---- the child ---- */

static bool write_all(int fd, struct qless_str bytes)
{
	while (bytes.len != 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0)
			bytes = str_make(bytes.ptr + n, bytes.len - (size_t)n);
	}
	return true;
}

/* No descriptor of the parent may stay open: its sockets, the lock of the directory. */
static void run_child(const struct request *req, child_work_fn *fn, int fd, pid_t parent)
{
	struct buf output = BUF_INIT(BUF_NO_MAX);

	if (!child_begin("qlessd-check", parent))
		_exit(1);
	child_keep_fd(fd);
	(void)!nice(CHILD_NICE);
	child_be_killed_first();
	fn(req, &output);
	_exit(write_all(CHILD_FD, buf_str(&output)) ? 0 : 1);
}

static pid_t fork_child(const struct request *req, child_work_fn *fn, int fd)
{
	pid_t parent = getpid(), pid;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		run_child(req, fn, fd, parent);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid;
}

const char *child_work_start(void *arg, const struct request *req, child_work_fn *fn)
{
	struct server *s = arg;
	struct child_work *child = &s->child_work;
	int ends[2];
	pid_t pid;

	if (s->is_inside)
		return "the program that has the jobs inside must not be forked";
	if (child->pid != 0)
		return "the same command of another client has not ended";
	if (pipe2(ends, O_CLOEXEC) < 0)
		return strerror(errno);
	pid = fork_child(req, fn, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		log_warning("no child process for a check: %s", strerror(errno));
		close(ends[0]);
		return "no child process can be forked";
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	child->pid = pid;
	child->fd = ends[0];
	child->waiting = waiting_sleep(s);
	child->event = event_new(s->base, child->fd, EV_READ | EV_PERSIST, on_output, s);
	event_add(child->event, NULL);
	return NULL;
}
