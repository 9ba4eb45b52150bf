/*
 * The past of a job, as its history and its retries tell it. Costs a job no memory of its own.
 */
#ifndef COMMAND_JOB_PAST_H
#define COMMAND_JOB_PAST_H

#include "qless.h"

struct job_past {
	double created;	 /* when it was put first; NAN if the history is empty */
	double updated;	 /* the last change that the job has a time of */
	double attempts; /* how often it was handed out since it was put last, at least */
};

/* Reads a bounded part of the history. */
void job_past_read(const struct qless_job *job, const struct qless_job_info *info,
		   struct job_past *ret_past);

#endif
