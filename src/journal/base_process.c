/*
 * The process that writes a snapshot: a child, which has the state in memory, or the rewriter,
 * which builds the state again from the files. In a program that must not be forked, a thread does
 * what the rewriter does.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal/journal_int.h"
#include "sys/background.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/entropy.h"

/* Milliseconds to wait for each report of the rewriter after its order was cancelled. */
#define KILL_WAIT_MS 1000

/* Why a snapshot from the files is cancelled. */
#define OVERTAKEN "the log grows faster than it can be read"

/* The child reports its progress through a pipe, and at the end the result. */
struct report {
	uint64_t bytes;
	int32_t result; /* REPORT_PROGRESS until it is over */
	int32_t unused;
};

#define REPORT_PROGRESS 1

const char *journal_rebuild_error(const struct journal *j)
{
	return j->rewrite.process.rebuild_error;
}

void base_process_note_error(struct journal *j, const char *error)
{
	snprintf(j->rewrite.process.rebuild_error, sizeof j->rewrite.process.rebuild_error, "%s",
		 error);
}

static struct base_options describe_base(const struct journal *j)
{
	return (struct base_options){
		.io = j->io,
		.dir = j->options.dir,
		.number = j->rewrite.number,
		.sequence = j->rewrite.sequence,
		.salt = entropy_u64(),
		.wall_us = j->rewrite.wall_us,
		.bytes_per_second = j->options.rewrite_bytes_per_second,
	};
}

static void begin(struct base_process *p, enum base_process_kind kind, pid_t pid, int fd)
{
	assert(p->kind == BASE_PROCESS_NONE && !p->is_over);
	p->kind = kind;
	p->pid = pid;
	p->fd = fd;
}

static void end(struct base_process *p, int result)
{
	assert(!p->is_over && result <= 0);
	p->kind = BASE_PROCESS_NONE;
	p->pid = 0;
	p->fd = -1;
	p->is_over = true;
	p->result = result;
}

/* ---- in the child ---- */

static void send_progress(void *arg, uint64_t bytes)
{
	struct report report = { .bytes = bytes, .result = REPORT_PROGRESS };

	/* If the parent closed the pipe, it has sent SIGKILL, too. */
	if (write(*(int *)arg, &report, sizeof report) < 0)
		return;
}

static int write_base(struct journal *j, int *pipe_fd, uint64_t *ret_bytes)
{
	struct base_options options = describe_base(j);
	struct base_writer w;

	options.progress = pipe_fd != NULL ? send_progress : NULL;
	options.progress_arg = pipe_fd;
	base_begin(&w, &options);
	j->options.save(j->options.arg, &w);
	return base_finish(&w, ret_bytes);
}

/* No file descriptor of the parent may stay open: its sockets, the lock of the directory. */
static void run_child(struct journal *j, int pipe_fd, pid_t parent)
{
	struct report report = { .bytes = 0 };
	struct background background;

	if (!child_begin("qlessd-rewrite", parent))
		_exit(1);
	child_keep_fd(pipe_fd);
	pipe_fd = CHILD_FD;
	background_begin(&background, BACKGROUND_LOW, NULL);
	report.result = write_base(j, &pipe_fd, &report.bytes);
	if (write(pipe_fd, &report, sizeof report) != (ssize_t)sizeof report)
		_exit(1);
	_exit(report.result == 0 ? 0 : 1);
}

/* ---- the child ---- */

static pid_t fork_child(struct journal *j, int pipe_fd)
{
	pid_t parent = getpid(), pid;
	int64_t start_us;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	start_us = clock_mono_us();
	pid = fork();
	if (pid == 0)
		run_child(j, pipe_fd, parent);
	rc = -errno;
	j->info.fork_us = clock_mono_us() - start_us;
	j->info.forks++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid < 0 ? rc : pid;
}

static int start_child(struct journal *j)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid = fork_child(j, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return pid;
	}
	begin(&j->rewrite.process, BASE_PROCESS_CHILD, pid, ends[0]);
	return 0;
}

static void read_reports(struct base_process *p)
{
	struct report report;

	while (read(p->fd, &report, sizeof report) == (ssize_t)sizeof report) {
		p->bytes = report.bytes;
		if (report.result != REPORT_PROGRESS)
			p->result = report.result;
	}
}

static void end_child(struct base_process *p)
{
	/* It has reported before it ended, unless it was killed. */
	read_reports(p);
	close(p->fd);
	end(p, p->result);
}

static void watch_child(struct base_process *p)
{
	int status;

	read_reports(p);
	if (waitpid(p->pid, &status, WNOHANG) != 0)
		end_child(p);
}

static void kill_child(struct base_process *p)
{
	int status;

	kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	end_child(p);
}

/* ---- the rewriter ---- */

static void note_refusal(struct journal *j, int rc)
{
	if (rc == -EPIPE) {
		base_process_note_error(
			j, "the rewriter process is gone until the next start of qlessd");
		rewriter_free(j->rewriter);
		j->rewriter = NULL;
	} else if (rc == -E2BIG) {
		base_process_note_error(j, "its order is larger than 16 MB");
	} else {
		base_process_note_error(j, strerror(-rc));
	}
}

static int order_base(struct journal *j, struct qless_str extra)
{
	struct base_options base = describe_base(j);
	int rc = rewriter_begin(j->rewriter, &base, extra);

	if (rc < 0)
		note_refusal(j, rc);
	else
		begin(&j->rewrite.process, BASE_PROCESS_REWRITER, 0, rewriter_fd(j->rewriter));
	return rc;
}

