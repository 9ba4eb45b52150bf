/*
 * Copying a log that is in use: the copy holds the state as of some sequence number, whatever is
 * appended, begun or replaced meanwhile.
 */
#ifndef JOURNAL_COPY_H
#define JOURNAL_COPY_H

#include "journal/io.h"
#include "journal/recover.h"
#include "util/buf.h"

/*
 * Copy the log in the directory `from`, with a qlessd at work in it or not, to the directory `to`,
 * which exists and holds no log. The copy is read to its end, and what was being written just then
 * is cut off, so it is whole.
 *
 * Returns 0, or a negative errno with a line in `ret_error`; then `to` has no manifest, so nobody
 * takes what is in it for a log. `ret_recovery` tells what was copied; recovery_done() is to be
 * called in any case.
 */
int copy_log(const struct journal_io *io, const char *from, const char *to,
	     struct recovery *ret_recovery, struct buf *ret_error);

#endif
