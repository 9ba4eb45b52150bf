/*
 * The age of the oldest record that is not synced. Pure.
 *
 * A sync covers the records that were written when it began, and later records wait for the next
 * sync. So there are two times: one for the records that a sync covers, and one for all others.
 */
#ifndef JOURNAL_UNSYNCED_H
#define JOURNAL_UNSYNCED_H

#include <stdint.h>

#include "util/minmax.h"

/* The time of a record that does not exist. It is later than any other time. */
#define UNSYNCED_NONE INT64_MAX

struct unsynced {
	uint64_t last;	    /* sequence number of the last record that was noted */
	int64_t covered_us; /* when the oldest record that a sync covers was appended; the sync is
			       running, or it has failed */
	int64_t later_us;   /* when the oldest record that no sync covers was appended */
};

/* All records up to `last` are synced. */
static inline void unsynced_init(struct unsynced *u, uint64_t last)
{
	*u = (struct unsynced){ last, UNSYNCED_NONE, UNSYNCED_NONE };
}

/* Note the records up to `last`, which were appended at `now_us` or after it. */
static inline void unsynced_note(struct unsynced *u, uint64_t last, int64_t now_us)
{
	if (last == u->last)
		return;
	u->last = last;
	u->later_us = min_i64(u->later_us, now_us);
}

/* A sync of the records up to `sequence` begins. If it leaves records out, these count as old as
 * the oldest one. */
static inline void unsynced_begin_sync(struct unsynced *u, uint64_t sequence)
{
	u->covered_us = min_i64(u->covered_us, u->later_us);
	if (sequence >= u->last)
		u->later_us = UNSYNCED_NONE;
}

/* The sync that began last has succeeded. */
static inline void unsynced_end_sync(struct unsynced *u)
{
	u->covered_us = UNSYNCED_NONE;
}

/* Returns when the oldest unsynced record was appended, or UNSYNCED_NONE. */
static inline int64_t unsynced_since_us(const struct unsynced *u)
{
	return min_i64(u->covered_us, u->later_us);
}

#endif
