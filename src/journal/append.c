/*
 * The log in use: appending, writing, syncing, and going on to the next file.
 *
 * Records are encoded into `pending` and written at the end of the turn by the thread that runs the
 * commands; the helper syncs. While it does, more is written, and the next sync covers all of that:
 * however many commands arrive, there is one sync at a time and one for all of them. With `always`
 * the helper writes as well, because nobody is told anything before the sync in any case. Otherwise
 * it makes zeros to write on, which is where most of the time of a write goes.
 *
 * A log file that is long enough is ended by one job of the helper: sync it, make the next one with
 * its head, put both into the manifest. Meanwhile nothing is written, so the next file begins right
 * behind the last durable record, and a torn end can only be in the last file.
 */
#include "journal/journal_int.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"
#include "util/container.h"
#include "util/mem.h"

#define SECOND_US INT64_C(1000000)
/* Room on the disk is made in such steps. */
#define ALLOCATE_BYTES ((uint64_t)4 * 1024 * 1024)
/* What a client sent together goes into one record, as long as that is no longer than this. */
#define BATCH_BYTES ((size_t)4096)
/* A record is not much larger than the request it comes from. */
#define ADMIT_EXTRA_BYTES ((uint64_t)4096)
/* What readers have changed while the log was not well is kept up to here. */
#define PENDING_MAX  ((size_t)64 * 1024 * 1024)
#define PENDING_KEEP ((size_t)1024 * 1024)
/* If more than that waits for the helper, so do we. */
#define WAITING_MAX ((size_t)16 * 1024 * 1024)
/* Zeros are made so many at a time, when fewer than that are left. */
#define ZEROS_BYTES ((uint64_t)4 * 1024 * 1024)
#define ZEROS_LEAST ((uint64_t)512 * 1024)
/* Where we write by ourselves they are made in shorter steps, as we may have to wait for one, and
 * there are as many ahead as is written in a second, but no more than so many; and none if that is
 * less than a step. */
#define ZEROS_STEP_BYTES  ((uint64_t)1024 * 1024)
#define ZEROS_AHEAD_BYTES ((uint64_t)8 * 1024 * 1024)
/* If more than that has to be synced before a file can be ended, it is synced while we write on. */
#define END_SYNC_BYTES ((uint64_t)1024 * 1024)
/* A sync is worth it, even while there are more commands to be run. */
#define FLUSH_BYTES ((size_t)64 * 1024)
/* Who waits alone is not handed over to the helper, which takes as long as a fast sync; unless
 * writing and syncing took longer than this. */
#define HURRY_US 1000
#define WAIT_MS	 100

static void finish_work(struct journal *j, struct job *job);
static void wait_for_helper(struct journal *j);

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- state ---- */

void journal_fail(struct journal *j, enum commit_log_state state, int rc, const char *doing)
{
	if (j->log.state == COMMIT_LOG_HEALTHY)
		j->info.failures++;
	/* From bad to worse, but not back. */
	if (j->log.state != COMMIT_LOG_FAILED)
		j->log.state = state;
	snprintf(j->complaint, sizeof j->complaint, "%s (%s)", strerror(-rc), doing);
	j->retry_after_us = j->mono_us + SECOND_US;
}

void journal_set_well(struct journal *j)
{
	j->log.state = COMMIT_LOG_HEALTHY;
	j->complaint[0] = '\0';
}

struct commit_log *journal_log(struct journal *j)
{
	return &j->log;
}

static struct journal *journal_of(struct commit_log *log)
{
	return container_of(log, struct journal, log);
}

static const char *complaint(const struct commit_log *log)
{
	return container_of(log, const struct journal, log)->complaint;
}

void journal_publish(struct journal *j)
{
	j->log.committed = j->options.sync == JOURNAL_SYNC_ALWAYS ? j->synced : j->written;
}

void journal_set_sync(struct journal *j, enum journal_sync sync)
{
	j->options.sync = sync;
	journal_publish(j);
}

void journal_set_segment_bytes(struct journal *j, uint64_t bytes)
{
	j->options.segment_bytes = bytes;
}

