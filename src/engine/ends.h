/*
 * Ends of jobs, for a program that waits for them: a job completes, fails, or is deleted before.
 */
#ifndef ENGINE_ENDS_H
#define ENGINE_ENDS_H

#include <stdbool.h>

#include "engine/engine_int.h"

/* Tell that a job has ended, if anybody wants to know. */
static inline void job_tell_end(struct qless *q, const struct qless_job *job, bool is_deleted)
{
	if (__builtin_expect(q->watches_ends, 0))
		q->hooks.tell_end(q->hooks.arg, q, job, is_deleted);
}

#endif
