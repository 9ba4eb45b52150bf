/*
 * Work that a child process does: it reads the state as it was at the fork, while the server goes
 * on.
 *
 * The client of the command waits (waiting.h) until the child has ended. One child at a time does
 * such work. If the client ends first, the child is killed.
 *
 * A fork takes 8 to 18 ms for each half gigabyte in use, and all clients wait for it. So this is
 * for operators' commands that would take seconds.
 */
#ifndef SERVER_CHILD_WORK_H
#define SERVER_CHILD_WORK_H

#include <sys/types.h>

#include "command/request.h"
#include "util/buf.h"

struct event;
struct server;
struct waiting;

struct child_work {
	pid_t pid; /* 0: there is no child */
	int fd;
	struct event *event;
	struct buf output;
	struct waiting *waiting; /* NULL: its client has ended */
};

void child_work_init(struct server *s);
void child_work_done(struct server *s);

/* For struct command_env: called by work for the client of the request. */
const char *child_work_start(void *arg, const struct request *req, child_work_fn *fn);

/* The client of the waiting command ends: kills the child. */
void child_work_abandon(struct server *s);

#endif
