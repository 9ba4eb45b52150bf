/*
 * Cutting: copy first, then a manifest without the later segments, then the cut.
 */
#include "journal/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int repair_lock(const struct journal_io *io, const char *dir, struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];
	int fd, rc;

	journal_path(path, dir, MANIFEST_LOCK);
	fd = io->open(io->arg, path, O_RDWR | O_CREAT);
	rc = fd < 0 ? fd : io->lock(io->arg, fd);
	if (rc >= 0)
		return fd;
	if (rc == -EWOULDBLOCK)
		buf_printf(ret_error, "qlessd is running and uses the directory %s: stop it first",
			   dir);
	else
		buf_printf(ret_error, "cannot lock %s: %s", path, strerror(-rc));
	if (fd >= 0)
		io->close(io->arg, fd);
	return -1;
}

bool repair_is_possible(const struct recovery *r, struct buf *ret_error)
{
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

/* Copy the bytes after `offset` to a file that has the offset in its name. */
static int keep(const struct journal_io *io, const char *path, uint64_t offset,
		struct buf *ret_kept)
{
	char copy[JOURNAL_PATH_MAX + 32];
	int from, to, rc;

	snprintf(copy, sizeof copy, "%s.cut-%" PRIu64, path, offset);
	from = io->open(io->arg, path, O_RDONLY);
	if (from < 0)
		return from == -ENOENT ? 0 : from;
	to = io->open(io->arg, copy, O_WRONLY | O_CREAT | O_TRUNC);
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

int repair_truncate(const struct journal_io *io, const char *path, uint64_t offset)
{
	int fd = io->open(io->arg, path, O_WRONLY);
	int rc = fd < 0 ? fd : io->truncate(io->arg, fd, offset);

	if (rc == 0)
		rc = io->sync(io->arg, fd);
	if (fd >= 0)
		io->close(io->arg, fd);
	return rc;
}

int repair_cut(const struct journal_io *io, const char *dir, const struct recovery *r,
	       struct buf *ret_kept, struct buf *ret_error)
{
	const struct manifest *old = &r->manifest;
	struct manifest cut = { .base = old->base, .base_sequence = old->base_sequence };
	char path[JOURNAL_PATH_MAX];
	bool unclear;
	int rc = 0;

	for (size_t i = 0; i < old->log_count && rc == 0; i++) {
		journal_log_path(path, dir, old->logs[i]);
		if (old->logs[i] <= r->damaged_file)
			manifest_add_log(&cut, old->logs[i]);
		if (old->logs[i] >= r->damaged_file)
			rc = keep(io, path, old->logs[i] == r->damaged_file ? r->damaged_offset : 0,
				  ret_kept);
	}
	if (rc == 0)
		rc = manifest_replace(&cut, io, dir, &unclear);
	journal_log_path(path, dir, r->damaged_file);
	if (rc == 0)
		rc = repair_truncate(io, path, r->damaged_offset);
	for (size_t i = 0; i < old->log_count && rc == 0; i++) {
		journal_log_path(path, dir, old->logs[i]);
		if (old->logs[i] > r->damaged_file)
			io->remove(io->arg, path);
	}
	manifest_done(&cut);
	if (rc < 0)
		buf_printf(ret_error, "cannot cut the log in %s: %s", dir, strerror(-rc));
	return rc < 0 ? -1 : 0;
}
