/*
 * Rewriting: a new base in place of the old one and the log that followed it.
 *
 * First the log goes on to a new file. Then the base is written, in one of two ways. Either the
 * process forks at the end of a turn, and the child has the state as it is. Or, as that holds up
 * everybody the longer the more memory there is, another process makes the state again from the
 * files that are ended: see rewriter.h. The parent goes on meanwhile. When the base is on the disk
 * the manifest is replaced by one that names the base and the log files from the new one on. Only
 * then the old files are removed. Whenever a crash happens, the manifest in force names files that
 * are whole: what it does not name is swept away at the next start.
 *
 * The base of a child may hold records that were written to the new log file before the fork, and
 * recovery passes over these. They are synced before the base comes into force, so the log never
 * ends before its base does.
 *
 * A log that has failed is made well in the same way, but does not go on to a new file first:
 * nobody knows what of it is on the disk, so it is dropped with the old base, and a new log file
 * comes into force together with the new one. Its base is always written by a child.
 */
#include "journal/journal_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/child.h"
#include "sys/clock.h"

#define SECOND_US INT64_C(1000000)
/* After a rewrite that was to make the log well has failed. */
#define RECOVER_RETRY_US (2 * SECOND_US)

/* To run records again takes longer than to write the state. A log may be so many times as large as
 * the state, and a bit. */
#define REBUILD_LOG_MOST  2
#define REBUILD_LOG_EXTRA ((uint64_t)64 * 1024 * 1024)

/* How long the end of a process that was killed is waited for before we end ourselves. */
#define GIVE_UP_MS 1000

/* What the child tells through the pipe: its progress, and at the end the result. */
struct report {
	uint64_t bytes;
	int32_t result; /* 1: not over yet */
	int32_t unused;
};

bool journal_is_rewriting(const struct journal *j)
{
	return j->rewrite.phase != REWRITE_NONE;
}

int journal_rewrite_fd(const struct journal *j)
{
	return j->rewrite.fd;
}

const char *journal_rebuild_error(const struct journal *j)
{
	return j->rebuild_error;
}

bool journal_is_overgrown(const struct journal *j, unsigned percentage, uint64_t min_bytes)
{
	uint64_t bytes = j->ended_bytes + j->size;

	if (percentage == 0 || bytes < min_bytes)
		return false;
	return (double)bytes * 100 >= (double)j->base_bytes * percentage;
}

bool journal_rewrite(struct journal *j)
{
	if (j->rewrite.phase != REWRITE_NONE)
		return false;
	j->rewrite.phase = REWRITE_WANTED;
	j->rewrite.must_fork = false;
	j->rotate_after_us = 0;
	return true;
}

/* ---- the child ---- */

static void send_progress(void *arg, uint64_t bytes)
{
	struct report report = { .bytes = bytes, .result = 1 };

	/* Nobody may be listening any more; then there will be a signal, too. */
	if (write(*(int *)arg, &report, sizeof report) < 0)
		return;
}

static struct base_options describe_base(const struct journal *j)
{
	return (struct base_options){
		.io = j->io,
		.dir = j->options.dir,
		.number = j->rewrite.number,
		.sequence = j->rewrite.sequence,
		.salt = j->salt,
		.wall_us = j->rewrite.wall_us,
		.bytes_per_second = j->options.rewrite_bytes_per_second,
	};
}

static int write_base(struct journal *j, int *pipe_fd)
{
	struct base_options options = describe_base(j);
	struct base_writer w;

	options.progress = pipe_fd != NULL ? send_progress : NULL;
	options.progress_arg = pipe_fd;
	base_begin(&w, &options);
	j->options.save(j->options.arg, &w);
	return base_finish(&w, &j->rewrite.bytes);
}

/* Nothing of the parent's may stay open: its sockets, the lock of the directory. */
static void run_child(struct journal *j, int pipe_fd, pid_t parent)
{
	struct report report = { .bytes = 0 };

	if (!child_begin("qlessd-rewrite", parent))
		_exit(1);
	child_keep_fd(pipe_fd);
	pipe_fd = CHILD_FD;
	child_step_back();
	report.result = write_base(j, &pipe_fd);
	report.bytes = j->rewrite.bytes;
	if (write(pipe_fd, &report, sizeof report) != (ssize_t)sizeof report)
		_exit(1);
	_exit(report.result == 0 ? 0 : 1);
}

