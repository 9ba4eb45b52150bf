/*
 * A snapshot made from the files alone: load the current snapshot into a separate state, run the
 * records of the ended log segments on it, and write the result. The state of the server is not
 * needed.
 */
#ifndef JOURNAL_REBUILD_H
#define JOURNAL_REBUILD_H

#include <stdint.h>

#include "journal/base.h"
#include "journal/recover.h"
#include "util/buf.h"
#include "util/str.h"

struct rebuild_options {
	/* Make an empty state, and return how to fill it. The state is `arg` of the target. */
	struct recovery_target (*begin)(void *arg);
	void *arg;
	/* Write the state with the calls of base.h. */
	void (*save)(void *state, struct base_writer *w);
	void (*end)(void *state);
};

/* Write the snapshot that `base` describes, from the files in the same directory. Its sequence
 * number is that of the last record of an ended log segment, or of the current snapshot. `extra`
 * has operations as operation_encode() writes them, which follow the state. On failure `ret_error`
 * gets a sentence, and an incomplete file remains. */
int rebuild_base(const struct rebuild_options *options, const struct base_options *base,
		 struct qless_str extra, uint64_t *ret_bytes, struct buf *ret_error);

#endif
