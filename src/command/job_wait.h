/*
 * JOB.WAIT while it waits: the jobs, and how each of them has ended.
 *
 * An end counts, whatever happens to the job after it: the job may be purged or put again before
 * the others have ended. So the wait keeps the result of each job.
 */
#ifndef COMMAND_JOB_WAIT_H
#define COMMAND_JOB_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "command/work.h"
#include "qless.h"

/* The end of a job. */
struct job_end {
	bool has_ended;
	bool is_gone;		/* it does not exist, or the client may not see it */
	enum qless_state state; /* complete or failed, unless it is gone */
	struct qless_str value; /* its result or error, from malloc(); ptr is NULL if it has none */
};

/* Arguments of JOB.WAIT before the jids. */
#define JOB_WAIT_JIDS_AT 1

struct job_wait {
	struct work work;
	double timeout_s; /* 0: none */
	bool waits_for_any;
	bool has_begun;
	size_t jobs_left; /* that have not ended */
	size_t count;
	struct job_end jobs[]; /* in the order of the arguments */
};

/* Notes the end of a job, once. `job` is NULL if it is gone. */
void job_wait_note_end(struct job_wait *wait, size_t i, const struct qless_job *job);
bool job_wait_is_over(const struct job_wait *wait);
size_t job_wait_memory(const struct job_wait *wait);

/* Counts the jids among the arguments of JOB.WAIT. *ret_any is whether `ANY` follows them. */
size_t job_wait_count_jids(const struct qless_str *args, size_t nargs, bool *ret_any);

#endif
