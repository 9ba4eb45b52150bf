/*
 * A log grows only at the end of its last segment, and a rewrite removes the files that it
 * replaces. So all files that the manifest names are opened first. An open file stays even if it is
 * removed. If a file is gone already, the manifest has been replaced, and the new one is read.
 *
 * The last segment is copied up to the place where its zeros begin at that time. That may be in the
 * middle of a record, as after a crash. Bytes that are written after that place in the meantime
 * must not be copied, because there would be a hole before them. The manifest of the copy comes
 * last.
 */
#include "journal/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "journal/repair.h"
#include "util/mem.h"

/* Number of attempts to open all files. A rewrite takes much longer than that, so the second
 * attempt nearly always succeeds. */
#define ATTEMPTS_MAX 100
/* Bytes read at a time to find the end of the records. */
#define LOOK_BYTES ((size_t)64 * 1024)

struct copy {
	const struct journal_io *io;
	const char *from;
	const char *to;
	struct manifest manifest;
	int *fds; /* of the snapshot, if there is one, and of the log segments */
	size_t count;
	struct buf *error;
};

static int complain(struct copy *c, const char *path, int rc)
{
	buf_printf(c->error, "cannot copy to %s: %s", path, strerror(-rc));
	return rc;
}

static void close_files(struct copy *c)
{
	for (size_t i = 0; i < c->count; i++)
		c->io->close(c->io->arg, c->fds[i]);
	free(c->fds);
	c->fds = NULL;
	c->count = 0;
	manifest_done(&c->manifest);
}

/* The path of the i-th file in one of the two directories. */
static void file_path(const struct copy *c, size_t i, const char *dir, char to[JOURNAL_PATH_MAX])
{
	bool has_base = c->manifest.base != 0;

	if (has_base && i == 0)
		journal_base_path(to, dir, c->manifest.base);
	else
		journal_log_path(to, dir, c->manifest.logs[i - has_base]);
}

/* -ENOENT without an error text if one of them is gone. */
static int open_files(struct copy *c)
{
	size_t count = c->manifest.log_count + (c->manifest.base != 0);
	char path[JOURNAL_PATH_MAX];

	c->fds = mem_realloc_array(NULL, count, sizeof *c->fds);
	for (c->count = 0; c->count < count; c->count++) {
		int fd;

		file_path(c, c->count, c->from, path);
		fd = c->io->open(c->io->arg, path, O_RDONLY);
		if (fd < 0 && fd != -ENOENT)
			buf_printf(c->error, "cannot read %s: %s", path, strerror(-fd));
		if (fd < 0)
			return fd;
		c->fds[c->count] = fd;
	}
	return 0;
}

static int open_source(struct copy *c)
{
	int rc = -ENOENT;

	for (int i = 0; i < ATTEMPTS_MAX && rc == -ENOENT; i++) {
		close_files(c);
		rc = manifest_read(&c->manifest, c->io, c->from, c->error);
		if (rc == -ENOENT)
			buf_printf(c->error, "there is no log in %s", c->from);
		if (rc < 0)
			return rc;
		rc = open_files(c);
	}
	if (rc == -ENOENT)
		buf_printf(c->error, "files that the manifest of %s names are missing", c->from);
	return rc;
}

/* Find the place where the zeros at the end of a file begin. The bytes before it do not change any
 * more, because bytes are written in order. */
static int find_zeros(const struct journal_io *io, int fd, uint64_t size, uint64_t *ret_offset)
{
	char *bytes = mem_alloc(LOOK_BYTES);
	uint64_t end = size;
	int rc = 0;

	while (rc == 0 && end > 0) {
		size_t len = end < LOOK_BYTES ? (size_t)end : LOOK_BYTES;
		ssize_t got = journal_read_all(io, fd, bytes, len, end - len);
		size_t left = got > 0 ? (size_t)got : 0;

		if (got < 0)
			rc = (int)got;
		while (left > 0 && bytes[left - 1] == 0)
			left--;
		end -= len - left;
		if (left > 0)
			break;
	}
	free(bytes);
	*ret_offset = end;
	return rc;
}

/* The last bytes of a record may be zeros, so the copy gets zeros up to the same size. The header
 * is read first. If it says how long the file is, the server has closed it, and all of that
 * follows. */
