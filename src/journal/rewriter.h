/*
 * The rewriter: a process that makes snapshots from the files, so that the server need not fork.
 *
 * A fork takes longer the more memory the process has, and all clients wait for it. The rewriter
 * is forked before the state is loaded, so it is small. It sleeps, and forks a worker for each
 * snapshot that it is ordered to make. Both end when the owner ends.
 *
 *	owner               rewriter            worker
 *	  | ---- order ------> | ----- fork ----> |
 *	  | <------- progress and result -------- |
 *	  | <--- it is over -- | <---- exit ----- |
 */
#ifndef JOURNAL_REWRITER_H
#define JOURNAL_REWRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/base.h"
#include "journal/rebuild.h"

struct rewriter;

/* Largest size of the commands that go with an order, in bytes. It bounds memory that the processes
 * share. */
#define REWRITER_EXTRA_MAX ((size_t)16 * 1024 * 1024)

struct rewriter_report {
	uint64_t bytes; /* written so far */
	bool is_over;
	int result; /* when it is over: of rebuild_base(), or -ECHILD if the worker was killed */
	char error[256]; /* the sentence of rebuild_base() */
};

/* Fork the rewriter. The process has one thread and little memory at this time. Borrows `options`
 * and `dir`. The rewriter uses the file calls of the system. Returns NULL and sets errno on
 * failure.
 */
struct rewriter *rewriter_new(const struct rebuild_options *options, const char *dir);
/* Ends the rewriter, and its worker with it. NULL is a no-op. */
void rewriter_free(struct rewriter *r);

/* Order a snapshot. There is one order at a time. Ignores `io`, `dir` and the callback of `base`.
 * Returns 0, -EPIPE if the rewriter is gone for good, -E2BIG if `extra` is too large, or another
 * negative errno. */
int rewriter_begin(struct rewriter *r, const struct base_options *base, struct qless_str extra);
/* Get the next report. Returns false if there is none. */
bool rewriter_poll(struct rewriter *r, struct rewriter_report *ret_report);
/* Readable when there may be a report. */
int rewriter_fd(const struct rewriter *r);
/* Cancel the order. A report says when it is over. */
void rewriter_cancel(struct rewriter *r);

#endif
