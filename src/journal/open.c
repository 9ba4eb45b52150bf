/*
 * Opening a log: from the files of a directory, or with a first segment in an empty one.
 */
#include "journal/journal_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "journal/sweep.h"
#include "sys/clock.h"
#include "sys/entropy.h"
#include "util/mem.h"
#include "util/minmax.h"

static int take_lock(struct journal *j, struct buf *ret_error)
{
	int rc = directory_lock_take(&j->lock, j->io, j->options.dir, ret_error);

	if (rc == -EWOULDBLOCK)
		buf_printf(ret_error, DIRECTORY_IN_USE " %s", j->options.dir);
	return rc;
}

static void start_rewriter(struct journal *j)
{
	char error[REWRITE_ERROR_MAX];

	j->rewriter = rewriter_new(j->options.rebuild, j->options.dir);
	if (j->rewriter != NULL)
		return;
	snprintf(error, sizeof error, "the rewriter process cannot be started: %s",
		 strerror(errno));
	base_process_note_error(j, error);
}

struct journal *journal_open(const struct journal_options *options, struct buf *ret_error)
{
	struct journal *j = mem_zalloc(sizeof *j);
	int rc;

	j->options = *options;
	j->io = options->io != NULL ? options->io : &journal_io_system;
	j->lock = DIRECTORY_LOCK_NONE;
	j->rewrite.process.fd = -1;
	segment_init(&j->segment);
	backlog_init(&j->backlog);
	commit_log_init(&j->log, &journal_log_ops);
	rc = journal_check_dir(options->dir);
	if (rc < 0)
		buf_printf(ret_error, "cannot use the directory %s: %s", options->dir,
			   strerror(-rc));
	else
		rc = take_lock(j, ret_error);
	if (rc < 0) {
		journal_close(j, NULL);
		return NULL;
	}
	/* The rewriter is forked before there is a thread. Without a rewriter, children write all
	 * snapshots. */
	if (options->threads && !options->no_processes && options->rebuild != NULL)
		start_rewriter(j);
	j->helper =
		helper_new(j->io, j->options.dir, options->threads, options->wake, options->arg);
	return j;
}

/* ---- the directory at the start ---- */

struct search {
	struct journal *j;
	bool found;
};

/* A first start that was interrupted may leave a log segment without records. */
static bool has_records(const struct journal *j, const char *path)
{
	uint64_t size = UINT64_MAX;
	int fd = j->io->open(j->io->arg, path, O_RDONLY);

	if (fd < 0)
		return true;
	if (j->io->size(j->io->arg, fd, &size) < 0)
		size = UINT64_MAX;
	j->io->close(j->io->arg, fd);
	return size > RECORD_FILE_HEADER_BYTES;
}

static void note_file(void *arg, const char *name)
{
	struct search *search = arg;
	char path[JOURNAL_PATH_MAX];
	uint64_t number;
	bool is_base;

	journal_path(path, search->j->options.dir, name);
	if (journal_parse_name(name, &is_base, &number) &&
	    (is_base || has_records(search->j, path)))
		search->found = true;
}

/* The log holds records up to `sequence`, and all of them are on the disk. */
static void set_positions(struct journal *j, uint64_t sequence)
{
	assert(j->segment.fd >= 0 && j->segment.header.sequence <= sequence + 1);
	j->log.last = sequence;
	j->positions = (struct positions){ .written = sequence, .synced = sequence };
	j->mark.durable = sequence;
	unsynced_init(&j->unsynced, sequence);
	journal_publish(j);
}

/* No number of a file that is there is used again, even if no manifest names the file. */
static int choose_next_number(struct journal *j, struct buf *ret_error)
{
	uint64_t highest;
	int rc = journal_find_highest(j->io, j->options.dir, &highest);

	if (rc < 0)
		buf_printf(ret_error, "cannot read the directory %s: %s", j->options.dir,
			   strerror(-rc));
	j->files.next_number = max_u64(highest, manifest_highest(&j->files.manifest)) + 1;
	return rc;
}

/* Make a segment that begins after `sequence`, and add it to the current manifest. */
static int begin_log(struct journal *j, uint64_t sequence, struct buf *ret_error)
{
	struct disk_create create = rotate_describe(j, sequence + 1);
	struct disk_task *task = &j->task;
	int rc;

	disk_task_init_begin(task, &create, &j->files.manifest);
	helper_start(j->helper, task);
	helper_wait(j->helper);
	helper_take(j->helper);
	rc = task->result.rc;
	if (rc < 0)
		buf_printf(ret_error, "cannot begin a log in the directory %s: %s", j->options.dir,
			   strerror(-rc));
	else
		task_put_in_force(j);
	disk_task_done(task, j->io);
	if (rc == 0)
		set_positions(j, sequence);
	return rc;
}

