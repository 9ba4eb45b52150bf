/*
 * From one segment to the next.
 *
 * One task of the helper ends the segment: it cuts off the zeros, syncs, makes the next segment
 * with its header, and makes a manifest current that names both. No record is written until then.
 * So the next segment begins right after the last durable record, and only the last segment can
 * have a torn end.
 */
#include "journal/journal_int.h"

#include <assert.h>
#include <errno.h>

#include "engine/state.h"
#include "sys/entropy.h"

/* Largest number of unsynced bytes with which a segment is ended. Replies wait while that happens,
 * so with more bytes there is one more sync first, during which the loop goes on writing. */
#define END_SYNC_BYTES ((uint64_t)1024 * 1024)

struct disk_create rotate_describe(struct journal *j, uint64_t sequence)
{
	return (struct disk_create){
		.header = { .kind = RECORD_FILE_LOG,
			    .format =
				    j->group != NULL ? RECORD_FORMAT_GROUP : RECORD_FORMAT_VERSION,
			    .engine = STATE_VERSION,
			    .number = j->files.next_number++,
			    .sequence = sequence,
			    .salt = j->salt,
			    .created_us = j->schedule.wall_us },
	};
}

bool rotate_is_due(const struct journal *j)
{
	if (j->schedule.mono_us < j->schedule.rotate_after_us)
		return false;
	return j->segment.size >= j->options.segment_bytes || j->rewrite.phase == REWRITE_WANTED;
}

static bool should_sync_first(const struct journal *j)
{
	return !j->schedule.is_ending && j->options.sync != JOURNAL_SYNC_ALWAYS &&
	       j->segment.size - j->segment.synced_size > END_SYNC_BYTES;
}

/* Make the task that ends the segment, and begins one with that header. */
static void init_task(struct journal *j, struct disk_create *create)
{
	j->schedule.is_ending = false;
	write_begin_syncing(j, j->positions.written);
	j->schedule.sync_began_us = j->schedule.mono_us;
	create->zero_to = zeros_of_new_segment(j);
	disk_task_init_rotate(&j->task, j->segment.fd, j->segment.size, create, &j->files.manifest);
	segment_forget_room(&j->segment);
	if (j->group != NULL)
		j->group->term = 0;
}

void rotate_start(struct journal *j)
{
	struct disk_create create;

	assert(journal_is_healthy(j) && backlog_bytes(&j->backlog) == 0);
	if (should_sync_first(j)) {
		j->schedule.is_ending = true;
		write_start_sync(j);
		return;
	}
	create = rotate_describe(j, j->positions.written + 1);
	init_task(j, &create);
	task_start(j);
}

int rotate_replace(struct journal *j, uint64_t from)
{
	struct disk_create create = rotate_describe(j, from);

	assert(journal_is_healthy(j) && backlog_bytes(&j->backlog) == 0);
	/* No entry that is replaced appears in a segment with this salt: see record.c. */
	create.header.salt = entropy_u64();
	j->group->replaces = from;
	init_task(j, &create);
	task_run(j);
	j->group->replaces = 0;
	if (j->segment.header.number != create.header.number)
		return journal_is_healthy(j) ? -EAGAIN : -EIO;
	j->salt = create.header.salt;
	return 0;
}

/* No harm is done: the segment continues and exceeds its size limit. */
static void try_again_later(struct journal *j, const struct disk_task *task)
{
	char path[JOURNAL_PATH_MAX];

	journal_log_path(path, j->options.dir, task->create.header.number);
	/* A file that was there before is left alone. */
	if (task->result.created_fd >= 0)
		j->io->remove(j->io->arg, path);
	j->schedule.rotate_after_us = j->schedule.mono_us + SECOND_US;
	if (j->rewrite.phase == REWRITE_WANTED)
		rewrite_give_up(j, task->result.rc);
}

void rotate_finish(struct journal *j, struct disk_task *task)
{
	write_finish_sync(j, task);
	if (!disk_task_has_failed(task)) {
		j->files.ended_bytes += j->segment.size;
		if (j->group != NULL)
			log_index_end_segment(&j->group->index, j->segment.size);
		task_put_in_force(j);
		rewrite_note_rotation(j);
	} else if (task->result.is_unclear) {
		health_fail(j, COMMIT_LOG_FAILED, task->result.rc, "replacing the manifest");
	} else if (task->result.reached != DISK_STEP_SYNC) {
		try_again_later(j, task);
	}
}
