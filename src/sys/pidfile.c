#include "sys/pidfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/files.h"
#include "util/mem.h"

/* Attempts to lock the file if it is removed in between, which happens when another daemon is
 * ending. */
#define PIDFILE_TRIES 100

static int fail(struct buf *ret_error, const char *path, const char *what)
{
	buf_printf(ret_error, "cannot %s pid file \"%s\": %s", what, path, strerror(errno));
	return -1;
}

/* Whether the path still names the open file. */
static bool is_in_place(int fd, const char *path)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && stat(path, &named) == 0 &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Take the lock. Returns 0, or -1 with a reason. */
static int lock(int fd, const char *path, struct buf *ret_error)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &range) == 0)
		return 0;
	if (errno != EACCES && errno != EAGAIN)
		return fail(ret_error, path, "lock");
	if (fcntl(fd, F_GETLK, &range) == 0 && range.l_type != F_UNLCK)
		buf_printf(ret_error, "pid file \"%s\" is held by process %ld", path,
			   (long)range.l_pid);
	else
		buf_printf(ret_error, "pid file \"%s\" is held by another process", path);
	return -1;
}

/* Returns a descriptor of the locked file, or -1. */
static int open_locked(const char *path, struct buf *ret_error)
{
	for (int tries = 0; tries < PIDFILE_TRIES; tries++) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

		if (fd < 0)
			return fail(ret_error, path, "open");
		if (lock(fd, path, ret_error) != 0) {
			close(fd);
			return -1;
		}
		if (is_in_place(fd, path))
			return fd;
		close(fd);
	}
	errno = EBUSY;
	return fail(ret_error, path, "open");
}

int pidfile_create(struct pidfile *p, const char *path, struct buf *ret_error)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	int fd, status;

	assert(p->path == NULL);
	fd = open_locked(path, ret_error);

	if (fd < 0)
		return -1;
	status = ftruncate(fd, 0) == 0 ? 0 : -errno;
	if (status == 0)
		status = files_write_all(fd, str_make(text, (size_t)len));
	if (status != 0) {
		/* Unlink before the lock is released: later the file may belong to another daemon.
		 * */
		unlink(path);
		close(fd);
		errno = -status;
		return fail(ret_error, path, "write");
	}
	*p = (struct pidfile){ .path = mem_dup(path, strlen(path)), .fd = fd, .owner = getpid() };
	return 0;
}

void pidfile_remove(struct pidfile *p)
{
	if (p->path == NULL)
		return;
	if (p->owner == getpid() && is_in_place(p->fd, p->path))
		unlink(p->path);
	close(p->fd);
	free(p->path);
	*p = (struct pidfile)PIDFILE_INIT;
}