/* A directory without a manifest must not have other files of a log. */
static int check_empty(struct journal *j, struct buf *ret_error)
{
	struct search search = { .j = j };
	int rc = j->io->list(j->io->arg, j->options.dir, note_file, &search);

	if (rc < 0)
		buf_printf(ret_error, "cannot read the directory %s: %s", j->options.dir,
			   strerror(-rc));
	if (rc == 0 && search.found) {
		buf_printf(ret_error,
			   "the directory %s has log files but no manifest that says which of them "
			   "are current. To make one from the files run: qlessd-check --fix %s",
			   j->options.dir, j->options.dir);
		rc = -EBADMSG;
	}
	return rc;
}

static bool exists(const struct journal *j, const char *name)
{
	char path[JOURNAL_PATH_MAX];
	int fd;

	journal_path(path, j->options.dir, name);
	fd = j->io->open(j->io->arg, path, O_RDONLY);
	if (fd >= 0)
		j->io->close(j->io->arg, fd);
	return fd != -ENOENT;
}

static bool is_unfinished(const struct journal *j)
{
	return exists(j, MANIFEST_UNFINISHED) && !exists(j, MANIFEST_NAME);
}

/* From now on, and until there is a manifest, the files in the directory do not count. */
static int mark_unfinished(struct journal *j)
{
	char path[JOURNAL_PATH_MAX];
	int fd;

	journal_path(path, j->options.dir, MANIFEST_UNFINISHED);
	fd = j->io->open(j->io->arg, path, O_WRONLY | O_CREAT | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	j->io->close(j->io->arg, fd);
	return j->io->sync_dir(j->io->arg, j->options.dir);
}

void journal_read_clocks(struct journal *j)
{
	j->schedule.mono_us = clock_mono_us();
	j->schedule.wall_us = clock_wall_us();
}

static int begin_empty(struct journal *j, struct buf *ret_error)
{
	int rc;

	if (is_unfinished(j)) {
		buf_printf(ret_error,
			   "a recovery into the directory %s was interrupted: repeat it, or remove "
			   "the file %s to begin with an empty state",
			   j->options.dir, MANIFEST_UNFINISHED);
		return -EBADMSG;
	}
	rc = check_empty(j, ret_error);
	if (rc == 0)
		rc = choose_next_number(j, ret_error);
	if (rc < 0)
		return rc;
	j->salt = entropy_u64();
	return begin_log(j, 0, ret_error);
}

/* Open the last segment without what is torn. */
static int open_tail(struct journal *j, const struct recovery *r, const char *path)
{
	const struct journal_io *io = j->io;
	int fd = io->open(io->arg, path, O_WRONLY);
	int rc = fd < 0 ? fd : io->truncate(io->arg, fd, r->tail_size);

	if (rc == 0 && r->tail.closed_size != 0)
		rc = segment_set_closed_size(io, fd, &r->tail, 0);
	/* The bytes that were read may be only in the memory of the system. If a sync of them
	 * failed before, another sync would not write them. */
	if (rc == 0 && !r->sealed)
		rc = io->rewrite(io->arg, path, r->tail_size);
	if (rc == 0)
		rc = io->sync(io->arg, fd);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		io->close(io->arg, fd);
	return rc;
}

/* The last segment may be continued only if its format is the current one, which other programs may
 * not know, and if no record of it is lost. The comment in record.c says why. A copy that
 * qlessd-check made is closed, but the original may have gone on with the same salt. */
static bool can_continue(const struct recovery *r)
{
	uint32_t format = r->manifest.has_group ? RECORD_FORMAT_GROUP : RECORD_FORMAT_VERSION;

	return r->closed && r->sealed && r->tail.format == format;
}

/* Begin the next segment. One without records is left out of the log, so that their number stays
 * small if the process dies again and again. */
static int continue_in_new_segment(struct journal *j, const struct recovery *r,
				   struct buf *ret_error)
{
	j->salt = entropy_u64();
	if (r->tail_size == RECORD_FILE_HEADER_BYTES) {
		j->files.manifest.log_count--;
		if (j->group != NULL)
			log_index_drop_segment(&j->group->index);
	} else {
		j->files.ended_bytes += r->tail_size;
	}
	return begin_log(j, r->log_end - 1, ret_error);
}

/* Continue where the last segment ends. */
static int continue_log(struct journal *j, const struct recovery *r, struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];
	int fd, rc;

	manifest_copy(&j->files.manifest, &r->manifest);
	j->files.ended_bytes = r->log_bytes - r->tail_size;
	j->files.base_bytes = r->base_bytes;
	j->files.base_wall_us = r->base_us;
	rc = choose_next_number(j, ret_error);
	if (rc < 0)
		return rc;
	j->salt = r->tail.salt;
	journal_log_path(path, j->options.dir, r->tail.number);
	fd = open_tail(j, r, path);
	if (fd < 0) {
		buf_printf(ret_error, "cannot write to %s: %s", path, strerror(-fd));
		return fd;
	}
	if (can_continue(r)) {
		segment_enter(&j->segment, j->io, fd, &r->tail, r->tail_size, /* zeroed= */ 0);
		set_positions(j, r->log_end - 1);
		return 0;
	}
	j->io->close(j->io->arg, fd);
	return continue_in_new_segment(j, r, ret_error);
}

