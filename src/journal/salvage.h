/*
 * Making a manifest again from the headers of the files. They say which records each file holds, so
 * a log whose manifest is lost, damaged or an old one is not lost.
 */
#ifndef JOURNAL_SALVAGE_H
#define JOURNAL_SALVAGE_H

#include "journal/io.h"
#include "journal/recover.h"
#include "util/buf.h"

/* Find the manifest that leads to the end of the log: a complete snapshot, if there is one, and the
 * segments after it. Each one is tried by reading all of its files. Returns 0 with what was
 * recovered, or -EBADMSG or another negative errno with a line in `ret_error`. With -EBADMSG and
 * `damaged`, the best manifest leads to a damaged segment that can be cut. `ret_unreadable` gets
 * the names of files whose headers cannot be read, one a line: they may hold more. The caller calls
 * recovery_done() in either case. */
int salvage_find(struct recovery *ret_recovery, const struct journal_io *io, const char *dir,
		 struct buf *ret_unreadable, struct buf *ret_error);

#endif
