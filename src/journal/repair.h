/*
 * Cutting off a log where it is damaged.
 */
#ifndef JOURNAL_REPAIR_H
#define JOURNAL_REPAIR_H

#include "journal/io.h"
#include "journal/lock.h"
#include "journal/recover.h"
#include "util/buf.h"

/* Lock a directory. Returns 0, or a negative errno with a line in `ret_error`. The caller releases
 * the lock in either case. */
int repair_lock(struct directory_lock *lock, const struct journal_io *io, const char *dir,
		struct buf *ret_error);

/* After a recovery that found damage: returns whether cutting makes the log whole. If not, a line
 * in `ret_error` says why. */
bool repair_is_possible(const struct recovery *r, struct buf *ret_error);

/* Cut off the log at the damage that `r` reports. First the bytes to cut are copied to a file of
 * the same name with ".cut-<offset>" appended, and later segments are renamed in the same way.
 * `ret_kept` gets their names, one a line. Returns 0, or -1 with a line in `ret_error`. After a
 * failure, or a crash in the middle, the same call finishes the cut. */
int repair_cut(const struct journal_io *io, const char *dir, const struct recovery *r,
	       struct buf *ret_kept, struct buf *ret_error);

/* Replace the manifest by that of a recovery which salvage_find() has made. A copy of the old one
 * is kept, and `ret_kept` gets its name. Returns 0, or -1 with a line in `ret_error`. */
int repair_manifest(const struct journal_io *io, const char *dir, const struct recovery *r,
		    struct buf *ret_kept, struct buf *ret_error);

/* End a log segment that has that header at an offset, as if it had been closed there. 0 or a
 * negative errno. */
int repair_end_segment(const struct journal_io *io, const char *path,
		       const struct record_file_header *header, uint64_t offset);

#endif