void journal_set_rewrite_rate(struct journal *j, uint64_t bytes_per_second)
{
	j->options.rewrite_bytes_per_second = bytes_per_second;
}

void journal_set_fork_max(struct journal *j, uint64_t bytes)
{
	j->options.fork_max_bytes = bytes;
}

void journal_set_keep_bases(struct journal *j, unsigned count)
{
	j->options.keep_bases = count;
}

void journal_get_info(const struct journal *j, struct journal_info *ret_info)
{
	*ret_info = j->info;
	ret_info->last_sequence = j->log.last;
	ret_info->durable_sequence = j->log.committed;
	ret_info->base_bytes = j->base_bytes;
	ret_info->log_bytes = j->ended_bytes + j->size;
	ret_info->pending_bytes = j->pending.len + j->writing.len;
	ret_info->segments = j->manifest.log_count;
	ret_info->rewriting = journal_is_rewriting(j);
	ret_info->rewrite_bytes = ret_info->rewriting ? j->rewrite.bytes : 0;
	ret_info->last_base_wall_us = j->base_wall_us;
}

static bool is_no_room(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT;
}

/* ---- appending ---- */

/* The mark is the first record of the next write. It has the number of the record after it. */
static void append_mark(struct journal *j)
{
	struct record_mark mark = { .durable = j->synced, .wall_us = j->wall_us };

	assert(j->pending.len == 0);
	record_append_mark(&j->pending, j->salt, j->log.last + 1, &mark);
	if (j->synced == j->written && j->writing.len == 0)
		record_set_after_sync(buf_data(&j->pending), j->salt);
	j->marked = mark.durable;
	j->mark_wall_us = mark.wall_us;
}

/* A mark goes in front of what is about to be written, when there is something new to say. With a
 * sync for each few records these say it by themselves: see give_pending(). */
static void begin_pending(struct journal *j)
{
	bool is_said = j->synced == j->marked || j->options.sync == JOURNAL_SYNC_ALWAYS;
	int64_t since_us = j->wall_us - j->mark_wall_us;

	/* A clock that was set back is news, too. */
	if (!is_said || since_us < 0 || since_us >= SECOND_US)
		append_mark(j);
}

static void append(struct commit_log *log, const struct record_command *command)
{
	struct journal *j = journal_of(log);

	if (j->pending.len == 0)
		begin_pending(j);
	record_append_command(&j->pending, j->salt, ++log->last, command);
}

static void append_group(struct commit_log *log, struct qless_str commands)
{
	struct journal *j = journal_of(log);

	if (j->pending.len == 0)
		begin_pending(j);
	record_append(&j->pending, j->salt, RECORD_COMMAND, ++log->last, commands);
}

/* Have room on the disk up to there. */
static int make_room(struct journal *j, uint64_t end)
{
	uint64_t from = max(max(j->allocated, j->zeroed), j->size);
	int rc;

	if (j->no_allocate || end <= from)
		return 0;
	rc = j->io->allocate(j->io->arg, j->fd, from, end - from + ALLOCATE_BYTES);
	if (rc == 0)
		j->allocated = end + ALLOCATE_BYTES;
	else if (!is_no_room(rc))
		j->no_allocate = true;
	return is_no_room(rc) ? rc : 0;
}

static bool admit(struct commit_log *log, size_t bytes)
{
	struct journal *j = journal_of(log);
	int rc;

	if (j->log.state != COMMIT_LOG_HEALTHY)
		return false;
	/* A file that is being ended is left alone. */
	if (j->work == WORK_ROTATE)
		return true;
	rc = make_room(j, j->size + j->writing.len + j->pending.len + log->group.commands.len +
				  bytes + ADMIT_EXTRA_BYTES);
	if (rc == 0)
		return true;
	journal_fail(j, COMMIT_LOG_FULL, rc, "making room for the log");
	return false;
}

/* ---- writing ---- */

static void describe_file(const struct journal *j, const char *doing, char to[64])
{
	snprintf(to, 64, "%s log-%08llu", doing, (unsigned long long)j->number);
}