/* ---- the parent ---- */

static int start_child(struct journal *j)
{
	struct rewrite *r = &j->rewrite;
	pid_t parent = getpid();
	sigset_t all, old;
	int64_t start_us;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	start_us = clock_mono_us();
	r->pid = fork();
	if (r->pid == 0)
		run_child(j, ends[1], parent);
	rc = -errno;
	j->info.fork_us = clock_mono_us() - start_us;
	j->info.forks++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	if (r->pid < 0) {
		r->pid = 0;
		close(ends[0]);
		return rc;
	}
	r->fd = ends[0];
	return 0;
}

static bool can_rebuild(const struct journal *j)
{
	const struct rewrite *r = &j->rewrite;
	uint64_t state;

	if (r->to_recover || r->must_fork || j->options.rebuild == NULL ||
	    (j->options.threads && j->rewriter == NULL))
		return false;
	state = j->options.state_bytes(j->options.arg);
	return state >= j->options.fork_max_bytes &&
	       j->ended_bytes <= REBUILD_LOG_MOST * state + REBUILD_LOG_EXTRA;
}

static void note_rebuild_error(struct journal *j, const char *error)
{
	snprintf(j->rebuild_error, sizeof j->rebuild_error, "%s", error);
}

static int start_rebuild(struct journal *j)
{
	struct rewrite *r = &j->rewrite;
	struct base_options base = describe_base(j);
	struct buf extra = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(BUF_NO_MAX);
	int rc = 0;

	if (j->options.save_extra != NULL)
		j->options.save_extra(j->options.arg, &extra);
	if (j->options.threads) {
		rc = rewriter_begin(j->rewriter, &base, buf_str(&extra));
		r->fd = rc == 0 ? rewriter_fd(j->rewriter) : -1;
	} else {
		r->result =
			rebuild_base(j->options.rebuild, &base, buf_str(&extra), &r->bytes, &error);
		r->over = true;
		note_rebuild_error(j, buf_cstr(&error));
	}
	if (rc == -EPIPE) {
		note_rebuild_error(j, "the process for it is gone, until the next start");
		rewriter_free(j->rewriter);
		j->rewriter = NULL;
	} else if (rc == -E2BIG) {
		note_rebuild_error(j, "there is too much to tell besides");
	} else if (rc < 0) {
		note_rebuild_error(j, strerror(-rc));
	}
	buf_done(&extra);
	buf_done(&error);
	return rc;
}

static void remove_base(const struct journal *j)
{
	char path[JOURNAL_PATH_MAX];

	journal_base_path(path, j->options.dir, j->rewrite.number);
	j->io->remove(j->io->arg, path);
}

