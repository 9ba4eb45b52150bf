/*
 * Three processes and their messages: the owner, the rewriter, and a worker for each order.
 */
#include "journal/rewriter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/background.h"
#include "sys/child.h"
#include "util/mem.h"

/* Largest size of an error text in the worker, in bytes. Only its beginning is sent. */
#define ERROR_MAX 65536
/* Exit code of a worker that starves, and may not take the next class by itself. */
#define EXIT_STARVED 70

struct order {
	bool is_cancelled;	  /* not an order: it cancels the one before */
	struct base_options base; /* the worker fills in the pointers */
	size_t extra_bytes;
};

enum message_kind {
	MESSAGE_PROGRESS,
	MESSAGE_RESULT,
	MESSAGE_OVER, /* from the rewriter; all others are from the worker */
};

struct message {
	enum message_kind kind;
	int result;
	uint64_t bytes;
	char error[sizeof((struct rewriter_report *)0)->error];
};

struct rewriter {
	const struct rebuild_options *options;
	const char *dir;
	pid_t pid;
	int fd;	      /* the owner's end of a socket that keeps messages whole */
	bool is_busy; /* MESSAGE_OVER is still to come */
	struct rewriter_report report;
	struct order order;
	char *extra; /* of the order, in memory that all three processes share */
};

/* ---- the worker ---- */

static void send_message(const struct message *message)
{
	/* If the owner is gone, there is nothing left to do. */
	(void)!send(CHILD_FD, message, sizeof *message, MSG_NOSIGNAL);
}

static void send_progress(void *arg, uint64_t bytes)
{
	struct message message = { .kind = MESSAGE_PROGRESS, .bytes = bytes };

	(void)arg;
	send_message(&message);
}

/* A signal handler calls this. */
static void give_up(enum background_class next)
{
	(void)next;
	_exit(EXIT_STARVED);
}

static void work(const struct rewriter *r, enum background_class class)
{
	struct background background;
	struct base_options base = r->order.base;
	struct message message = { .kind = MESSAGE_RESULT };
	struct buf error = BUF_INIT(ERROR_MAX);

	base.io = &journal_io_system;
	base.dir = r->dir;
	base.progress = send_progress;
	base.progress_arg = NULL;
	background_begin(&background, class, give_up);
	message.result = rebuild_base(r->options, &base, str_make(r->extra, r->order.extra_bytes),
				      &message.bytes, &error);
	if (message.result < 0)
		snprintf(message.error, sizeof message.error, "%s", buf_cstr(&error));
	send_message(&message);
}

/* ---- the rewriter ---- */

/* Wait for the next order. Ends the process, and its worker, when the owner is gone. */
static void take_order(struct rewriter *r, pid_t worker)
{
	if (recv(CHILD_FD, &r->order, sizeof r->order, 0) > 0)
		return;
	if (worker > 0)
		kill(worker, SIGKILL);
	_exit(0);
}

/* Only the worker has the other end of `alive`, which is closed when the worker ends. Returns
 * whether it starved. */
static bool watch(struct rewriter *r, pid_t worker, int alive)
{
	struct pollfd fds[] = { { .fd = alive, .events = POLLIN },
				{ .fd = CHILD_FD, .events = POLLIN } };
	int status = 0;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents != 0)
			break;
		take_order(r, worker);
		if (r->order.is_cancelled)
			kill(worker, SIGKILL);
	}
	waitpid(worker, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_STARVED;
}

/* Remove what a worker has left. */
static void clean_up(const struct rewriter *r)
{
	char path[JOURNAL_PATH_MAX];

	journal_base_path(path, r->dir, r->order.base.number);
	unlink(path);
}

/* Returns whether the worker starved, or a negative errno. */
static int employ(struct rewriter *r, enum background_class class)
{
	pid_t self = getpid(), worker;
	bool starved = false;
	int alive[2];

	if (pipe(alive) < 0)
		return -errno;
	worker = fork();
	if (worker == 0) {
		close(alive[0]);
		if (child_begin("qlessd-rewrite", self))
			work(r, class);
		_exit(0);
	}
	close(alive[1]);
	if (worker > 0)
		starved = watch(r, worker, alive[0]);
	close(alive[0]);
	return worker < 0 ? -errno : starved;
}