static int start_thread(struct journal *j, struct qless_str extra)
{
	struct base_process *p = &j->rewrite.process;
	struct base_options base = describe_base(j);

	p->rebuilder = rebuilder_start(j->options.rebuild, &base, extra);
	if (p->rebuilder == NULL) {
		int rc = -errno;

		base_process_note_error(j, strerror(-rc));
		return rc;
	}
	begin(p, BASE_PROCESS_THREAD, 0, rebuilder_fd(p->rebuilder));
	return 0;
}

static void rebuild_at_once(struct journal *j, struct qless_str extra)
{
	struct base_process *p = &j->rewrite.process;
	struct base_options base = describe_base(j);
	struct buf error = BUF_INIT(BUF_NO_MAX);

	end(p, rebuild_base(j->options.rebuild, &base, extra, &p->bytes, &error));
	base_process_note_error(j, buf_cstr(&error));
	buf_done(&error);
}

static int start_rebuild(struct journal *j)
{
	struct buf extra = BUF_INIT(BUF_NO_MAX);
	int rc = 0;

	if (j->options.save_extra != NULL)
		j->options.save_extra(j->options.arg, &extra);
	if (j->options.threads && j->options.no_processes)
		rc = start_thread(j, buf_str(&extra));
	else if (j->options.threads)
		rc = order_base(j, buf_str(&extra));
	else
		rebuild_at_once(j, buf_str(&extra));
	buf_done(&extra);
	return rc;
}

static void note_end_of_rebuild(struct journal *j, const struct rewriter_report *report)
{
	if (report->result == 0)
		return;
	if (j->rewrite.process.is_cancelled)
		base_process_note_error(j, OVERTAKEN);
	else if (report->result == -ECHILD)
		base_process_note_error(j, "its process was killed");
	else if (report->error[0] != '\0')
		base_process_note_error(j, report->error);
	else
		base_process_note_error(j, strerror(-report->result));
}

static void watch_rewriter(struct journal *j)
{
	struct base_process *p = &j->rewrite.process;
	struct rewriter_report report;

	while (!p->is_over && rewriter_poll(j->rewriter, &report)) {
		p->bytes = report.bytes;
		if (!report.is_over)
			continue;
		end(p, report.result);
		note_end_of_rebuild(j, &report);
	}
}

static void kill_rebuild(struct journal *j)
{
	struct base_process *p = &j->rewrite.process;
	struct rewriter_report report = { 0 };

	rewriter_cancel(j->rewriter);
	while (!report.is_over &&
	       (rewriter_poll(j->rewriter, &report) ||
		poll(&(struct pollfd){ .fd = p->fd, .events = POLLIN }, 1, KILL_WAIT_MS) > 0))
		;
	end(p, -ECANCELED);
}

/* ---- the thread ---- */

static void end_thread(struct journal *j, int result)
{
	struct base_process *p = &j->rewrite.process;

	if (result != 0)
		base_process_note_error(j, p->is_cancelled ? OVERTAKEN
							   : rebuilder_error(p->rebuilder));
	rebuilder_free(p->rebuilder);
	p->rebuilder = NULL;
	end(p, result);
}

static void watch_thread(struct journal *j)
{
	struct base_process *p = &j->rewrite.process;
	int result;

	p->bytes = rebuilder_bytes(p->rebuilder);
	if (rebuilder_is_over(p->rebuilder, &result))
		end_thread(j, result);
}

/* ---- any of them ---- */

int base_process_start(struct journal *j)
{
	struct base_process *p = &j->rewrite.process;
	uint64_t bytes = 0;

	assert(p->kind == BASE_PROCESS_NONE);
	p->is_cancelled = p->is_over = false;
	p->bytes = 0;
	p->result = -ECHILD; /* unless it reports a result before it ends */
	if (j->rewrite.from_log)
		return start_rebuild(j);
	if (j->options.threads && !j->options.no_processes)
		return start_child(j);
	end(p, write_base(j, NULL, &bytes));
	p->bytes = bytes;
	return 0;
}

void base_process_watch(struct journal *j)
{
	switch (j->rewrite.process.kind) {
	case BASE_PROCESS_CHILD:
		watch_child(&j->rewrite.process);
		break;
	case BASE_PROCESS_REWRITER:
		watch_rewriter(j);
		break;
	case BASE_PROCESS_THREAD:
		watch_thread(j);
		break;
	case BASE_PROCESS_NONE:
		break;
	}
}

void base_process_cancel(struct journal *j)
{
	struct base_process *p = &j->rewrite.process;

	assert(p->kind != BASE_PROCESS_NONE);
	p->is_cancelled = true;
	if (p->kind == BASE_PROCESS_REWRITER)
		rewriter_cancel(j->rewriter);
	else if (p->kind == BASE_PROCESS_THREAD)
		rebuilder_cancel(p->rebuilder);
	else
		kill(p->pid, SIGKILL);
}

void base_process_kill(struct journal *j)
{
	switch (j->rewrite.process.kind) {
	case BASE_PROCESS_CHILD:
		kill_child(&j->rewrite.process);
		break;
	case BASE_PROCESS_REWRITER:
		kill_rebuild(j);
		break;
	case BASE_PROCESS_THREAD:
		end_thread(j, -ECANCELED);
		break;
	case BASE_PROCESS_NONE:
		break;
	}
}
