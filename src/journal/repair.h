/*
 * Cutting a log off where it is damaged.
 */
#ifndef JOURNAL_REPAIR_H
#define JOURNAL_REPAIR_H

#include "journal/io.h"
#include "journal/recover.h"
#include "util/buf.h"

/* Take the lock of a directory; a descriptor to be closed, or -1 with a line in `ret_error`. */
int repair_lock(const struct journal_io *io, const char *dir, struct buf *ret_error);

/* Whether cutting makes the log whole, after a recovery that found damage. If not, a line in
 * `ret_error` says why. */
bool repair_is_possible(const struct recovery *r, struct buf *ret_error);

/* Cut the log off at the damage that `r` tells of. What is cut, all later files included, is first
 * copied to files of the same names with ".cut-<offset>" behind them, which are listed in
 * `ret_kept`, one a line. Returns 0, or -1 with a line in `ret_error`; the log is then as it was,
 * or cut. */
int repair_cut(const struct journal_io *io, const char *dir, const struct recovery *r,
	       struct buf *ret_kept, struct buf *ret_error);

/* Cut a file off, and sync it. 0 or a negative errno. */
int repair_truncate(const struct journal_io *io, const char *path, uint64_t offset);

#endif
