/*
 * A process that makes bases from the files, so that a large one need not fork for them.
 *
 * To fork takes the longer the more memory there is, and everybody waits for it. This process is
 * forked off while there is hardly any. It sleeps, and forks a worker for each base that it is to
 * make. Both end when the owner does.
 *
 *	owner               rewriter            worker
 *	  | ---- order ------> | ----- fork ----> |
 *	  | <--- how far it is, and the result -- |
 *	  | <--- it is over -- | <---- exit ----- |
 */
#ifndef JOURNAL_REWRITER_H
#define JOURNAL_REWRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/base.h"
#include "journal/rebuild.h"

struct rewriter;

/* The commands that go with an order take no more. */
#define REWRITER_EXTRA_MAX ((size_t)16 * 1024 * 1024)

struct rewriter_report {
	uint64_t bytes; /* that were written so far */
	bool is_over;
	int result;	 /* of rebuild_base(), then; -ECHILD: the worker was killed */
	char error[256]; /* its sentence */
};

/* To be called while the process has one thread and little memory. `options` and `dir` are
 * borrowed; the files are the system's. NULL, with the reason in errno, if that fails. */
struct rewriter *rewriter_new(const struct rebuild_options *options, const char *dir);
/* What is under way is given up. NULL is a no-op. */
void rewriter_free(struct rewriter *r);

/* Have a base made, one at a time. `io`, `dir` and the callback of `base` are of no interest.
 * Negative if it cannot be: -EPIPE if the process is gone, which does not come back; -E2BIG. */
int rewriter_begin(struct rewriter *r, const struct base_options *base, struct qless_str extra);
/* The next that there is to tell, if there is anything. */
bool rewriter_poll(struct rewriter *r, struct rewriter_report *ret_report);
/* Readable when there is. */
int rewriter_fd(const struct rewriter *r);
/* What is under way is not wanted any more. When it is over it will be told. */
void rewriter_cancel(struct rewriter *r);

#endif
