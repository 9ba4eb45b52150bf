/*
 * Requests made once and then only patched: a request is a run of bytes in which what differs from
 * one time to the next has a fixed place and a fixed width.
 */
#ifndef BENCHMARK_REQUEST_H
#define BENCHMARK_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define REQUEST_JID_BYTES    ((size_t)32)
#define REQUEST_QUEUE_BYTES  ((size_t)21)
#define REQUEST_WORKER_BYTES ((size_t)14)
#define REQUEST_TIME_BYTES   ((size_t)17)
#define REQUEST_NUMBER_BYTES ((size_t)10)

/* How a queue command is spelled. */
enum request_form {
	REQUEST_PLAIN,	 /* as it is: not a queue command, or a native one */
	REQUEST_QLESS,	 /* QLESS command now ... */
	REQUEST_EVALSHA, /* EVALSHA sha 0 command now ... */
};

/* What goes into the places; each has the width of above and no NUL. */
struct request_values {
	const char *jids; /* as many as the request has places for them, one behind the other */
	const char *queue;
	const char *worker;
	const char *time;
	const char *number;
};

struct request {
	struct buf bytes;
	struct request_patch *patches;
	size_t patch_count, patch_cap;
	size_t arg_count;
};

/* All zero is one that has not been begun. */
void request_done(struct request *r);

/* Begin a request. `sha` is that of the script, for REQUEST_EVALSHA. */
void request_begin(struct request *r, enum request_form form, const char *sha, const char *command);
/* Append an argument. In it %j stands for the next jid, %q for the queue, %w for the worker, %t for
 * the time, %n for the number. */
void request_add(struct request *r, const char *arg);
/* Several of them, up to NULL. */
void request_add_all(struct request *r, const char *const *args);
/* All arguments are there. */
void request_end(struct request *r);

/* Append the request to `out`. */
void request_write(const struct request *r, const struct request_values *values, struct buf *out);

#endif
