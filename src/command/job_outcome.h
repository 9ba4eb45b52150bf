/*
 * The outcome of a job that has ended, as its worker reported it.
 */
#ifndef COMMAND_JOB_OUTCOME_H
#define COMMAND_JOB_OUTCOME_H

#include "qless.h"
#include "util/str.h"

/* The result of a complete job, or the error of a failed one: the text that its worker gave for it,
 * or the message. ptr is NULL for a job that has not ended, or has no result. */
static inline struct qless_str job_outcome(const struct qless_job *job,
					   const struct qless_job_info *info)
{
	struct qless_account account = { .is_started = false };

	if (info->carries && !qless_job_account(job, &account))
		account = (struct qless_account){ .is_started = false };
	if (info->state == QLESS_COMPLETE)
		return account.result;
	if (info->state == QLESS_FAILED)
		return account.error.ptr != NULL ? account.error : info->failure.message;
	return str_make(NULL, 0);
}

#endif
