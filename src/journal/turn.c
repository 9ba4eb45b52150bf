/*
 * The end of a turn: the steps, and their order.
 */
#include "journal/journal_int.h"

#include <errno.h>

#include "util/container.h"

/* Largest number of pending bytes. Above it, the loop waits for the helper. */
#define WAITING_MAX ((size_t)16 * 1024 * 1024)
/* Largest number of pending bytes while the log is not healthy. Only reads still append records. */
#define PENDING_MAX ((size_t)64 * 1024 * 1024)
/* With this many bytes pending, a sync is worth its cost even if more commands could run first. */
#define FLUSH_BYTES ((size_t)64 * 1024)

bool turn_wants_flush(const struct commit_log *log)
{
	const struct journal *j = container_of(log, const struct journal, log);

	return j->options.sync == JOURNAL_SYNC_ALWAYS && j->backlog.pending.len >= FLUSH_BYTES &&
	       journal_is_healthy(j) && helper_is_idle(j->helper);
}

/* Records must not pile up without bounds while nothing can be written. */
static void limit_pending(struct journal *j)
{
	if (j->backlog.pending.len <= PENDING_MAX)
		return;
	backlog_drop(&j->backlog);
	j->rewrite.covered_bytes = 0;
	health_fail(j, COMMIT_LOG_FAILED, -ENOBUFS, "keeping what could not be written");
}

static bool sync_is_due(const struct journal *j)
{
	bool is_always = j->options.sync == JOURNAL_SYNC_ALWAYS;

	if (j->positions.written == j->positions.synced &&
	    (!is_always || j->backlog.pending.len == 0 || !journal_is_healthy(j)))
		return false;
	switch (j->options.sync) {
	case JOURNAL_SYNC_ALWAYS:
		return true;
	case JOURNAL_SYNC_EVERYSEC:
		return j->schedule.mono_us - j->schedule.sync_began_us >= SECOND_US;
	case JOURNAL_SYNC_NO:
		break;
	}
	return false;
}

/* Start the most urgent task. A failed segment is never synced again, because a failed sync leaves
 * pages in memory that later syncs take for written. */
static void start_task(struct journal *j)
{
	bool ends_segment;

	if (!journal_is_idle(j) || journal_has_failed(j))
		return;
	if (j->group != NULL && !journal_is_vote_stored(j)) {
		group_start_vote(j);
		return;
	}
	ends_segment = rotate_is_due(j);
	if (ends_segment)
		write_pending(j);
	if (ends_segment && journal_is_healthy(j))
		rotate_start(j);
	else if (sync_is_due(j))
		write_start_sync(j);
	else if (zeros_are_due(j))
		zeros_start(j);
	else if (journal_wants_last_mark(j))
		write_last_mark(j);
}

static void begin(struct journal *j, const struct commit_log_turn *turn)
{
	j->schedule.mono_us = turn->mono_us;
	j->schedule.wall_us = turn->wall_us;
	j->schedule.is_urgent = turn->is_urgent;
	pace_tick(&j->pace, turn->mono_us);
	unsynced_note(&j->unsynced, j->log.last, turn->mono_us);
}

/* Whether the loop writes the records: unless the helper does, or the segment is being ended. */
static bool loop_writes(const struct journal *j)
{
	return j->options.sync != JOURNAL_SYNC_ALWAYS && j->task.kind != DISK_TASK_ROTATE &&
	       j->backlog.writing.len == 0;
}

void turn_flush(struct commit_log *log, const struct commit_log_turn *turn)
{
	struct journal *j = journal_of(log);

	begin(j, turn);
	task_poll(j);
	if (journal_is_healthy(j) && j->backlog.pending.len > WAITING_MAX)
		task_wait(j);
	if (loop_writes(j))
		write_pending(j);
	if (log->state == COMMIT_LOG_FULL && journal_is_idle(j))
		health_retry(j);
	if (!journal_is_healthy(j))
		limit_pending(j);
	rewrite_step(j);
	start_task(j);
	journal_publish(j);
}