/* What was written of a record must not stay before what is written next. */
static void handle_write_failure(struct journal *j, int rc)
{
	char doing[64];

	describe_file(j, "writing", doing);
	if (is_no_room(rc) && j->io->truncate(j->io->arg, j->fd, j->size) == 0)
		journal_fail(j, COMMIT_LOG_FULL, rc, doing);
	else
		journal_fail(j, COMMIT_LOG_FAILED, rc, doing);
	j->allocated = j->zeroed = 0;
}

/* Zeros must not get on top of records, nor behind the end that a failure gives the file. */
static void wait_for_zeros(struct journal *j)
{
	if (j->work == WORK_ZEROS)
		wait_for_helper(j);
}

void journal_write_pending(struct journal *j)
{
	size_t written;
	int rc;

	assert(j->writing.len == 0);
	if (j->pending.len > 0 && j->size + j->pending.len > j->job.zero_from)
		wait_for_zeros(j);
	if (j->pending.len == 0 || j->log.state != COMMIT_LOG_HEALTHY)
		return;
	rc = journal_write_all(j->io, j->fd, buf_data(&j->pending), j->pending.len, j->size,
			       &written);
	if (rc < 0) {
		wait_for_zeros(j);
		handle_write_failure(j, rc);
		return;
	}
	j->size += j->pending.len;
	j->second_bytes += j->pending.len;
	j->written = j->log.last;
	buf_clear(&j->pending);
	buf_shrink(&j->pending, PENDING_KEEP);
}

/* What is pending is written by the helper and not by us, because a write may have to wait for a
 * sync that is under way, or for the journal of the file system. */
static void give_pending(struct journal *j, struct job *job)
{
	struct buf empty = j->writing;
	uint64_t end, zeros_end;

	assert(empty.len == 0);
	if (j->pending.len > 0 && j->synced == j->written)
		record_set_after_sync(buf_data(&j->pending), j->salt);
	j->writing = j->pending;
	j->pending = empty;
	job->bytes = buf_str(&j->writing);
	job->offset = j->size;
	j->syncing = j->log.last;
	/* Nothing is written behind the size that a file should have, mostly. */
	end = j->size + j->writing.len;
	zeros_end = max(j->options.segment_bytes, end);
	if (j->zeroed < min(end + ZEROS_LEAST, zeros_end)) {
		job->zero_from = max(j->zeroed, end);
		job->zero_to = min(end + ZEROS_BYTES, zeros_end);
	}
}

static void start_sync(struct journal *j)
{
	j->job = (struct job){ .fd = j->fd };
	j->syncing = j->written;
	j->sync_size = j->size;
	j->sync_started_us = j->mono_us;
	if (j->options.sync == JOURNAL_SYNC_ALWAYS && j->log.state == COMMIT_LOG_HEALTHY)
		give_pending(j, &j->job);
	j->work = WORK_SYNC;
	if (!j->is_urgent || j->options.sync != JOURNAL_SYNC_ALWAYS || j->job_us > HURRY_US ||
	    j->job.zero_to > 0) {
		helper_start(j->helper, &j->job);
		return;
	}
	helper_run(j->helper, &j->job);
	finish_work(j, &j->job);
}

/* How far they should go, of which some may be there. */
static uint64_t want_zeros(const struct journal *j)
{
	uint64_t ahead = min(max(j->second_bytes, j->last_second_bytes), ZEROS_AHEAD_BYTES);

	if (j->options.sync == JOURNAL_SYNC_ALWAYS || j->log.state != COMMIT_LOG_HEALTHY ||
	    ahead < ZEROS_STEP_BYTES)
		return 0;
	return min(j->size + ahead, j->options.segment_bytes);
}

static bool zeros_are_due(const struct journal *j)
{
	return max(j->size, j->zeroed) + ZEROS_STEP_BYTES <= want_zeros(j);
}

static void start_zeros(struct journal *j)
{
	j->job = (struct job){ .fd = j->fd, .no_sync = true };
	j->job.zero_from = max(j->size, j->zeroed);
	j->job.zero_to = j->job.zero_from + ZEROS_STEP_BYTES;
	j->work = WORK_ZEROS;
	helper_start(j->helper, &j->job);
}

