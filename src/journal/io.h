/*
 * The file calls of the log, as a table of functions. The daemon uses those of the system. Tests
 * use a disk in memory that fails and forgets on purpose.
 *
 * Calls return 0, a count or a file descriptor, or a negative errno. They repeat a system call that
 * was interrupted. Paths are relative to the working directory.
 */
#ifndef JOURNAL_IO_H
#define JOURNAL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Called with each name in a directory, except "." and "..". */
typedef void journal_name_fn(void *arg, const char *name);

struct journal_io {
	void *arg; /* first argument of every call */
	/* `flags` of open(2); O_CLOEXEC is added. */
	int (*open)(void *arg, const char *path, int flags);
	int (*close)(void *arg, int fd);
	/* May write or read fewer bytes than asked for. No write starts far after the end of the
	 * file. */
	ssize_t (*write)(void *arg, int fd, const void *bytes, size_t len, uint64_t offset);
	ssize_t (*read)(void *arg, int fd, void *to, size_t len, uint64_t offset);
	int (*size)(void *arg, int fd, uint64_t *ret_size);
	int (*truncate)(void *arg, int fd, uint64_t size);
	/* Reserve disk space for a range of the file without changing its size. -EOPNOTSUPP if the
	 * file system cannot do that. */
	int (*allocate)(void *arg, int fd, uint64_t offset, uint64_t len);
	/* -ENOENT if the file has no name any more: its content is lost when the process ends. */
	int (*sync)(void *arg, int fd);
	/* Read the first `size` bytes of a file, write them again and sync. A failed sync leaves
	 * pages in memory that later syncs take for written. */
	int (*rewrite)(void *arg, const char *path, uint64_t size);
	int (*sync_dir)(void *arg, const char *path);
	int (*rename)(void *arg, const char *from, const char *to);
	int (*remove)(void *arg, const char *path);
	int (*list)(void *arg, const char *path, journal_name_fn *each, void *each_arg);
	/* Lock out other processes until the file descriptor is closed. -EWOULDBLOCK if another
	 * process holds the lock and does not release it. */
	int (*lock)(void *arg, int fd);
};

/* The system's. */
extern const struct journal_io journal_io_system;

/* Whether a call failed because the disk is full. */
bool journal_is_disk_full(int rc);

/* Create a file for writing. -EEXIST if the name is taken, even by a symbolic link that leads
 * nowhere: nothing that this program has not made is written to. */
int journal_create_file(const struct journal_io *io, const char *path);

/* Write all bytes, in several calls if necessary. *ret_written is the number of bytes written. */
int journal_write_all(const struct journal_io *io, int fd, const void *bytes, size_t len,
		      uint64_t offset, size_t *ret_written);

/* Read `len` bytes, or fewer at the end of the file. Returns the count. */
ssize_t journal_read_all(const struct journal_io *io, int fd, void *to, size_t len,
			 uint64_t offset);

/* Copy the bytes of `from` between `offset` and `end` to the beginning of `to`. Stops early at the
 * end of `from`. */
int journal_copy_bytes(const struct journal_io *io, int from, uint64_t offset, uint64_t end,
		       int to);

#endif
