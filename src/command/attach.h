/*
 * Attached workers, as the commands see them: WORKER.ATTACH and its relatives.
 *
 * The server keeps the table of attached workers. Commands reach it through these functions.
 */
#ifndef COMMAND_ATTACH_H
#define COMMAND_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/str.h"

struct request;

/* The largest GRACE, in seconds: a day. */
#define ATTACH_GRACE_MAX 86400
/* The GRACE of a worker that names none, in seconds. */
#define ATTACH_GRACE_DEFAULT 5

/* Options of WORKER.ATTACH. A text that was not given has no bytes. */
struct attachment {
	struct qless_str worker;
	struct qless_str node;
	struct qless_str exclusive; /* the queue */
	double grace_s;
	int64_t pid; /* 0: not given */
};

struct attach_ops {
	/* Attaches the worker to the client of the request, and replies. */
	void (*attach)(void *arg, struct request *req, const struct attachment *attachment);
	/* Detaches the worker. Returns false if it is not attached to the client of the request,
	 * and another client has it. */
	bool (*detach)(void *arg, const struct request *req, struct qless_str worker);
};

#endif