/* Without room on the disk there are fewer of them, and the next try is a second later. */
static void finish_zeros(struct journal *j, const struct job *job)
{
	if (job->rc < 0)
		handle_write_failure(j, job->rc);
	else
		j->zeroed = job->zeroed;
	if (j->zeroed < job->zero_to)
		j->second_bytes = j->last_second_bytes = 0;
}

static void count_seconds(struct journal *j)
{
	if (j->mono_us - j->second_us < SECOND_US)
		return;
	j->second_us = j->mono_us;
	j->last_second_bytes = j->second_bytes;
	j->second_bytes = 0;
}

/* Whether to sync once more before the file is ended, as nothing is written then, and replies wait.
 */
static bool should_sync_first(const struct journal *j)
{
	return !j->is_ending && j->options.sync != JOURNAL_SYNC_ALWAYS &&
	       j->size - j->sync_size > END_SYNC_BYTES;
}

static void start_rotation(struct journal *j)
{
	j->is_ending = false;
	j->syncing = j->written;
	j->sync_started_us = j->mono_us;
	j->job = (struct job){ .fd = j->fd, .create = true, .replace = true };
	if (j->options.sync == JOURNAL_SYNC_ALWAYS)
		j->job.create_bytes = min(ZEROS_BYTES, j->options.segment_bytes);
	journal_describe_log(j, &j->job.header, j->next_number++, j->written + 1);
	manifest_copy(&j->job.manifest, &j->manifest);
	manifest_add_log(&j->job.manifest, j->job.header.number);
	/* Give back the room that was made and not needed. Zeros are in the last file only. */
	j->job.cut = true;
	j->job.offset = j->size;
	j->allocated = j->zeroed = 0;
	j->work = WORK_ROTATE;
	helper_start(j->helper, &j->job);
}

/* A disk that is full is no reason to lose what was to be written. */
static void take_back(struct journal *j)
{
	struct buf later = j->pending;

	buf_append_str(&j->writing, buf_str(&later));
	j->pending = j->writing;
	buf_clear(&later);
	j->writing = later;
}

static void finish_write(struct journal *j, const struct job *job)
{
	if (job->reached == JOB_WRITE) {
		handle_write_failure(j, job->rc);
		if (j->log.state == COMMIT_LOG_FULL)
			take_back(j);
	} else {
		j->size += j->writing.len;
		j->written = j->syncing;
		j->zeroed = max(j->zeroed, job->zeroed);
	}
	buf_clear(&j->writing);
	buf_shrink(&j->writing, PENDING_KEEP);
}

static void finish_sync(struct journal *j, const struct job *job)
{
	char doing[64];

	if (j->writing.len > 0)
		finish_write(j, job);
	if (job->reached == JOB_WRITE)
		return;
	if (job->reached == JOB_SYNC && job->rc < 0) {
		describe_file(j, "syncing", doing);
		journal_fail(j, COMMIT_LOG_FAILED, job->rc, doing);
		return;
	}
	if (j->syncing > j->synced)
		j->synced = j->syncing;
	j->info.syncs++;
	if (job->zero_to == 0)
		j->job_us = job->write_us + job->sync_us;
	j->info.sync_us_last = (uint64_t)job->sync_us;
	if (j->info.sync_us_last > j->info.sync_us_max)
		j->info.sync_us_max = j->info.sync_us_last;
}

