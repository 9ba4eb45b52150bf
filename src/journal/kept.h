/*
 * Bases that have been replaced and are kept for a while, to go back to an earlier time.
 *
 * Of each there is the manifest that was in force with it, under the name "manifest-<number>",
 * where the number is that of the base that came after it. The log files it names lead from its
 * base to the next one.
 */
#ifndef JOURNAL_KEPT_H
#define JOURNAL_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "util/buf.h"

/* Numbers of the manifests that are kept, ascending. */
struct kept {
	uint64_t *numbers;
	size_t count;
	size_t cap;
};

/* 0 or a negative errno. kept_done() is to be called in any case. */
int kept_list(struct kept *kept, const struct journal_io *io, const char *dir);
void kept_done(struct kept *kept);

/* Read one of them, as manifest_read() does. */
int kept_read(struct manifest *m, uint64_t number, const struct journal_io *io, const char *dir,
	      struct buf *ret_error);

/* Keep a manifest that the base of that number will replace. 0 or a negative errno. */
int kept_write(const struct manifest *m, uint64_t number, const struct journal_io *io,
	       const char *dir);

/* Remove whatever belongs neither to the manifest in force nor to one of the last `count` that are
 * kept: files that a crash left behind before they came into force, or after they had been
 * replaced. What cannot be removed now is removed the next time. */
void kept_sweep(const struct manifest *in_force, unsigned count, const struct journal_io *io,
		const char *dir);

#endif
