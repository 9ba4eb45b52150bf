/*
 * Rescue: recovery that passes over damage. It uses every intact record of a damaged log, and lists
 * what is missing between them. It only reads.
 *
 * A record proves itself by its checksum. So rescue does not depend on the manifest: it reads all
 * log segments of the directory. It begins with the newest snapshot that is whole.
 *
 * No operation of an intact record is left out, but one may have lost what it acts on: a `pop` of a
 * job whose `put` is missing pops another job, or none.
 */
#ifndef JOURNAL_RESCUE_H
#define JOURNAL_RESCUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/recover.h"
#include "util/buf.h"

/* A place in the log where something is missing. */
struct rescue_gap {
	uint64_t file;	 /* number of the log segment; 0: before the first one */
	bool is_no_file; /* the manifest names the segment, but it is gone */
	uint64_t offset;
	uint64_t bytes; /* that are no intact records; 0: the records are in no file */
	/* The sequence numbers that are missing. `last` is less than `first` if none is, and
	 * UINT64_MAX at the end of the log, where nothing tells how many there were. */
	uint64_t first, last;
	/* The numbers are missing in several places, and the list has an earlier one. */
	bool is_continued;
	/* They were written between these times; 0: unknown. */
	int64_t after_us, before_us;
	/* Operations between this place and the next one that could not be applied, and those that
	 * changed nothing. */
	uint64_t refused, idle;
};

/* Operations so far that could not be applied, or changed nothing. The owner counts them. */
struct rescue_tally {
	uint64_t refused, idle;
};

struct rescue_owner {
	/* `apply` returns 0 for an operation that cannot be applied, and counts it. */
	struct recovery_target target;
	/* Make the state empty again: a snapshot could be loaded only in part. */
	void (*clear)(void *arg);
	const struct rescue_tally *tally;
};

struct rescue {
	struct rescue_gap *gaps; /* in the order of the log */
	size_t gap_count, gap_cap;
	struct buf notes; /* lines about files that are damaged and were not needed, or not whole */
	struct recovery recovery; /* its snapshot, times and counts */
	/* Records from this number on are left out: their time is lost with marks, and it may be
	 * after the limit. 0: there are none. */
	uint64_t untimed_sequence;
};

/* Recover the state up to a limit. 0, -ENOENT without an error text if there is no log, -ERANGE if
 * the limit is before the oldest state, or another negative errno with a line in `ret_error`. The
 * caller calls rescue_done() in either case. */
int rescue_run(struct rescue *r, const struct journal_io *io, const char *dir,
	       const struct recovery_limit *limit, const struct rescue_owner *owner,
	       struct buf *ret_error);
void rescue_done(struct rescue *r);

/* Returns whether sequence numbers are missing. */
bool rescue_is_incomplete(const struct rescue *r);

#endif
