/*
 * The steps of disk tasks, and the table of which kind has which steps.
 */
#include "journal/disk_task.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "journal/kept.h"
#include "journal/sweep.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Zeros are written in pieces of this many bytes. A thread that writes to the same file waits for
 * one piece. */
#define ZERO_BYTES ((size_t)64 * 1024)

/* ---- constructors ---- */

static void init(struct disk_task *task, enum disk_task_kind kind, int fd)
{
	assert(task->kind == DISK_TASK_NONE);
	*task = (struct disk_task){ .kind = kind, .fd = fd, .result = { .created_fd = -1 } };
}

void disk_task_init_sync(struct disk_task *task, int fd, const struct disk_write *write)
{
	assert(fd >= 0);
	init(task, DISK_TASK_SYNC, fd);
	task->write = *write;
}

void disk_task_init_zeros(struct disk_task *task, int fd, uint64_t from, uint64_t to)
{
	assert(fd >= 0 && from < to);
	init(task, DISK_TASK_ZEROS, fd);
	task->write.zero_from = from;
	task->write.zero_to = to;
}

static void add_segment(struct disk_task *task, const struct disk_create *create)
{
	assert(create->header.kind == RECORD_FILE_LOG);
	task->create = *create;
	manifest_add_log(&task->replace.manifest, create->header.number);
}

void disk_task_init_rotate(struct disk_task *task, int fd, uint64_t size,
			   const struct disk_create *create, const struct manifest *current)
{
	assert(fd >= 0 && size >= RECORD_FILE_HEADER_BYTES);
	init(task, DISK_TASK_ROTATE, fd);
	task->write.offset = size;
	manifest_copy(&task->replace.manifest, current);
	add_segment(task, create);
}

void disk_task_init_begin(struct disk_task *task, const struct disk_create *create,
			  const struct manifest *current)
{
	init(task, DISK_TASK_BEGIN, -1);
	manifest_copy(&task->replace.manifest, current);
	add_segment(task, create);
}

static void set_replace(struct disk_task *task, const struct disk_replace *replace)
{
	assert(replace->obsolete != NULL && replace->manifest.base > replace->obsolete->base);
	task->replace = *replace;
	manifest_copy(&task->replace.manifest, &replace->manifest);
}

void disk_task_init_switch(struct disk_task *task, int fd, const struct disk_replace *replace)
{
	assert(fd >= 0 && replace->manifest.log_count > 0);
	init(task, DISK_TASK_SWITCH, fd);
	set_replace(task, replace);
}

void disk_task_init_restart(struct disk_task *task, const struct disk_create *create,
			    const struct disk_replace *replace)
{
	assert(replace->manifest.log_count == 0);
	init(task, DISK_TASK_RESTART, -1);
	set_replace(task, replace);
	add_segment(task, create);
}

void disk_task_init_vote(struct disk_task *task, const struct vote *vote)
{
	init(task, DISK_TASK_VOTE, -1);
	task->vote = *vote;
}

struct manifest disk_task_take_manifest(struct disk_task *task)
{
	struct manifest manifest = task->replace.manifest;

	task->replace.manifest = (struct manifest){ 0 };
	return manifest;
}

int disk_task_take_fd(struct disk_task *task)
{
	int fd = task->result.created_fd;

	assert(fd >= 0);
	task->result.created_fd = -1;
	return fd;
}

void disk_task_done(struct disk_task *task, const struct journal_io *io)
{
	if (task->result.created_fd >= 0)
		io->close(io->arg, task->result.created_fd);
	if (task->replace.manifest.logs != NULL)
		manifest_done(&task->replace.manifest);
	task->result.created_fd = -1;
	task->kind = DISK_TASK_NONE;
}

/* ---- steps ---- */

struct disk {
	const struct journal_io *io;
	const char *dir;
	int64_t began_us;
};

/* A disk without space gets fewer zeros, or none. That is no failure. */
static int write_zeros(const struct disk *disk, struct disk_result *result, int fd, uint64_t from,
		       uint64_t to)
{
	char *zeros;
	size_t written;
	int rc = 0;

	if (from >= to)
		return 0;
	zeros = mem_zalloc(ZERO_BYTES);
	for (result->zeroed = from; rc == 0 && result->zeroed < to; result->zeroed += written) {
		uint64_t left = to - result->zeroed;

		rc = journal_write_all(disk->io, fd, zeros,
				       left < ZERO_BYTES ? (size_t)left : ZERO_BYTES,
				       result->zeroed, &written);
	}
	free(zeros);
	return journal_is_disk_full(rc) ? 0 : rc;
}

static int do_write(struct disk_task *task, const struct disk *disk)
{
	const struct disk_write *write = &task->write;
	size_t written;
	int rc = 0;

	if (write->records.len > 0)
		rc = journal_write_all(disk->io, task->fd, write->records.ptr, write->records.len,
				       write->offset, &written);
	if (rc == 0)
		rc = write_zeros(disk, &task->result, task->fd, write->zero_from, write->zero_to);
	task->result.write_us = clock_mono_us() - disk->began_us;
	return rc;
}