static void finish_rotation(struct journal *j, struct job *job)
{
	char path[JOURNAL_PATH_MAX];

	finish_sync(j, job);
	if (job->rc == 0) {
		j->io->close(j->io->arg, j->fd);
		j->fd = job->created_fd;
		j->ended_bytes += j->size;
		j->number = job->header.number;
		j->first = job->header.sequence;
		j->size = j->sync_size = RECORD_FILE_HEADER_BYTES;
		j->allocated = 0;
		j->zeroed = job->zeroed;
		manifest_done(&j->manifest);
		j->manifest = job->manifest;
		return;
	}
	manifest_done(&job->manifest);
	if (job->created_fd >= 0)
		j->io->close(j->io->arg, job->created_fd);
	if (job->unclear) {
		journal_fail(j, COMMIT_LOG_FAILED, job->rc, "replacing the manifest");
	} else if (job->reached != JOB_SYNC) {
		/* No harm is done: this file goes on, and gets longer than it should. */
		journal_log_path(path, j->options.dir, job->header.number);
		j->io->remove(j->io->arg, path);
		j->rotate_after_us = j->mono_us + SECOND_US;
		if (j->rewrite.phase == REWRITE_WANTED)
			rewrite_give_up(j, job->rc);
	}
}

static void finish_work(struct journal *j, struct job *job)
{
	enum journal_work work = j->work;

	j->work = WORK_NONE;
	switch (work) {
	case WORK_SYNC:
		finish_sync(j, job);
		break;
	case WORK_ZEROS:
		finish_zeros(j, job);
		break;
	case WORK_ROTATE:
		finish_rotation(j, job);
		if (job->rc == 0 && j->rewrite.phase == REWRITE_WANTED)
			j->rewrite.phase = REWRITE_READY;
		break;
	case WORK_SWITCH:
		rewrite_switched(j, job);
		break;
	case WORK_NONE:
		assert(0);
	}
}

/* What the helper has to tell. */
static void poll_helper(struct journal *j)
{
	struct job *job = helper_take(j->helper);

	if (job != NULL)
		finish_work(j, job);
}

static void wait_for_helper(struct journal *j)
{
	if (j->work == WORK_NONE)
		return;
	helper_wait(j->helper);
	poll_helper(j);
}

static bool sync_is_due(const struct journal *j)
{
	if (j->written == j->synced &&
	    (j->pending.len == 0 || j->options.sync != JOURNAL_SYNC_ALWAYS ||
	     j->log.state != COMMIT_LOG_HEALTHY))
		return false;
	switch (j->options.sync) {
	case JOURNAL_SYNC_ALWAYS:
		return true;
	case JOURNAL_SYNC_EVERYSEC:
		return j->mono_us - j->sync_started_us >= SECOND_US;
	case JOURNAL_SYNC_NO:
		break;
	}
	return false;
}

static bool rotation_is_due(const struct journal *j)
{
	if (j->mono_us < j->rotate_after_us)
		return false;
	return j->size >= j->options.segment_bytes || j->rewrite.phase == REWRITE_WANTED;
}

/* What is left of the room made before does not count: it was too little for somebody, who would
 * find the disk full again at once, and so each second. */
static void retry_if_full(struct journal *j)
{
	uint64_t end = j->size + j->pending.len + ADMIT_EXTRA_BYTES;

	if (j->mono_us < j->retry_after_us)
		return;
	j->retry_after_us = j->mono_us + SECOND_US;
	if (make_room(j, max(end, max(j->allocated, j->zeroed) + 1)) < 0)
		return;
	journal_set_well(j);
	journal_write_pending(j);
}

/* Nothing can be written; what is pending must not grow without bounds. */
static void limit_pending(struct journal *j)
{
	if (j->pending.len <= PENDING_MAX)
		return;
	buf_done(&j->pending);
	j->rewrite.buffered = 0;
	j->gap = true;
	journal_fail(j, COMMIT_LOG_FAILED, -ENOBUFS, "keeping what could not be written");
}

static void start_work(struct journal *j)
{
	if (j->work != WORK_NONE || j->log.state == COMMIT_LOG_FAILED)
		return;
	if (rotation_is_due(j))
		journal_write_pending(j);
	if (j->log.state == COMMIT_LOG_HEALTHY && rotation_is_due(j) && !should_sync_first(j)) {
		start_rotation(j);
	} else if (j->log.state == COMMIT_LOG_HEALTHY && rotation_is_due(j)) {
		j->is_ending = true;
		start_sync(j);
	} else if (sync_is_due(j)) {
		start_sync(j);
	} else if (zeros_are_due(j)) {
		start_zeros(j);
	}
}

