/*
 * Requests that are built once and then patched: the parts that change have a fixed place and
 * width.
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

/* How a queue command is written. */
enum request_form {
	REQUEST_PLAIN,	 /* unchanged: a native command, or not a queue command */
	REQUEST_QLESS,	 /* QLESS command now ... */
	REQUEST_EVALSHA, /* EVALSHA sha 0 command now ... */
};

/* The values of the places; each has the width defined above and no NUL. */
struct request_values {
	const char *jids; /* one for each of its places in the request, without separators */
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

/* A zeroed struct is a request that was not started. */
void request_done(struct request *r);

/* Starts a request. `sha` is that of the script, for REQUEST_EVALSHA. */
void request_begin(struct request *r, enum request_form form, const char *sha, const char *command);
/* Appends an argument. Places in it are %j for the next jid, %q for the queue, %w for the worker,
 * %t for the time and %n for the number. */
void request_add(struct request *r, const char *arg);
/* Appends arguments; NULL ends them. */
void request_add_all(struct request *r, const char *const *args);
/* Starts a request of a server that speaks another protocol: it has only the bytes of
 * request_add_text(), and needs no request_end(). */
void request_begin_text(struct request *r);
/* Appends bytes with places. */
void request_add_text(struct request *r, const char *text);
/* Completes the request. */
void request_end(struct request *r);

/* Append the request to `out`. */
void request_write(const struct request *r, const struct request_values *values, struct buf *out);

#endif
