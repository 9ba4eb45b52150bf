#include "embed/stopper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/mem.h"

struct qless_stopper {
	int fd; /* an eventfd, whose count is above 0 while it is stopped */
};

struct qless_stopper *qless_stopper_new(void)
{
	struct qless_stopper *stopper;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return NULL;
	stopper = mem_alloc(sizeof *stopper);
	stopper->fd = fd;
	return stopper;
}

void qless_stopper_free(struct qless_stopper *stopper)
{
	if (stopper == NULL)
		return;
	close(stopper->fd);
	free(stopper);
}

void qless_stopper_stop(struct qless_stopper *stopper)
{
	int error = errno;
	uint64_t one = 1;

	/* A full counter is above 0, too. A signal handler leaves errno as it was. */
	(void)!write(stopper->fd, &one, sizeof one);
	errno = error;
}

bool qless_stopper_is_stopped(const struct qless_stopper *stopper)
{
	struct pollfd counter = { .fd = stopper->fd, .events = POLLIN };

	return poll(&counter, 1, 0) > 0;
}

void qless_stopper_reset(struct qless_stopper *stopper)
{
	uint64_t count;

	(void)!read(stopper->fd, &count, sizeof count);
}

int stopper_fd(const struct qless_stopper *stopper)
{
	return stopper != NULL ? stopper->fd : -1;
}
