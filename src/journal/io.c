/*
 * The file calls of the system, and helpers for reading, writing and copying whole ranges.
 */
#include "journal/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/files.h"
#include "util/mem.h"

#define FILE_MODE  0640
#define COPY_BYTES ((size_t)1024 * 1024)
/* Number of attempts to get a lock. With the pause between them they take one second. */
#define LOCK_ATTEMPTS 50
#define LOCK_PAUSE_NS 20000000L

static int result(int rc)
{
	return rc < 0 ? -errno : rc;
}

static int system_open(void *arg, const char *path, int flags)
{
	int fd;

	(void)arg;
	do
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY, FILE_MODE);
	while (fd < 0 && errno == EINTR);
	return result(fd);
}

static int system_close(void *arg, int fd)
{
	(void)arg;
	return result(close(fd));
}

static ssize_t system_write(void *arg, int fd, const void *bytes, size_t len, uint64_t offset)
{
	ssize_t n;

	(void)arg;
	do
		n = pwrite(fd, bytes, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t system_read(void *arg, int fd, void *to, size_t len, uint64_t offset)
{
	ssize_t n;

	(void)arg;
	do
		n = pread(fd, to, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int system_size(void *arg, int fd, uint64_t *ret_size)
{
	struct stat st;

	(void)arg;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

static int system_truncate(void *arg, int fd, uint64_t size)
{
	int rc;

	(void)arg;
	do
		rc = ftruncate(fd, (off_t)size);
	while (rc < 0 && errno == EINTR);
	return result(rc);
}

static int system_allocate(void *arg, int fd, uint64_t offset, uint64_t len)
{
	int rc;

	(void)arg;
	do
		rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len);
	while (rc < 0 && errno == EINTR);
	return result(rc);
}

/* Sync the data and the size of a file. An error means that written bytes are lost, so only an
 * interrupted call is repeated. The system syncs a removed file without an error, so the number of
 * its names is checked. */
static int system_sync(void *arg, int fd)
{
	struct stat st;
	int rc;

	(void)arg;
	do
		rc = fdatasync(fd);
	while (rc < 0 && errno == EINTR);
	if (rc < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_nlink > 0 ? 0 : -ENOENT;
}

/* Read the first `size` bytes of a file and write them again. */
static int write_again(int fd, uint64_t size)
{
	char *bytes = mem_alloc(COPY_BYTES);
	uint64_t at = 0;
	int rc = 0;

	while (rc == 0 && at < size) {
		size_t len = size - at < COPY_BYTES ? (size_t)(size - at) : COPY_BYTES;
		ssize_t got = system_read(NULL, fd, bytes, len, at);
		ssize_t put = got > 0 ? pwrite(fd, bytes, (size_t)got, (off_t)at) : got;

		if (put > 0)
			at += (uint64_t)put;
		else if (got <= 0 || errno != EINTR)
			rc = got < 0 ? (int)got : got == 0 ? -EIO : -errno;
	}
	free(bytes);
	return rc == 0 ? system_sync(NULL, fd) : rc;
}

static int system_rewrite(void *arg, const char *path, uint64_t size)
{
	int fd = system_open(arg, path, O_RDWR);
	int rc = fd < 0 ? fd : write_again(fd, size);

	if (fd >= 0)
		close(fd);
	return rc;
}

static int system_sync_dir(void *arg, const char *path)
{
	(void)arg;
	return files_sync_dir(path);
}

static int system_rename(void *arg, const char *from, const char *to)
{
	(void)arg;
	return result(rename(from, to));
}

static int system_remove(void *arg, const char *path)
{
	(void)arg;
	return result(unlink(path));
}

static int system_list(void *arg, const char *path, journal_name_fn *each, void *each_arg)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int rc;

	(void)arg;
	if (dir == NULL)
		return -errno;
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			each(each_arg, entry->d_name);
	}
	rc = -errno;
	closedir(dir);
	return rc;
}

/* If a daemon is killed while it forks, its child holds the lock for another moment. */
static int system_lock(void *arg, int fd)
{
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	int rc = -EWOULDBLOCK;

	(void)arg;
	for (int i = 0; i < LOCK_ATTEMPTS && rc == -EWOULDBLOCK; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		rc = result(flock(fd, LOCK_EX | LOCK_NB));
	}
	return rc;
}

const struct journal_io journal_io_system = {
	.open = system_open,
	.close = system_close,
	.write = system_write,
	.read = system_read,
	.size = system_size,
	.truncate = system_truncate,
	.allocate = system_allocate,
	.sync = system_sync,
	.rewrite = system_rewrite,
	.sync_dir = system_sync_dir,
	.rename = system_rename,
	.remove = system_remove,
	.list = system_list,
	.lock = system_lock,
};

bool journal_is_disk_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT;
}

int journal_create_file(const struct journal_io *io, const char *path)
{
	return io->open(io->arg, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
}

int journal_write_all(const struct journal_io *io, int fd, const void *bytes, size_t len,
		      uint64_t offset, size_t *ret_written)
{
	const char *from = bytes;

	*ret_written = 0;
	while (*ret_written < len) {
		ssize_t n = io->write(io->arg, fd, from + *ret_written, len - *ret_written,
				      offset + *ret_written);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EIO;
		*ret_written += (size_t)n;
	}
	return 0;
}

ssize_t journal_read_all(const struct journal_io *io, int fd, void *to, size_t len, uint64_t offset)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = io->read(io->arg, fd, (char *)to + got, len - got, offset + got);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int journal_copy_bytes(const struct journal_io *io, int from, uint64_t offset, uint64_t end, int to)
{
	char *bytes = mem_alloc(COPY_BYTES);
	uint64_t begin = offset;
	int rc = 0;

	while (rc == 0 && offset < end) {
		size_t len = end - offset < COPY_BYTES ? (size_t)(end - offset) : COPY_BYTES;
		ssize_t got = journal_read_all(io, from, bytes, len, offset);
		size_t written;

		if (got == 0)
			break;
		rc = got < 0 ? (int)got
			     : journal_write_all(io, to, bytes, (size_t)got, offset - begin,
						 &written);
		offset += len;
	}
	free(bytes);
	return rc;
}
