/*
 * From the backlog to the disk.
 *
 * With `everysec` and `no` the loop writes at the end of each turn, because a reply must not leave
 * before the system has the record. With `always` the helper writes and then syncs, because no
 * reply leaves before the sync. A write by the loop might have to wait for a sync that is under
 * way, or for the journal of the file system. While the helper syncs, more records arrive, and the
 * next sync covers all of them: there is never more than one sync at a time.
 */
#include "journal/journal_int.h"

#include <assert.h>

/* Microseconds. If a single client is waiting, the loop syncs by itself: waking the helper costs as
 * much as a fast sync. If the last write and sync took longer than this, the helper does it. */
#define URGENT_SYNC_US 1000

static void note_written(struct journal *j, uint64_t bytes, uint64_t sequence)
{
	assert(j->positions.written <= sequence && sequence <= j->log.last);
	if (j->group != NULL)
		group_note_written(j, sequence, j->segment.size);
	segment_note_records(&j->segment, bytes);
	j->positions.written = sequence;
}

void write_handle_failure(struct journal *j, int rc)
{
	struct segment *s = &j->segment;

	/* Part of a record must not stay in front of what is written next. */
	if (journal_is_disk_full(rc) && j->io->truncate(j->io->arg, s->fd, s->size) == 0)
		health_fail_segment(j, COMMIT_LOG_FULL, rc, "writing");
	else
		health_fail_segment(j, COMMIT_LOG_FAILED, rc, "writing");
	segment_forget_room(s);
}

/* Zeros must not overwrite records that end at `end`. After a failed write they must not follow the
 * records. */
static void wait_for_zeros(struct journal *j, uint64_t end)
{
	if (j->task.kind == DISK_TASK_ZEROS && end > j->task.write.zero_from)
		task_wait(j);
}

void write_pending(struct journal *j)
{
	const struct buf *pending = &j->backlog.pending;
	size_t written;
	int rc;

	assert(j->backlog.writing.len == 0);
	if (pending->len > 0)
		wait_for_zeros(j, j->segment.size + pending->len);
	if (pending->len == 0 || !journal_is_healthy(j))
		return;
	assert(j->task.kind != DISK_TASK_ROTATE);
	rc = journal_write_all(j->io, j->segment.fd, buf_data(pending), pending->len,
			       j->segment.size, &written);
	if (rc < 0) {
		wait_for_zeros(j, UINT64_MAX);
		write_handle_failure(j, rc);
		return;
	}
	note_written(j, pending->len, j->log.last);
	pace_note(&j->pace, pending->len);
	backlog_end_pending(&j->backlog);
}

/* ---- syncs ---- */

void write_begin_syncing(struct journal *j, uint64_t sequence)
{
	j->positions.syncing = sequence;
	unsynced_begin_sync(&j->unsynced, sequence);
}

void write_end_syncing(struct journal *j)
{
	struct positions *p = &j->positions;

	assert(p->synced <= p->syncing && p->syncing <= p->written);
	p->synced = p->syncing;
	j->segment.has_unsynced_mark = false;
	unsynced_end_sync(&j->unsynced);
}

bool write_is_all_synced(const struct journal *j)
{
	return j->positions.synced == j->positions.written && !j->segment.has_unsynced_mark;
}

/* Let the helper write the pending records. */
static void hand_over(struct journal *j, struct disk_write *write)
{
	struct buf *pending = &j->backlog.pending;

	if (pending->len > 0 && write_is_all_synced(j))
		record_set_after_sync(buf_data(pending), j->salt);
	write->records = backlog_hand_over(&j->backlog);
	write->offset = j->segment.size;
	zeros_plan(j, write->offset + write->records.len, &write->zero_from, &write->zero_to);
	write_begin_syncing(j, j->log.last);
}

void write_start_sync(struct journal *j)
{
	bool is_always = j->options.sync == JOURNAL_SYNC_ALWAYS;
	struct disk_write write = { .offset = j->segment.size };

	write_begin_syncing(j, j->positions.written);
	segment_note_sync(&j->segment);
	j->schedule.sync_began_us = j->schedule.mono_us;
	if (is_always && journal_is_healthy(j))
		hand_over(j, &write);
	disk_task_init_sync(&j->task, j->segment.fd, &write);
	if (j->schedule.is_urgent && is_always && write.zero_to == 0 &&
	    j->schedule.sync_took_us <= URGENT_SYNC_US)
		task_run(j);
	else
		task_start(j);
}

void write_last_mark(struct journal *j)
{
	journal_append_mark(j);
	if (j->options.sync != JOURNAL_SYNC_ALWAYS)
		write_pending(j);
	if (!journal_is_healthy(j))
		return;
	j->segment.has_unsynced_mark = true;
	/* With `always` the sync writes the mark. */
	write_start_sync(j);
}

/* The helper's records are in the file now. Otherwise they become pending again if the disk is
 * full, and are dropped if the log has failed. */
static void finish_write(struct journal *j, const struct disk_task *task)
{
	struct backlog *backlog = &j->backlog;

	if (task->result.reached == DISK_STEP_WRITE) {
		write_handle_failure(j, task->result.rc);
		if (j->log.state == COMMIT_LOG_FULL)
			backlog_take_back(backlog);
	} else {
		note_written(j, backlog->writing.len, j->positions.syncing);
		segment_note_zeros(&j->segment, task->result.zeroed);
	}
	backlog_end_writing(backlog);
}

static void note_duration(struct journal *j, const struct disk_task *task)
{
	struct journal_info *info = &j->info;

	if (task->write.zero_to == 0)
		j->schedule.sync_took_us = task->result.write_us + task->result.sync_us;
	info->syncs++;
	info->sync_us_last = (uint64_t)task->result.sync_us;
	if (info->sync_us_last > info->sync_us_max)
		info->sync_us_max = info->sync_us_last;
}

bool write_finish_sync(struct journal *j, const struct disk_task *task)
{
	if (j->backlog.writing.len > 0)
		finish_write(j, task);
	if (task->result.reached < DISK_STEP_SYNC)
		return false;
	if (task->result.reached == DISK_STEP_SYNC) {
		health_fail_segment(j, COMMIT_LOG_FAILED, task->result.rc, "syncing");
		return false;
	}
	write_end_syncing(j);
	note_duration(j, task);
	return true;
}
