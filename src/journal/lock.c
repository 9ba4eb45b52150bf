/*
 * Two locks: on the file "lock", then on the directory.
 */
#include "journal/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "journal/manifest.h"

static int open_and_lock(const struct journal_io *io, const char *path, int flags, int *ret_fd)
{
	int rc;

	*ret_fd = io->open(io->arg, path, flags);
	if (*ret_fd < 0)
		return *ret_fd;
	rc = io->lock(io->arg, *ret_fd);
	return rc > 0 ? 0 : rc;
}

/* Some network file systems lock only files that are open for writing, which no directory is. The
 * lock on the file is all that there is then. */
static bool is_unsupported(int rc)
{
	return rc == -EBADF || rc == -EINVAL || rc == -ENOLCK || rc == -EOPNOTSUPP || rc == -ENOSYS;
}

int directory_lock_take(struct directory_lock *lock, const struct journal_io *io, const char *dir,
			struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];
	const char *what = path;
	int rc;

	*lock = DIRECTORY_LOCK_NONE;
	journal_path(path, dir, MANIFEST_LOCK);
	rc = open_and_lock(io, path, O_RDWR | O_CREAT | O_NOFOLLOW, &lock->file_fd);
	if (rc == 0) {
		what = dir;
		rc = open_and_lock(io, dir, O_RDONLY | O_DIRECTORY, &lock->dir_fd);
		if (is_unsupported(rc))
			rc = 0;
	}
	if (rc == 0)
		return 0;
	if (rc != -EWOULDBLOCK)
		buf_printf(ret_error, "cannot use the directory %s: %s: %s", dir, what,
			   strerror(-rc));
	directory_lock_release(lock, io);
	return rc;
}

void directory_lock_release(struct directory_lock *lock, const struct journal_io *io)
{
	if (lock->dir_fd >= 0)
		io->close(io->arg, lock->dir_fd);
	if (lock->file_fd >= 0)
		io->close(io->arg, lock->file_fd);
	*lock = DIRECTORY_LOCK_NONE;
}
