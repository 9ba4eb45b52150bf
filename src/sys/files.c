#include "sys/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP_BYTES ((size_t)16 * 1024)

static int read_all(int fd, size_t max_bytes, struct buf *out)
{
	size_t total = 0;

	for (;;) {
		/* Ask for one byte more than allowed, to detect a file that is too large. */
		size_t step = max_bytes - total < READ_STEP_BYTES ? max_bytes - total + 1
								  : READ_STEP_BYTES;
		char *to = buf_reserve(out, step);
		ssize_t got;

		if (to == NULL)
			return -EFBIG;
		got = read(fd, to, step);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		if ((size_t)got > max_bytes - total)
			return -EFBIG;
		buf_commit(out, (size_t)got);
		total += (size_t)got;
	}
}

int files_read(const char *path, size_t max_bytes, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t before = out->len;
	int status;

	if (fd < 0)
		return -errno;
	status = read_all(fd, max_bytes, out);
	if (status != 0)
		buf_truncate(out, before);
	close(fd);
	return status;
}

int files_write_all(int fd, struct qless_str data)
{
	while (data.len != 0) {
		ssize_t put = write(fd, data.ptr, data.len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		data.ptr += put;
		data.len -= (size_t)put;
	}
	return 0;
}

/* Permissions of a device such as /dev/null do not matter. */
bool files_is_open_to_all(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	       (st.st_mode & S_IWOTH) != 0;
}

int files_sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return -errno;
	status = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	return status;
}

int files_sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len;

	if (slash == NULL)
		return files_sync_dir(".");
	len = slash != path ? (size_t)(slash - path) : 1;
	if (len >= sizeof dir)
		return -ENAMETOOLONG;
	memcpy(dir, path, len);
	dir[len] = '\0';
	return files_sync_dir(dir);
}

/* Give the new file the attributes of the file it replaces, or `mode` if there is none. */
static int copy_attributes(int fd, const char *path, mode_t mode)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		/* Set the owner first, because changing it clears the set-id bits. */
		if ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
		    fchown(fd, st.st_uid, st.st_gid) != 0)
			return -errno;
		mode = st.st_mode & 07777;
	} else if (errno != ENOENT) {
		return -errno;
	}
	return fchmod(fd, mode) == 0 ? 0 : -errno;
}

static int write_temporary(int fd, const char *path, struct qless_str data, mode_t mode)
{
	int status = copy_attributes(fd, path, mode);

	if (status == 0)
		status = files_write_all(fd, data);
	if (status == 0 && fsync(fd) != 0)
		status = -errno;
	return status;
}

int files_replace(const char *path, struct qless_str data, mode_t mode)
{
	char target[PATH_MAX], temporary[PATH_MAX];
	int fd, len, status;

	if (realpath(path, target) == NULL) {
		if (errno != ENOENT)
			return -errno;
		len = snprintf(target, sizeof target, "%s", path);
		if (len < 0 || (size_t)len >= sizeof target)
			return -ENAMETOOLONG;
	}
	len = snprintf(temporary, sizeof temporary, "%s.XXXXXX", target);
	if (len < 0 || (size_t)len >= sizeof temporary)
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	status = write_temporary(fd, target, data, mode);
	close(fd);
	if (status == 0 && rename(temporary, target) != 0)
		status = -errno;
	if (status != 0) {
		unlink(temporary);
		return status;
	}
	return files_sync_parent(target);
}
