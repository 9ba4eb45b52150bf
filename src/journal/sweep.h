/*
 * Sweeping away stray files. stray.h says what they are.
 *
 * No file is removed that holds more than the log. If a stray segment does, the manifest is an old
 * one, and the start stops: no crash leaves that. A stray snapshot that is newer than the end of
 * the log is set aside, because it may be from a rewrite that a power failure interrupted. A file
 * that cannot be read is set aside, too. Files that are set aside have ".orphan" appended to their
 * names.
 */
#ifndef JOURNAL_SWEEP_H
#define JOURNAL_SWEEP_H

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/recover.h"
#include "journal/stray.h"
#include "util/buf.h"

struct sweep_options {
	const struct journal_io *io;
	const char *dir;
	const struct manifest *current;
	/* The manifest that the current one has replaced. Its files go without being read. NULL:
	 * unknown. */
	const struct manifest *obsolete;
	unsigned keep_bases; /* number of kept manifests whose files stay: see kept.h */
	uint64_t sequence;   /* of the last record in the log; UINT64_MAX: all stray files go */
	/* Set files aside, and append their new names to this, one a line. NULL: files that would
	 * be set aside stay as they are. */
	struct buf *orphans;
};

/* Find a stray log segment that holds records after the end of the log. Returns 1 with the first of
 * them, 0 if there is none, or a negative errno. */
int sweep_find_newer(const struct sweep_options *options, struct stray *ret_stray);

/* Check that no stray log segment of a directory continues what was recovered there. 0, -EBADMSG or
 * another negative errno. Except for 0, `ret_error` gets a line. */
int sweep_check(const struct journal_io *io, const char *dir, const struct recovery *r,
		struct buf *ret_error);

/* Remove stray files, or set them aside. A file that cannot be removed now is removed by the next
 * call. */
void sweep(const struct sweep_options *options);

/* Append ".orphan" to the name of a file, and a number if that name is taken. `ret_names` gets the
 * new name and a newline. 0 or a negative errno. */
int sweep_set_aside(const struct journal_io *io, const char *dir, const char *name,
		    struct buf *ret_names);

#endif