static bool wants_flush(const struct commit_log *log)
{
	const struct journal *j = container_of(log, const struct journal, log);

	return j->options.sync == JOURNAL_SYNC_ALWAYS && j->pending.len >= FLUSH_BYTES &&
	       log->state == COMMIT_LOG_HEALTHY && helper_is_idle(j->helper);
}

static void flush(struct commit_log *log, const struct commit_log_turn *turn)
{
	struct journal *j = journal_of(log);

	j->mono_us = turn->mono_us;
	j->wall_us = turn->wall_us;
	j->is_urgent = turn->is_urgent;
	count_seconds(j);
	poll_helper(j);
	if (j->log.state == COMMIT_LOG_HEALTHY && j->pending.len > WAITING_MAX)
		wait_for_helper(j);
	if (j->options.sync != JOURNAL_SYNC_ALWAYS && j->work != WORK_ROTATE && j->writing.len == 0)
		journal_write_pending(j);
	if (j->log.state == COMMIT_LOG_FULL && j->work == WORK_NONE)
		retry_if_full(j);
	if (j->log.state != COMMIT_LOG_HEALTHY)
		limit_pending(j);
	rewrite_step(j);
	start_work(j);
	journal_publish(j);
}

static bool snapshot(struct commit_log *log)
{
	return journal_rewrite(journal_of(log));
}

const struct commit_log_ops journal_log_ops = {
	.admit = admit,
	.append = append,
	.append_group = append_group,
	.flush = flush,
	.wants_flush = wants_flush,
	.snapshot = snapshot,
	.complaint = complaint,
};

/* ---- the end ---- */

void journal_wait(struct journal *j)
{
	struct rewrite *r = &j->rewrite;

	while (j->log.state == COMMIT_LOG_HEALTHY || r->phase != REWRITE_NONE) {
		wait_for_helper(j);
		commit_log_flush(&j->log, &(struct commit_log_turn){ .mono_us = clock_mono_us(),
								     .wall_us = clock_wall_us() });
		if (r->phase == REWRITE_NONE && j->work == WORK_NONE && j->pending.len == 0)
			break;
		if (j->log.state == COMMIT_LOG_FULL)
			break;
		if (r->fd >= 0)
			poll(&(struct pollfd){ .fd = r->fd, .events = POLLIN }, 1, WAIT_MS);
	}
}

/* Sync, and say in a last mark that everything was: what is damaged from now on is no torn end. */
static int seal(struct journal *j)
{
	int rc;

	journal_write_pending(j);
	rc = j->io->sync(j->io->arg, j->fd);
	if (rc < 0 || j->log.state != COMMIT_LOG_HEALTHY)
		return rc;
	j->synced = j->written;
	append_mark(j);
	journal_write_pending(j);
	j->io->truncate(j->io->arg, j->fd, j->size);
	return j->log.state == COMMIT_LOG_HEALTHY ? j->io->sync(j->io->arg, j->fd) : 0;
}

static void close_log(struct journal *j, struct buf *ret_error)
{
	int rc;

	rewrite_give_up(j, -ECANCELED);
	wait_for_helper(j);
	journal_read_clocks(j);
	if (j->log.state != COMMIT_LOG_FAILED) {
		rc = seal(j);
		if (rc < 0)
			journal_fail(j, COMMIT_LOG_FAILED, rc, "syncing at the end");
	}
	if (j->log.state != COMMIT_LOG_HEALTHY && ret_error != NULL)
		buf_printf(ret_error, "the log could not be brought to a good end: %s",
			   j->complaint);
	j->io->close(j->io->arg, j->fd);
}

void journal_close(struct journal *j, struct buf *ret_error)
{
	if (j == NULL)
		return;
	if (j->fd >= 0)
		close_log(j, ret_error);
	rewriter_free(j->rewriter);
	helper_free(j->helper);
	if (j->lock_fd >= 0)
		j->io->close(j->io->arg, j->lock_fd);
	manifest_done(&j->manifest);
	buf_done(&j->pending);
	buf_done(&j->writing);
	commit_log_done(&j->log);
	free(j);
}
