/*
 * The helper's task: starting it, and dispatching its result.
 */
#include "journal/journal_int.h"

#include <assert.h>

void task_start(struct journal *j)
{
	helper_start(j->helper, &j->task);
}

void task_put_in_force(struct journal *j)
{
	struct disk_task *task = &j->task;
	bool has_segment = task->result.created_fd >= 0;

	manifest_done(&j->files.manifest);
	j->files.manifest = disk_task_take_manifest(task);
	if (has_segment)
		segment_enter(&j->segment, j->io, disk_task_take_fd(task), &task->create.header,
			      RECORD_FILE_HEADER_BYTES, task->result.zeroed);
	if (has_segment && j->group != NULL)
		group_begin_segment(j);
}

/* The functions called here find the journal idle. They read the result of the task, and start no
 * other one. */
static void finish(struct journal *j)
{
	struct disk_task *task = &j->task;
	enum disk_task_kind kind = task->kind;

	/* The current segment stays the same while the helper uses it. */
	assert(task->fd < 0 || task->fd == j->segment.fd);
	task->kind = DISK_TASK_NONE;
	switch (kind) {
	case DISK_TASK_SYNC:
		write_finish_sync(j, task);
		break;
	case DISK_TASK_ZEROS:
		zeros_finish(j, task);
		break;
	case DISK_TASK_ROTATE:
		rotate_finish(j, task);
		break;
	case DISK_TASK_SWITCH:
	case DISK_TASK_RESTART:
		rewrite_finish_switch(j, task);
		break;
	case DISK_TASK_VOTE:
		group_finish_vote(j, task);
		break;
	case DISK_TASK_BEGIN: /* open.c waits for its end */
	case DISK_TASK_NONE:
		assert(0);
	}
	assert(journal_is_idle(j));
	disk_task_done(task, j->io);
}

void task_run(struct journal *j)
{
	helper_run(j->helper, &j->task);
	finish(j);
}

void task_poll(struct journal *j)
{
	if (helper_take(j->helper) != NULL)
		finish(j);
}

void task_wait(struct journal *j)
{
	if (journal_is_idle(j))
		return;
	helper_wait(j->helper);
	task_poll(j);
}