static int copy_bytes(struct copy *c, int from, int to)
{
	unsigned char header[RECORD_FILE_HEADER_BYTES];
	ssize_t got = journal_read_all(c->io, from, header, sizeof header, 0);
	uint64_t size, end;
	size_t written;
	int rc = got < 0 ? (int)got : c->io->size(c->io->arg, from, &size);

	if (rc == 0)
		rc = find_zeros(c->io, from, size, &end);
	if (rc == 0)
		rc = journal_copy_bytes(c->io, from, 0, end, to);
	if (rc == 0 && end < size)
		rc = c->io->truncate(c->io->arg, to, size);
	if (rc == 0)
		rc = journal_write_all(c->io, to, header, (size_t)got, 0, &written);
	return rc == 0 ? c->io->sync(c->io->arg, to) : rc;
}

static int copy_file(struct copy *c, size_t i)
{
	char path[JOURNAL_PATH_MAX];
	int rc, to;

	file_path(c, i, c->to, path);
	/* An earlier attempt that failed may have left the file. */
	c->io->remove(c->io->arg, path);
	to = journal_create_file(c->io, path);
	if (to < 0)
		return complain(c, path, to);
	rc = copy_bytes(c, c->fds[i], to);
	c->io->close(c->io->arg, to);
	return rc < 0 ? complain(c, path, rc) : 0;
}

static int check_target(struct copy *c)
{
	char path[JOURNAL_PATH_MAX];
	int fd;

	journal_path(path, c->to, MANIFEST_NAME);
	fd = c->io->open(c->io->arg, path, O_RDONLY);
	if (fd < 0)
		return fd == -ENOENT ? 0 : complain(c, path, fd);
	c->io->close(c->io->arg, fd);
	buf_printf(c->error, "there is a log in %s already", c->to);
	return -EEXIST;
}

/* Read the copy with its new manifest, cut off a torn end, and close the copy. */
static int make_whole(struct copy *c, struct recovery *r)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_target no_target = { 0 };
	char path[JOURNAL_PATH_MAX];
	int rc = recovery_run(r, c->io, c->to, &all, &no_target, c->error);

	if (rc < 0)
		return rc;
	journal_log_path(path, c->to, r->tail.number);
	rc = repair_end_segment(c->io, path, &r->tail, r->tail_size);
	return rc < 0 ? complain(c, path, rc) : 0;
}

static int copy_all(struct copy *c, struct recovery *r)
{
	char path[JOURNAL_PATH_MAX];
	bool unclear;
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++)
		rc = copy_file(c, i);
	if (rc < 0)
		return rc;
	journal_path(path, c->to, MANIFEST_NAME);
	rc = manifest_replace(&c->manifest, c->io, c->to, &unclear);
	if (rc < 0)
		return complain(c, path, rc);
	rc = make_whole(c, r);
	if (rc < 0)
		c->io->remove(c->io->arg, path);
	return rc;
}

int copy_log(const struct journal_io *io, const char *from, const char *to,
	     struct recovery *ret_recovery, struct buf *ret_error)
{
	struct copy c = { .io = io, .from = from, .to = to, .error = ret_error };
	int rc = 0;

	*ret_recovery = (struct recovery){ 0 };
	if (journal_check_dir(from) < 0 || journal_check_dir(to) < 0) {
		buf_printf(ret_error, "the name of a directory is too long");
		return -ENAMETOOLONG;
	}
	rc = check_target(&c);
	if (rc == 0)
		rc = open_source(&c);
	if (rc == 0)
		rc = copy_all(&c, ret_recovery);
	close_files(&c);
	return rc;
}

/* The directory belongs to the user of the server. So the marker is a new file: no link of that
 * user is followed. */
int copy_leave_marker(const struct journal_io *io, const char *dir)
{
	char path[JOURNAL_PATH_MAX], fresh[JOURNAL_PATH_MAX];
	int fd, rc;

	journal_path(path, dir, COPY_MARKER_NAME);
	journal_path(fresh, dir, COPY_MARKER_NAME ".new");
	io->remove(io->arg, fresh);
	fd = journal_create_file(io, fresh);
	if (fd < 0)
		return fd;
	rc = io->close(io->arg, fd);
	return rc == 0 ? io->rename(io->arg, fresh, path) : rc;
}
