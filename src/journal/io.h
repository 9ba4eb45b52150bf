/*
 * The file calls of the log, as a table of functions: the system's in the daemon, a disk that fails
 * and forgets on purpose in tests.
 *
 * Calls return 0, a count or a descriptor, or a negative errno. A call that was interrupted has
 * been tried again. Paths are relative to the working directory.
 */
#ifndef JOURNAL_IO_H
#define JOURNAL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Called with each name in a directory but "." and "..". */
typedef void journal_name_fn(void *arg, const char *name);

struct journal_io {
	void *arg; /* first argument of every call */
	/* `flags` of open(2); O_CLOEXEC is added. */
	int (*open)(void *arg, const char *path, int flags);
	int (*close)(void *arg, int fd);
	/* May write or read less than asked for. Nothing is written far behind the end of a file.
	 */
	ssize_t (*write)(void *arg, int fd, const void *bytes, size_t len, uint64_t offset);
	ssize_t (*read)(void *arg, int fd, void *to, size_t len, uint64_t offset);
	int (*size)(void *arg, int fd, uint64_t *ret_size);
	int (*truncate)(void *arg, int fd, uint64_t size);
	/* Make sure that there is room on the disk up to there, without changing the size of the
	 * file. -EOPNOTSUPP where that cannot be had. */
	int (*allocate)(void *arg, int fd, uint64_t offset, uint64_t len);
	/* -ENOENT if no name leads to the file any more: what is in it goes with the process. */
	int (*sync)(void *arg, int fd);
	/* Write the first `size` bytes of a file once more, as they are read, and sync them. A sync
	 * that fails leaves bytes in the system's memory that later ones take for written. */
	int (*rewrite)(void *arg, const char *path, uint64_t size);
	int (*sync_dir)(void *arg, const char *path);
	int (*rename)(void *arg, const char *from, const char *to);
	int (*remove)(void *arg, const char *path);
	int (*list)(void *arg, const char *path, journal_name_fn *each, void *each_arg);
	/* Keep other processes out until the descriptor is closed; -EWOULDBLOCK if one is in, and
	 * stays. */
	int (*lock)(void *arg, int fd);
};

/* The system's. */
extern const struct journal_io journal_io_system;

/* Whether a call failed because the disk is full. */
bool journal_is_disk_full(int rc);

/* Write everything; short writes are gone on with. *ret_written is how much made it. */
int journal_write_all(const struct journal_io *io, int fd, const void *bytes, size_t len,
		      uint64_t offset, size_t *ret_written);

/* Read up to `len` bytes; fewer only at the end of the file. */
ssize_t journal_read_all(const struct journal_io *io, int fd, void *to, size_t len,
			 uint64_t offset);

/* Write to the beginning of `to` what is in `from` between two places, or to its end if that comes
 * before. */
int journal_copy_bytes(const struct journal_io *io, int from, uint64_t offset, uint64_t end,
		       int to);

#endif
