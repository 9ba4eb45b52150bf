/*
 * The rebuilder: a thread that makes one snapshot from the files.
 *
 * It stands in for the rewriter (rewriter.h) in a program that qlessd's log is a part of. Such a
 * program may have any number of threads, so it must not be forked. The thread takes as much memory
 * as the state while it runs, because it builds the state a second time.
 */
#ifndef JOURNAL_REBUILDER_H
#define JOURNAL_REBUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/base.h"
#include "journal/rebuild.h"

struct rebuilder;

/* Start the thread. Borrows `options` and the directory of `base`, and copies the rest. Ignores
 * `io` and the callback of `base`: the thread uses the file calls of the system. Returns NULL and
 * sets errno on failure. */
struct rebuilder *rebuilder_start(const struct rebuild_options *options,
				  const struct base_options *base, struct qless_str extra);
/* Cancels it, and waits until the thread has ended. NULL is a no-op. */
void rebuilder_free(struct rebuilder *r);

/* Readable once the thread has ended. */
int rebuilder_fd(const struct rebuilder *r);
/* Returns the bytes written so far. */
uint64_t rebuilder_bytes(const struct rebuilder *r);
/* Returns whether the thread has ended. Then *ret_result is that of rebuild_base(). */
bool rebuilder_is_over(const struct rebuilder *r, int *ret_result);
/* Returns the sentence of rebuild_base(), once the thread has ended. */
const char *rebuilder_error(struct rebuilder *r);
/* Its next read or write fails with -ECANCELED. */
void rebuilder_cancel(struct rebuilder *r);

#endif
