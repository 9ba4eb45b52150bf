/*
 * The pid file: it shows which process runs, and prevents a second daemon with the same file.
 *
 * Only the lock on the file matters, and it ends with its process. A file that a crash left over is
 * reused. The lock is lost when the process closes any descriptor of the file, so nothing else in
 * the process may open it.
 */
#ifndef SYS_PIDFILE_H
#define SYS_PIDFILE_H

#include <sys/types.h>

#include "util/buf.h"

struct pidfile {
	char *path; /* NULL if there is none */
	int fd;
	pid_t owner;
};

#define PIDFILE_INIT     \
	{                \
		.fd = -1 \
	}

/* Create the file and write the process id. Copies the path. Returns -1 with a line in `ret_error`
 * if it fails, for example because another process holds the lock. */
int pidfile_create(struct pidfile *p, const char *path, struct buf *ret_error);

/* Remove the file. Does nothing in a forked child, or without a file. */
void pidfile_remove(struct pidfile *p);

#endif
