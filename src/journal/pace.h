/*
 * How fast the log grows: the bytes that were written in this second and in the one before. Pure.
 */
#ifndef JOURNAL_PACE_H
#define JOURNAL_PACE_H

#include <stdint.h>

#include "util/minmax.h"

#define PACE_SECOND_US INT64_C(1000000)

struct pace {
	int64_t begin_us; /* when this second began */
	uint64_t bytes;	  /* written in it */
	uint64_t last_bytes;
};

static inline void pace_note(struct pace *p, uint64_t bytes)
{
	p->bytes += bytes;
}

static inline void pace_tick(struct pace *p, int64_t now_us)
{
	if (now_us - p->begin_us >= PACE_SECOND_US)
		*p = (struct pace){ .begin_us = now_us, .last_bytes = p->bytes };
}

/* Returns the bytes of the last full second, or of this one if it has more already. */
static inline uint64_t pace_rate(const struct pace *p)
{
	return max_u64(p->bytes, p->last_bytes);
}

/* Begin to count from 0. */
static inline void pace_reset(struct pace *p)
{
	p->bytes = p->last_bytes = 0;
}

#endif