/* Employ a worker, and another one with the next class if that one starves. A process without
 * privileges cannot leave SCHED_IDLE or lower its nice value, but this process never had them
 * changed. */
static int make_base(struct rewriter *r)
{
	enum background_class class = BACKGROUND_IDLE;
	int rc = employ(r, class);

	while (rc > 0 && !r->order.is_cancelled && class < BACKGROUND_FAIR) {
		clean_up(r);
		rc = employ(r, ++class);
	}
	return rc < 0 ? rc : 0;
}

static void serve(struct rewriter *r)
{
	struct message over = { .kind = MESSAGE_OVER };

	for (;;) {
		take_order(r, 0);
		/* The owner may cancel before it has heard that the order is over. */
		if (r->order.is_cancelled)
			continue;
		over.result = make_base(r);
		send_message(&over);
	}
}

/* ---- the owner ---- */

struct rewriter *rewriter_new(const struct rebuild_options *options, const char *dir)
{
	struct rewriter *r = mem_zalloc(sizeof *r);
	pid_t self = getpid();
	int ends[2];

	r->options = options;
	r->dir = dir;
	r->fd = -1;
	r->extra = mmap(NULL, REWRITER_EXTRA_MAX, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->extra == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		rewriter_free(r);
		return NULL;
	}
	r->pid = fork();
	if (r->pid == 0) {
		if (!child_begin("qlessd-rewriter", self))
			_exit(1);
		close(ends[0]);
		child_keep_fd(ends[1]);
		serve(r);
	}
	close(ends[1]);
	r->fd = ends[0];
	if (r->pid < 0) {
		rewriter_free(r);
		return NULL;
	}
	return r;
}

void rewriter_free(struct rewriter *r)
{
	int error = errno;

	if (r == NULL)
		return;
	if (r->fd >= 0)
		close(r->fd);
	if (r->pid > 0) {
		kill(r->pid, SIGKILL);
		waitpid(r->pid, NULL, 0);
	}
	if (r->extra != MAP_FAILED)
		munmap(r->extra, REWRITER_EXTRA_MAX);
	free(r);
	errno = error;
}

static int send_order(const struct rewriter *r)
{
	if (send(r->fd, &r->order, sizeof r->order, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	return errno == ECONNRESET ? -EPIPE : -errno;
}

int rewriter_begin(struct rewriter *r, const struct base_options *base, struct qless_str extra)
{
	int rc;

	if (extra.len > REWRITER_EXTRA_MAX)
		return -E2BIG;
	r->order = (struct order){ .base = *base, .extra_bytes = extra.len };
	if (extra.len > 0)
		memcpy(r->extra, extra.ptr, extra.len);
	rc = send_order(r);
	r->is_busy = rc == 0;
	r->report = (struct rewriter_report){ .result = -ECHILD };
	return rc;
}

static void take_message(struct rewriter *r, const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_PROGRESS:
		r->report.bytes = message->bytes;
		break;
	case MESSAGE_RESULT:
		r->report.bytes = message->bytes;
		r->report.result = message->result;
		memcpy(r->report.error, message->error, sizeof r->report.error);
		break;
	case MESSAGE_OVER:
		r->report.is_over = true;
		if (message->result < 0)
			r->report.result = message->result;
		break;
	}
}

/* If the rewriter and the worker are both gone, no message comes. */
bool rewriter_poll(struct rewriter *r, struct rewriter_report *ret_report)
{
	struct message message;
	ssize_t received;

	if (!r->is_busy)
		return false;
	received = recv(r->fd, &message, sizeof message, MSG_DONTWAIT);
	if (received < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (received == (ssize_t)sizeof message)
		take_message(r, &message);
	else
		r->report.is_over = true;
	r->is_busy = !r->report.is_over;
	*ret_report = r->report;
	return true;
}

int rewriter_fd(const struct rewriter *r)
{
	return r->fd;
}

void rewriter_cancel(struct rewriter *r)
{
	if (!r->is_busy || r->order.is_cancelled)
		return;
	r->order.is_cancelled = true;
	send_order(r);
}
