/*
 * The backlog: records that were appended and are not yet known to be in the file.
 *
 *	append --> pending --> written by the loop --> gone
 *	            |    ^
 *	  hand over v    | take back, if the disk is full
 *	          writing --> written by the helper --> gone
 */
#ifndef JOURNAL_BACKLOG_H
#define JOURNAL_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/str.h"

struct backlog {
	struct buf pending; /* appended, in the order of their numbers */
	struct buf writing; /* the helper writes these; they come before those in `pending` */
	bool has_gap; /* records were dropped, so the log has to restart after a new snapshot */
};

void backlog_init(struct backlog *b);
void backlog_done(struct backlog *b);

static inline size_t backlog_bytes(const struct backlog *b)
{
	return b->pending.len + b->writing.len;
}

/* Hand the pending records over to the helper, which has no others. Returns them. */
struct qless_str backlog_hand_over(struct backlog *b);
/* Make the helper's records pending again. */
void backlog_take_back(struct backlog *b);
/* Forget the helper's records, or the pending ones, which are in the file now. */
void backlog_end_writing(struct backlog *b);
void backlog_end_pending(struct backlog *b);
/* Drop the pending records. */
void backlog_drop(struct backlog *b);

#endif
