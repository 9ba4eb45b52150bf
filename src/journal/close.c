/*
 * Closing a journal: write and sync everything, and append a last mark.
 */
#include "journal/journal_int.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "sys/clock.h"

/* Milliseconds between two looks at a rewrite that is not over. */
#define WAIT_MS 100

static void flush_now(struct journal *j)
{
	commit_log_flush(&j->log, &(struct commit_log_turn){ .mono_us = clock_mono_us(),
							     .wall_us = clock_wall_us() });
}

static bool has_work(const struct journal *j)
{
	return j->rewrite.phase != REWRITE_NONE || !journal_is_idle(j) ||
	       j->backlog.pending.len > 0;
}

void journal_wait(struct journal *j)
{
	while (journal_is_healthy(j) || j->rewrite.phase != REWRITE_NONE) {
		int fd;

		task_wait(j);
		flush_now(j);
		if (!has_work(j) || j->log.state == COMMIT_LOG_FULL)
			break;
		fd = journal_rewrite_fd(j);
		if (fd >= 0)
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, WAIT_MS);
	}
}

/* Sync, and append a mark that says so. Sync that, too, and then write to the header how long the
 * file is. From then on, damage cannot be taken for a torn end. */
static int seal(struct journal *j)
{
	struct segment *s = &j->segment;
	int rc;

	write_pending(j);
	rc = j->io->sync(j->io->arg, s->fd);
	if (rc < 0 || !journal_is_healthy(j))
		return rc;
	assert(j->positions.written == j->log.last);
	j->positions.synced = j->positions.written;
	journal_append_mark(j);
	write_pending(j);
	j->io->truncate(j->io->arg, s->fd, s->size);
	if (!journal_is_healthy(j))
		return 0;
	rc = j->io->sync(j->io->arg, s->fd);
	return rc == 0 ? segment_seal(s, j->io) : rc;
}

static void close_log(struct journal *j, struct buf *ret_error)
{
	int rc;

	rewrite_give_up(j, -ECANCELED);
	task_wait(j);
	journal_read_clocks(j);
	if (!journal_has_failed(j)) {
		rc = seal(j);
		if (rc < 0)
			health_fail(j, COMMIT_LOG_FAILED, rc, "syncing at the end");
	}
	if (!journal_is_healthy(j) && ret_error != NULL)
		buf_printf(ret_error, "the log was not closed cleanly: %s", j->complaint);
}

void journal_abandon(struct journal *j)
{
	directory_lock_release(&j->lock, j->io);
	if (j->segment.fd >= 0)
		j->io->close(j->io->arg, j->segment.fd);
	j->segment.fd = -1;
}

void journal_close(struct journal *j, struct buf *ret_error)
{
	if (j == NULL)
		return;
	if (j->segment.fd >= 0)
		close_log(j, ret_error);
	if (j->group != NULL)
		journal_give_up_install(j);
	segment_leave(&j->segment, j->io);
	rewriter_free(j->rewriter);
	helper_free(j->helper);
	directory_lock_release(&j->lock, j->io);
	manifest_done(&j->files.manifest);
	group_log_free(j->group);
	backlog_done(&j->backlog);
	commit_log_done(&j->log);
	free(j);
}