static bool is_for_want_of_room(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

/* What cannot be made from the files can be made from memory, if there is room for it. */
static void fail_base(struct journal *j, int rc)
{
	struct rewrite *r = &j->rewrite;

	if (!r->from_log || is_for_want_of_room(rc)) {
		rewrite_give_up(j, rc);
		return;
	}
	remove_base(j);
	j->info.rebuild_failures++;
	r->must_fork = true;
	r->phase = REWRITE_READY;
}

static void begin_base(struct journal *j)
{
	struct rewrite *r = &j->rewrite;
	int rc = 0;

	r->to_recover = j->log.state == COMMIT_LOG_FAILED;
	r->from_log = can_rebuild(j);
	r->is_cancelled = false;
	r->buffered = r->to_recover ? j->pending.len : 0;
	r->number = j->next_number++;
	r->sequence = r->from_log ? j->first - 1 : j->log.last;
	r->first_log = j->number;
	r->ended_bytes = j->ended_bytes;
	r->bytes = 0;
	r->wall_us = j->wall_us;
	r->started_us = j->mono_us;
	r->over = false;
	r->keep_base = false;
	r->result = -ECHILD; /* unless it says otherwise before it goes */
	/* What is in the base need not be in the log behind it. */
	if (r->to_recover)
		j->gap = false;
	r->phase = REWRITE_RUNNING;
	if (r->from_log) {
		rc = start_rebuild(j);
	} else if (j->options.threads) {
		rc = start_child(j);
	} else {
		r->result = write_base(j, NULL);
		r->over = true;
	}
	if (rc < 0)
		fail_base(j, rc);
}

static void read_reports(struct rewrite *r)
{
	struct report report;

	while (read(r->fd, &report, sizeof report) == (ssize_t)sizeof report) {
		r->bytes = report.bytes;
		if (report.result != 1)
			r->result = report.result;
	}
}

static void forget_child(struct rewrite *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->pid = 0;
}

static void note_end_of_rebuild(struct journal *j, const struct rewriter_report *report)
{
	if (report->result == 0)
		return;
	if (j->rewrite.is_cancelled)
		note_rebuild_error(j, "the log grows faster than it can be read");
	else if (report->result == -ECHILD)
		note_rebuild_error(j, "its process was killed");
	else if (report->error[0] != '\0')
		note_rebuild_error(j, report->error);
	else
		note_rebuild_error(j, strerror(-report->result));
}

static void watch_rewriter(struct journal *j)
{
	struct rewrite *r = &j->rewrite;
	struct rewriter_report report;

	while (rewriter_poll(j->rewriter, &report)) {
		r->bytes = report.bytes;
		if (!report.is_over)
			continue;
		r->result = report.result;
		r->over = true;
		r->fd = -1;
		note_end_of_rebuild(j, &report);
	}
}

/* Who makes a base from the files gets what nobody else wants of the processors. If more has come
 * since than there was to be read, it may never catch up. */
static bool is_behind(const struct journal *j)
{
	const struct rewrite *r = &j->rewrite;
	uint64_t since = j->ended_bytes - r->ended_bytes + j->size;

	return r->from_log && since > r->ended_bytes + j->base_bytes + REBUILD_LOG_EXTRA;
}

/* A base from before the log failed does not make it well: another one is needed, soon. */
static bool is_useless(const struct journal *j)
{
	return j->log.state == COMMIT_LOG_FAILED && !j->rewrite.to_recover;
}

/* Have it end. */
static void cancel_base(struct journal *j)
{
	struct rewrite *r = &j->rewrite;

	r->is_cancelled = true;
	if (r->from_log)
		rewriter_cancel(j->rewriter);
	else
		kill(r->pid, SIGKILL);
}

static void give_up_rebuild(struct journal *j)
{
	struct rewriter_report report = { 0 };

	rewriter_cancel(j->rewriter);
	while (!report.is_over &&
	       (rewriter_poll(j->rewriter, &report) ||
		poll(&(struct pollfd){ .fd = j->rewrite.fd, .events = POLLIN }, 1, GIVE_UP_MS) > 0))
		;
	j->rewrite.fd = -1;
}

static void watch_child(struct rewrite *r)
{
	int status;

	read_reports(r);
	if (waitpid(r->pid, &status, WNOHANG) == 0)
		return;
	/* It has reported before it went, if it went by itself. */
	read_reports(r);
	forget_child(r);
	r->over = true;
}

static void start_switch(struct journal *j)
{
	struct rewrite *r = &j->rewrite;
	struct manifest *m = &j->job.manifest;

	j->job = (struct job){ .fd = r->to_recover ? -1 : j->fd,
			       .replace = true,
			       .obsolete = &j->manifest,
			       .keep_bases = j->options.keep_bases };
	j->syncing = j->written;
	m->base = r->number;
	m->base_sequence = r->sequence;
	for (size_t i = 0; i < j->manifest.log_count && !r->to_recover; i++) {
		if (j->manifest.logs[i] >= r->first_log)
			manifest_add_log(m, j->manifest.logs[i]);
	}
	if (r->to_recover) {
		j->job.create = true;
		journal_describe_log(j, &j->job.header, j->next_number++, r->sequence + 1);
		manifest_add_log(m, j->job.header.number);
	}
	r->phase = REWRITE_SWITCHING;
	j->work = WORK_SWITCH;
	helper_start(j->helper, &j->job);
}

void rewrite_give_up(struct journal *j, int rc)
{
	struct rewrite *r = &j->rewrite;
	int status;

	if (r->phase == REWRITE_NONE || r->phase == REWRITE_SWITCHING)
		return;
	if (r->from_log && r->fd >= 0)
		give_up_rebuild(j);
	if (r->pid != 0) {
		kill(r->pid, SIGKILL);
		waitpid(r->pid, &status, 0);
		forget_child(r);
	}
	if (r->phase == REWRITE_RUNNING && !r->keep_base)
		remove_base(j);
	r->phase = REWRITE_NONE;
	j->info.rewrite_failures++;
	j->info.last_rewrite_rc = rc;
	j->retry_after_us = j->mono_us + RECOVER_RETRY_US;
}

/* The log begins again behind the base. */
static void begin_again(struct journal *j, const struct job *job)
{
	j->io->close(j->io->arg, j->fd);
	j->fd = job->created_fd;
	j->number = job->header.number;
	j->first = job->header.sequence;
	j->size = j->sync_size = RECORD_FILE_HEADER_BYTES;
	j->allocated = j->zeroed = 0;
	j->written = j->synced = j->marked = j->rewrite.sequence;
	buf_consume(&j->pending, j->rewrite.buffered);
	/* Records were dropped since: one more base is needed. */
	if (!j->gap)
		journal_set_well(j);
}

void journal_give_up_rewrite(struct journal *j)
{
	rewrite_give_up(j, -ECANCELED);
}

void rewrite_switched(struct journal *j, const struct job *job)
{
	struct rewrite *r = &j->rewrite;

	r->phase = REWRITE_RUNNING;
	if (job->rc < 0) {
		if (job->created_fd >= 0)
			j->io->close(j->io->arg, job->created_fd);
		manifest_done(&j->job.manifest);
		if (job->reached == JOB_SYNC || job->unclear)
			journal_fail(j, COMMIT_LOG_FAILED, job->rc, "putting a new base in force");
		r->keep_base = job->unclear;
		rewrite_give_up(j, job->rc);
		return;
	}
	if (!r->to_recover && j->syncing > j->synced)
		j->synced = j->syncing;
	manifest_done(&j->manifest);
	j->manifest = j->job.manifest;
	j->base_bytes = r->bytes;
	j->base_wall_us = r->wall_us;
	j->ended_bytes -= r->ended_bytes;
	if (r->to_recover) {
		j->ended_bytes = 0;
		begin_again(j, job);
	}
	r->phase = REWRITE_NONE;
	j->info.rewrites++;
	j->info.rebuilds += r->from_log;
	j->info.last_is_rebuilt = r->from_log;
	j->info.last_rewrite_rc = 0;
	j->info.last_rewrite_us = j->mono_us - r->started_us;
}

void rewrite_step(struct journal *j)
{
	struct rewrite *r = &j->rewrite;

	/* A log that has failed asks for it by itself. */
	if (r->phase == REWRITE_NONE && j->log.state == COMMIT_LOG_FAILED &&
	    j->mono_us >= j->retry_after_us)
		journal_rewrite(j);
	if (r->phase == REWRITE_WANTED && j->log.state == COMMIT_LOG_FAILED && j->work == WORK_NONE)
		r->phase = REWRITE_READY;
	/* What is in the base has to be in the log before it, unless the log has failed; what is
	 * not written yet is of the files that are not ended. */
	if (r->phase == REWRITE_READY && j->work == WORK_NONE) {
		journal_write_pending(j);
		if (j->pending.len == 0 || j->log.state == COMMIT_LOG_FAILED)
			begin_base(j);
	}
	if (r->phase != REWRITE_RUNNING)
		return;
	if (r->pid != 0)
		watch_child(r);
	else if (r->fd >= 0)
		watch_rewriter(j);
	if (!r->over && (is_behind(j) || is_useless(j)))
		cancel_base(j);
	if (!r->over)
		return;
	if (is_useless(j)) {
		r->result = -ECANCELED;
		note_rebuild_error(j, "the log has failed");
	}
	if (r->result < 0)
		fail_base(j, r->result);
	else if (j->work == WORK_NONE)
		start_switch(j);
}
