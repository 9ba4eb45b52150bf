/*
 * Connections, and synchronous calls before and after the load.
 */
#ifndef BENCHMARK_CONTROL_H
#define BENCHMARK_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "benchmark/options.h"
#include "benchmark/reply.h"
#include "util/buf.h"

struct control {
	int fd;
	bool is_local; /* the server is on this machine */
	struct buf in; /* only the last reply */
	/* reply_scan(), or that of another protocol. */
	ptrdiff_t (*scan)(struct qless_str bytes, struct reply *ret_reply);
};

/* Connect, authenticate, and select the database. Returns 0, or -1 with a line in `error`. In both
 * cases control_done() frees it. */
int control_open(struct control *c, const struct options *options, struct buf *error);
void control_done(struct control *c);

/* Gives the socket to the caller, which closes it. No more calls are possible. */
int control_release(struct control *c);

/* Send the bytes of one request and wait for its reply, which is valid until the next call. Returns
 * 0, or -1 with a line in `error`, also for a reply that is an error. */
int control_send(struct control *c, struct qless_str request, struct reply *ret_reply,
		 struct buf *error);

/* control_send() for words, the last one followed by NULL. */
int control_call(struct control *c, const char *const *words, struct reply *ret_reply,
		 struct buf *error);
#define CONTROL_CALL(c, ret_reply, error, ...) \
	control_call(c, (const char *const[]){ __VA_ARGS__, NULL }, ret_reply, error)

#endif
