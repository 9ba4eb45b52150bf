/*
 * The pid file: tells others who runs, and keeps a second daemon from starting on the same file.
 *
 * What counts is the lock on the file, which goes away with its process; a file that a crash left
 * behind is taken over. The lock is lost when the process closes any descriptor of the file, so
 * nothing else in the process should open it.
 */
#ifndef SYS_PIDFILE_H
#define SYS_PIDFILE_H

#include <sys/types.h>

#include "util/buf.h"

struct pidfile {
	char *path; /* NULL while there is none */
	int fd;
	pid_t owner;
};

#define PIDFILE_INIT     \
	{                \
		.fd = -1 \
	}

/* Create the file and write the process id. -1 with a line in `ret_error`, for example because
 * another process holds it. Copies the path. */
int pidfile_create(struct pidfile *p, const char *path, struct buf *ret_error);

/* Remove the file. Does nothing in a forked child, nor without a file. */
void pidfile_remove(struct pidfile *p);

#endif
