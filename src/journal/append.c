/*
 * Appending: records are encoded into the backlog, with marks between them.
 */
#include "journal/journal_int.h"

#include <assert.h>

void journal_append_mark(struct journal *j)
{
	const struct positions *p = &j->positions;
	struct record_mark mark = { .durable = p->synced, .wall_us = j->schedule.wall_us };
	uint64_t commit = 0;
	struct buf *pending = &j->backlog.pending;

	assert(pending->len == 0);
	if (j->group != NULL) {
		mark.has_commit = true;
		mark.commit = commit = j->group->commit;
	}
	record_append_mark(pending, j->salt, j->log.last + 1, &mark);
	if (write_is_all_synced(j) && j->backlog.writing.len == 0)
		record_set_after_sync(buf_data(pending), j->salt);
	j->mark = (struct mark_state){ mark.durable, mark.wall_us, commit };
}

/* When every write is synced, its first record vouches for everything before it: see write.c. Then
 * a mark tells only the time, and the commit index of a group. */
static inline void begin_pending(struct journal *j)
{
	bool is_said =
		j->positions.synced == j->mark.durable || j->options.sync == JOURNAL_SYNC_ALWAYS;
	int64_t since_us = j->schedule.wall_us - j->mark.wall_us;

	/* The time is also new if the clock was set back. */
	if (!is_said || since_us < 0 || since_us >= SECOND_US)
		journal_append_mark(j);
}

void append_begin_pending(struct journal *j)
{
	begin_pending(j);
}

/* Whether the last mark has the commit index of a group. */
static bool is_commit_said(const struct journal *j)
{
	return j->group == NULL || j->group->commit == j->mark.commit;
}

/* Damage of the last synced records looks like a torn end as long as no record after them says that
 * they were synced. So a mark says that when a second has passed without a change. */
bool journal_wants_last_mark(const struct journal *j)
{
	const struct positions *p = &j->positions;

	return journal_is_healthy(j) && journal_is_idle(j) && j->options.sync != JOURNAL_SYNC_NO &&
	       backlog_bytes(&j->backlog) == 0 && p->synced == j->log.last &&
	       (p->synced != j->mark.durable || !is_commit_said(j)) &&
	       j->schedule.mono_us - j->schedule.sync_began_us >= SECOND_US;
}

void journal_append(struct commit_log *log, struct qless_str operations)
{
	struct journal *j = journal_of(log);
	struct buf *pending = &j->backlog.pending;

	if (pending->len == 0)
		begin_pending(j);
	record_append(pending, j->salt, RECORD_OPERATIONS, ++log->last, operations);
}

bool journal_admit(struct commit_log *log, size_t bytes)
{
	struct journal *j = journal_of(log);
	uint64_t end =
		journal_end(j) + log->group.operations.len + bytes + JOURNAL_ADMIT_EXTRA_BYTES;
	int rc;

	if (!journal_is_healthy(j))
		return false;
	/* A segment that is being ended is left alone. */
	if (end <= segment_room(&j->segment) || j->task.kind == DISK_TASK_ROTATE)
		return true;
	rc = segment_reserve(&j->segment, j->io, end);
	if (rc < 0)
		health_fail(j, COMMIT_LOG_FULL, rc, "making room for the log");
	return rc == 0;
}
