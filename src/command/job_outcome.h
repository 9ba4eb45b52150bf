/*
 * The outcome of a job that has ended, as its worker reported it.
 */
#ifndef COMMAND_JOB_OUTCOME_H
#define COMMAND_JOB_OUTCOME_H

#include "qless.h"
#include "util/str.h"

/* The message of a failed job; ptr is NULL for a job that has not ended, or has no result. */
static inline struct qless_str job_outcome(const struct qless_job_info *info)
{
	if (info->state == QLESS_FAILED)
		return info->failure.message;
	return str_make(NULL, 0);
}

#endif
