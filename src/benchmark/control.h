/*
 * Connections: how one is made, and calls that wait for their reply, for what is done before and
 * after the load.
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
	struct buf in; /* the last reply, and nothing else */
};

/* Connect, authenticate, and select the database. Returns 0, or -1 with a line about it in `error`.
 * Either way control_done() frees it. */
int control_open(struct control *c, const struct options *options, struct buf *error);
void control_done(struct control *c);

/* Give the socket away, which then is the caller's to close; no more calls. */
int control_release(struct control *c);

/* Send bytes, which are one request, and wait for its reply, which is good until the next call.
 * Returns 0, or -1 with a line in `error`, also if the reply is an error. */
int control_send(struct control *c, struct qless_str request, struct reply *ret_reply,
		 struct buf *error);

/* The same for words, up to NULL. */
int control_call(struct control *c, const char *const *words, struct reply *ret_reply,
		 struct buf *error);
#define CONTROL_CALL(c, ret_reply, error, ...) \
	control_call(c, (const char *const[]){ __VA_ARGS__, NULL }, ret_reply, error)

#endif