/* Recover, and open the group if the log has one. */
static int recover(struct journal *j, const struct recovery_target *target,
		   struct recovery *ret_recovery, struct buf *ret_error)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_target indexed = *target;
	struct log_index index;
	int rc;

	log_index_init(&index);
	indexed.index = &index;
	all.is_committed = j->options.rescue;
	rc = recovery_run(ret_recovery, j->io, j->options.dir, &all, &indexed, ret_error);
	if (rc == 0 && ret_recovery->manifest.has_group)
		rc = group_log_open(j, ret_recovery->manifest.group, &index,
				    ret_recovery->last_sequence, ret_error);
	log_index_done(&index);
	return rc;
}

int journal_recover(struct journal *j, const struct recovery_target *target,
		    struct recovery *ret_recovery, struct buf *ret_error)
{
	int rc;

	journal_read_clocks(j);
	rc = recover(j, target, ret_recovery, ret_error);
	if (rc == -ENOENT && ret_error->len == 0)
		return begin_empty(j, ret_error);
	if (rc == 0)
		rc = sweep_check(j->io, j->options.dir, ret_recovery, ret_error);
	if (rc == 0)
		rc = continue_log(j, ret_recovery, ret_error);
	if (rc < 0)
		return rc;
	sweep(&(struct sweep_options){ .io = j->io,
				       .dir = j->options.dir,
				       .current = &j->files.manifest,
				       .keep_bases = j->options.keep_bases,
				       .sequence = j->log.last,
				       .orphans = &ret_recovery->orphans });
	return 0;
}

/* Remove all files that the current manifest does not name. */
static void sweep_all(const struct journal *j)
{
	sweep(&(struct sweep_options){ .io = j->io,
				       .dir = j->options.dir,
				       .current = &j->files.manifest,
				       .sequence = UINT64_MAX });
}

/* Write the state of the owner as the first snapshot. */
static int write_first_base(struct journal *j, uint64_t sequence)
{
	struct base_options options = {
		.io = j->io,
		.dir = j->options.dir,
		.number = j->files.manifest.base,
		.sequence = sequence,
		.salt = entropy_u64(),
		.wall_us = j->schedule.wall_us,
	};
	struct base_writer w;

	base_begin(&w, &options);
	j->options.save(j->options.arg, &w);
	return base_finish(&w, &j->files.base_bytes);
}

/* From here on the directory has the mark of an unfinished log. */
static int create_log(struct journal *j, uint64_t sequence, struct buf *ret_error)
{
	int rc;

	journal_read_clocks(j);
	rc = choose_next_number(j, ret_error);
	if (rc < 0)
		return rc;
	j->salt = entropy_u64();
	j->files.manifest.base = j->files.next_number++;
	j->files.manifest.base_sequence = sequence;
	j->files.base_wall_us = j->schedule.wall_us;
	rc = write_first_base(j, sequence);
	if (rc < 0) {
		buf_printf(ret_error, "cannot write the state to the directory %s: %s",
			   j->options.dir, strerror(-rc));
		return rc;
	}
	rc = begin_log(j, sequence, ret_error);
	if (rc == 0)
		sweep_all(j);
	return rc;
}

int journal_create(struct journal *j, uint64_t sequence, struct buf *ret_error)
{
	int rc;

	/* Pieces of an interrupted attempt belong to no manifest, not even to the new one. */
	if (is_unfinished(j))
		sweep_all(j);
	rc = check_empty(j, ret_error);
	if (rc < 0)
		return rc;
	rc = mark_unfinished(j);
	if (rc < 0) {
		buf_printf(ret_error, "cannot write to the directory %s: %s", j->options.dir,
			   strerror(-rc));
		return rc;
	}
	return create_log(j, sequence, ret_error);
}
