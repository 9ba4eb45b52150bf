/*
 * Replaced snapshots that are kept for recovering an earlier state.
 *
 * For each there is the manifest that named it, as file "manifest-<number>". The number is that of
 * the snapshot that replaced it. The log segments in that manifest lead from its snapshot to the
 * next one.
 */
#ifndef JOURNAL_KEPT_H
#define JOURNAL_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "util/buf.h"

/* Numbers of the kept manifests, ascending. */
struct kept {
	uint64_t *numbers;
	size_t count;
	size_t cap;
};

/* 0 or a negative errno. The caller calls kept_done() in either case. */
int kept_list(struct kept *kept, const struct journal_io *io, const char *dir);
void kept_done(struct kept *kept);

/* Read a kept manifest, like manifest_read(). */
int kept_read(struct manifest *m, uint64_t number, const struct journal_io *io, const char *dir,
	      struct buf *ret_error);

/* Keep a manifest that the snapshot with that number is about to replace. 0 or a negative errno. */
int kept_write(const struct manifest *m, uint64_t number, const struct journal_io *io,
	       const char *dir);

/* Remove a kept manifest. The files that it names stay. 0 or a negative errno. */
int kept_remove(uint64_t number, const struct journal_io *io, const char *dir);

#endif
