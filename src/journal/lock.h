/*
 * The lock of a directory: one process writes the log in it.
 *
 * The directory itself is locked, so removing a file does not open the way for a second process.
 * The file "lock" is locked first, because 0.1.0 locks only that.
 */
#ifndef JOURNAL_LOCK_H
#define JOURNAL_LOCK_H

#include "journal/io.h"
#include "util/buf.h"

/* How the error about a directory that another process has locked begins. */
#define DIRECTORY_IN_USE "another process uses the directory"

struct directory_lock {
	int file_fd; /* -1: not open */
	int dir_fd;
};

#define DIRECTORY_LOCK_NONE ((struct directory_lock){ -1, -1 })

/* Lock a directory. Returns 0, -EWOULDBLOCK if another process has the lock, or another errno.
 * Except for -EWOULDBLOCK, `ret_error` gets a line. After a failure `lock` holds nothing. */
int directory_lock_take(struct directory_lock *lock, const struct journal_io *io, const char *dir,
			struct buf *ret_error);
/* Unlock the directory. No-op if `lock` holds nothing. */
void directory_lock_release(struct directory_lock *lock, const struct journal_io *io);

#endif
