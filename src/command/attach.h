/*
 * Attached workers, as the commands see them: WORKER.ATTACH and its relatives.
 *
 * The server keeps the table of attached workers. Commands reach it through these functions.
 */
#ifndef COMMAND_ATTACH_H
#define COMMAND_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
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

/* A worker that is attached, or that waits for jobs. Texts that are missing are empty. */
struct worker_view {
	struct qless_str name;
	struct qless_str node;
	struct qless_str address; /* of its connection; empty: that has ended */
	int64_t pid;		  /* 0: not given */
	bool is_attached;
	double grace_s; /* of an attached worker */
	double since_s; /* seconds since 1970: when it attached, or its connection began */
	double idle_s;	/* since the last request of its connection */
	/* The queues: those that an attached worker listens to, or those in an array. */
	const void *listened;
	const struct qless_str *queues;
	size_t queue_count;
};

typedef void worker_view_fn(void *arg, const struct worker_view *view);

struct attach_ops {
	/* Attaches the worker to the client of the request, and replies. */
	void (*attach)(void *arg, struct request *req, const struct attachment *attachment);
	/* Detaches the worker. Returns false if it is not attached to the client of the request,
	 * and another client has it. */
	bool (*detach)(void *arg, const struct request *req, struct qless_str worker);
	/* Returns whether the worker is attached to the client of the request. */
	bool (*is_attached_here)(void *arg, const struct request *req, struct qless_str worker);
	/* Works for a tenth of a millisecond at most to make count_listeners() right. Returns
	 * whether it is: workers that have ended may still count. */
	bool (*settle_listeners)(void *arg);
	/* Returns the number of listeners of a queue. */
	size_t (*count_listeners)(void *arg, unsigned db, struct qless_str queue);
	/* Returns false if the worker is not attached. */
	bool (*find)(void *arg, unsigned db, struct qless_str worker, struct worker_view *ret_view);
	/* Visits some attached workers, or clients that wait for other workers, of a database.
	 * Returns the cursor for the next call, as in hash_scan(). */
	uint32_t (*scan_attached)(void *arg, unsigned db, uint32_t cursor, worker_view_fn *visit,
				  void *visit_arg);
	uint32_t (*scan_waiting)(void *arg, unsigned db, uint32_t cursor, worker_view_fn *visit,
				 void *visit_arg);
	/* Returns queue number `i` of a worker, below its queue_count. */
	struct qless_str (*queue_at)(const struct worker_view *view, size_t i);
};

#endif
