/*
 * Copying a log that is in use. The copy holds the state as of some sequence number, whatever is
 * appended, started or replaced in the meantime.
 */
#ifndef JOURNAL_COPY_H
#define JOURNAL_COPY_H

#include "journal/io.h"
#include "journal/recover.h"
#include "util/buf.h"

/* The time of this file is when the log of a directory was last copied completely. */
#define COPY_MARKER_NAME "last-copy"

/*
 * Copy the log in the directory `from` to the directory `to`, which exists and holds no log. A
 * qlessd may be running in `from`. The copy is read to its end, and a record that was being written
 * is cut off, so the copy is whole.
 *
 * Returns 0, or a negative errno with a line in `ret_error`. After a failure `to` has no manifest,
 * so no program takes it for a log. `ret_recovery` describes the copied log. The caller calls
 * recovery_done() in either case.
 */
int copy_log(const struct journal_io *io, const char *from, const char *to,
	     struct recovery *ret_recovery, struct buf *ret_error);

/* Note in a directory that its log has been copied, by making COPY_MARKER_NAME anew. 0 or a
 * negative errno. */
int copy_leave_marker(const struct journal_io *io, const char *dir);

#endif