static int do_cut(struct disk_task *task, const struct disk *disk)
{
	int rc = disk->io->truncate(disk->io->arg, task->fd, task->write.offset);

	task->result.write_us = clock_mono_us() - disk->began_us;
	return rc;
}

static int do_sync(struct disk_task *task, const struct disk *disk)
{
	int rc = disk->io->sync(disk->io->arg, task->fd);

	task->result.sync_us = clock_mono_us() - disk->began_us - task->result.write_us;
	return rc;
}

static int do_create(struct disk_task *task, const struct disk *disk)
{
	const struct journal_io *io = disk->io;
	unsigned char header[RECORD_FILE_HEADER_BYTES];
	char path[JOURNAL_PATH_MAX];
	size_t written;
	int fd, rc;

	journal_log_path(path, disk->dir, task->create.header.number);
	fd = journal_create_file(io, path);
	if (fd < 0)
		return fd;
	task->result.created_fd = fd;
	record_encode_header(&task->create.header, header);
	rc = journal_write_all(io, fd, header, sizeof header, 0, &written);
	if (rc == 0)
		rc = write_zeros(disk, &task->result, fd, sizeof header, task->create.zero_to);
	return rc == 0 ? io->sync(io->arg, fd) : rc;
}

static int do_keep(struct disk_task *task, const struct disk *disk)
{
	const struct disk_replace *replace = &task->replace;

	if (replace->keep_bases == 0)
		return 0;
	return kept_write(replace->obsolete, replace->manifest.base, disk->io, disk->dir);
}

static int do_replace(struct disk_task *task, const struct disk *disk)
{
	return manifest_replace(&task->replace.manifest, disk->io, disk->dir,
				&task->result.is_unclear);
}

static int do_remove(struct disk_task *task, const struct disk *disk)
{
	struct sweep_options options = {
		.io = disk->io,
		.dir = disk->dir,
		.current = &task->replace.manifest,
		.obsolete = task->replace.obsolete,
		.keep_bases = task->replace.keep_bases,
		.sequence = task->replace.manifest.base_sequence,
	};

	sweep(&options);
	return 0;
}

static int do_vote(struct disk_task *task, const struct disk *disk)
{
	return vote_write(&task->vote, disk->io, disk->dir);
}

static int (*const steps[DISK_STEP_DONE])(struct disk_task *task, const struct disk *disk) = {
	[DISK_STEP_WRITE] = do_write,	[DISK_STEP_CUT] = do_cut,
	[DISK_STEP_SYNC] = do_sync,	[DISK_STEP_CREATE] = do_create,
	[DISK_STEP_KEEP] = do_keep,	[DISK_STEP_REPLACE] = do_replace,
	[DISK_STEP_REMOVE] = do_remove, [DISK_STEP_VOTE] = do_vote,
};

#define BIT(step) (1U << (step))

static const unsigned steps_of[] = {
	[DISK_TASK_NONE] = 0,
	[DISK_TASK_SYNC] = BIT(DISK_STEP_WRITE) | BIT(DISK_STEP_SYNC),
	[DISK_TASK_ZEROS] = BIT(DISK_STEP_WRITE),
	[DISK_TASK_ROTATE] = BIT(DISK_STEP_CUT) | BIT(DISK_STEP_SYNC) | BIT(DISK_STEP_CREATE) |
			     BIT(DISK_STEP_REPLACE),
	[DISK_TASK_BEGIN] = BIT(DISK_STEP_CREATE) | BIT(DISK_STEP_REPLACE),
	[DISK_TASK_SWITCH] = BIT(DISK_STEP_SYNC) | BIT(DISK_STEP_KEEP) | BIT(DISK_STEP_REPLACE) |
			     BIT(DISK_STEP_REMOVE),
	[DISK_TASK_RESTART] = BIT(DISK_STEP_CREATE) | BIT(DISK_STEP_KEEP) | BIT(DISK_STEP_REPLACE) |
			      BIT(DISK_STEP_REMOVE),
	[DISK_TASK_VOTE] = BIT(DISK_STEP_VOTE),
};

void disk_task_run(struct disk_task *task, const struct journal_io *io, const char *dir)
{
	struct disk disk = { io, dir, clock_mono_us() };
	struct disk_result *result = &task->result;

	assert(task->kind != DISK_TASK_NONE && result->rc == 0);
	/* The lowest bit that is left is the next step. */
	for (unsigned left = steps_of[task->kind]; left != 0; left &= left - 1) {
		result->reached = (enum disk_step)__builtin_ctz(left);
		result->rc = steps[result->reached](task, &disk);
		if (result->rc < 0)
			return;
	}
	result->reached = DISK_STEP_DONE;
}
