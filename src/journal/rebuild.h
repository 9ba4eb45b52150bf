/*
 * A base made from the files alone: the base in force is loaded into a state of its own, what the
 * ended log files record is run again on it, and the outcome is written. Who has the state in
 * memory is not needed for it.
 */
#ifndef JOURNAL_REBUILD_H
#define JOURNAL_REBUILD_H

#include <stdint.h>

#include "journal/base.h"
#include "journal/recover.h"
#include "util/buf.h"
#include "util/str.h"

struct rebuild_options {
	/* Make a state that is empty, and say how it is filled; it is the target's `arg`. */
	struct recovery_target (*begin)(void *arg);
	void *arg;
	/* Write it with the calls of base.h. */
	void (*save)(void *state, struct base_writer *w);
	void (*end)(void *state);
};

/* Write the base that `base` describes, from the files in the same directory. The record with its
 * sequence number must be the last one of a log file that is ended, or the last one of the base in
 * force. `extra` are operations, as operation_encode() writes them; they go into the base after the
 * state. On failure a sentence is in `ret_error`, and what was written of the file is left. */
int rebuild_base(const struct rebuild_options *options, const struct base_options *base,
		 struct qless_str extra, uint64_t *ret_bytes, struct buf *ret_error);

#endif
