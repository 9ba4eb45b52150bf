/*
 * Whether the helper gives way to other threads. Pure.
 *
 * A thread that gives way does not interrupt the loop when it wakes up. On a crowded machine it
 * then waits for the time slices of all others, several times for each sync, and so does everybody
 * who waits for the sync. A task that begins late shows that the machine is crowded. The helper
 * then stops giving way for a while.
 */
#ifndef JOURNAL_YIELDING_H
#define JOURNAL_YIELDING_H

#include <stdbool.h>
#include <stdint.h>

/* Microseconds from the start of a task to its first step, above which the machine is crowded. It
 * is longer than a time slice: one thread that runs before the helper is no crowd. */
#define YIELDING_LATE_US INT64_C(4000)
/* Microseconds without a late task until the helper gives way again. The machine may still be
 * crowded then, which costs one more late task. */
#define YIELDING_AGAIN_US INT64_C(10000000)

struct yielding {
	int64_t again_us; /* when the helper gives way again; in the past if it does so now */
};

/* Note that a task, which was started `waited_us` ago, begins now. Returns whether the helper
 * should give way from now on. */
static inline bool yielding_note(struct yielding *y, int64_t waited_us, int64_t now_us)
{
	if (waited_us > YIELDING_LATE_US)
		y->again_us = now_us + YIELDING_AGAIN_US;
	return now_us >= y->again_us;
}

#endif
