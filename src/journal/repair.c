/*
 * Cutting: keep what is cut, then make a manifest without the later segments, then cut. Later
 * segments are renamed before the manifest changes. Otherwise a crash would leave segments that no
 * manifest names and that hold newer records.
 */
#include "journal/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "journal/segment.h"

/* Space for a path with what is appended to the name of a copy. */
#define CUT_PATH_MAX (JOURNAL_PATH_MAX + 48)
/* Largest number of copies of a segment from the same offset on. */
#define CUTS_MAX 100

int repair_lock(struct directory_lock *lock, const struct journal_io *io, const char *dir,
		struct buf *ret_error)
{
	int rc = directory_lock_take(lock, io, dir, ret_error);

	if (rc == -EWOULDBLOCK)
		buf_printf(ret_error, "qlessd is running and uses the directory %s: stop it first",
			   dir);
	return rc;
}

bool repair_is_possible(const struct recovery *r, struct buf *ret_error)
{
	if (r->manifest.has_group) {
		buf_printf(ret_error,
			   "the log belongs to a group of servers, which may rely on what would be "
			   "cut off: remove the node from its group, and let it join the group "
			   "again with an empty directory");
		return false;
	}
	if (r->damaged_file == 0) {
		buf_printf(ret_error, "cutting the log does not repair this damage: restore the "
				      "directory from a copy");
		return false;
	}
	if (r->manifest.base != 0 && r->damaged_sequence <= r->manifest.base_sequence) {
		buf_printf(ret_error,
			   "the damage is before the end of the snapshot, sequence %" PRIu64
			   ": restore the directory from a copy",
			   r->manifest.base_sequence);
		return false;
	}
	return true;
}

/* Create "<path>.cut-<offset>", or with a number appended if an earlier cut has left that file. */
static int create_copy(const struct journal_io *io, const char *path, uint64_t offset,
		       char to[CUT_PATH_MAX])
{
	int fd;

	snprintf(to, CUT_PATH_MAX, "%s.cut-%" PRIu64, path, offset);
	fd = journal_create_file(io, to);
	for (int i = 2; i <= CUTS_MAX && fd == -EEXIST; i++) {
		snprintf(to, CUT_PATH_MAX, "%s.cut-%" PRIu64 "-%d", path, offset, i);
		fd = journal_create_file(io, to);
	}
	return fd;
}

/* Rename a segment that is no longer part of the log. The new name is reserved first. */
static int move_away(const struct journal_io *io, const char *path, struct buf *ret_kept)
{
	char to[CUT_PATH_MAX];
	int fd = io->open(io->arg, path, O_RDONLY), rc;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	io->close(io->arg, fd);
	fd = create_copy(io, path, 0, to);
	if (fd < 0)
		return fd;
	io->close(io->arg, fd);
	rc = io->rename(io->arg, path, to);
	if (rc == 0)
		buf_printf(ret_kept, "%s\n", to);
	return rc;
}

/* Copy the bytes after `offset` to a file that has the offset in its name. */
static int keep(const struct journal_io *io, const char *path, uint64_t offset,
		struct buf *ret_kept)
{
	char copy[CUT_PATH_MAX];
	int from, to, rc;

	from = io->open(io->arg, path, O_RDONLY);
	if (from < 0)
		return from == -ENOENT ? 0 : from;
	to = create_copy(io, path, offset, copy);
	rc = to < 0 ? to : journal_copy_bytes(io, from, offset, UINT64_MAX, to);
	if (rc == 0)
		rc = io->sync(io->arg, to);
	io->close(io->arg, from);
	if (to >= 0)
		io->close(io->arg, to);
	if (rc == 0)
		buf_printf(ret_kept, "%s\n", copy);
	return rc;
}

/* The header says that only when everything else is on the disk. */
static int end_segment(const struct journal_io *io, int fd, const struct record_file_header *header,
		       uint64_t offset)
{
	int rc = segment_set_closed_size(io, fd, header, 0);

	if (rc == 0)
		rc = io->truncate(io->arg, fd, offset);
	if (rc == 0)
		rc = io->sync(io->arg, fd);
	if (rc == 0)
		rc = segment_set_closed_size(io, fd, header, offset);
	return rc == 0 ? io->sync(io->arg, fd) : rc;
}

int repair_end_segment(const struct journal_io *io, const char *path,
		       const struct record_file_header *header, uint64_t offset)
{
	int fd = io->open(io->arg, path, O_WRONLY);
	int rc = fd < 0 ? fd : end_segment(io, fd, header, offset);

	if (fd >= 0)
		io->close(io->arg, fd);
	return rc;
}

/* Copy and rename what is cut. `cut` gets the segments that stay. */
static int keep_rest(const struct journal_io *io, const char *dir, const struct recovery *r,
		     struct manifest *cut, struct buf *ret_kept)
{
	const struct manifest *old = &r->manifest;
	char path[JOURNAL_PATH_MAX];
	int rc = 0;

	for (size_t i = 0; i < old->log_count && rc == 0; i++) {
		journal_log_path(path, dir, old->logs[i]);
		if (old->logs[i] <= r->damaged_file)
			manifest_add_log(cut, old->logs[i]);
		if (old->logs[i] == r->damaged_file)
			rc = keep(io, path, r->damaged_offset, ret_kept);
		else if (old->logs[i] > r->damaged_file)
			rc = move_away(io, path, ret_kept);
	}
	return rc;
}

int repair_cut(const struct journal_io *io, const char *dir, const struct recovery *r,
	       struct buf *ret_kept, struct buf *ret_error)
{
	struct manifest cut = { .base = r->manifest.base,
				.base_sequence = r->manifest.base_sequence };
	char path[JOURNAL_PATH_MAX];
	bool unclear;
	int rc = keep_rest(io, dir, r, &cut, ret_kept);

	if (rc == 0)
		rc = manifest_replace(&cut, io, dir, &unclear);
	journal_log_path(path, dir, r->damaged_file);
	if (rc == 0)
		rc = repair_end_segment(io, path, &r->tail, r->damaged_offset);
	manifest_done(&cut);
	if (rc < 0)
		buf_printf(ret_error, "cannot cut the log in %s: %s", dir, strerror(-rc));
	return rc < 0 ? -1 : 0;
}

int repair_manifest(const struct journal_io *io, const char *dir, const struct recovery *r,
		    struct buf *ret_kept, struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];
	bool unclear;
	int rc;

	journal_path(path, dir, MANIFEST_NAME);
	rc = keep(io, path, 0, ret_kept);
	if (rc == 0)
		rc = manifest_replace(&r->manifest, io, dir, &unclear);
	if (rc < 0)
		buf_printf(ret_error, "cannot replace %s: %s", path, strerror(-rc));
	return rc < 0 ? -1 : 0;
}
