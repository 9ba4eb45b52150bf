/*
 * The states by which clients select jobs: the words after `STATE` of QUEUE.JOBS and QUEUE.COUNT.
 */
#ifndef COMMAND_JOB_STATES_H
#define COMMAND_JOB_STATES_H

#include <stddef.h>

#include "qless.h"
#include "util/str.h"

struct request;

/* Every job is in exactly one of them. */
enum job_states {
	JOB_WAITING = 1 << 0,
	JOB_RESERVED = 1 << 1, /* running, before JOB.START */
	JOB_STARTED = 1 << 2,  /* running, after it */
	JOB_STALLED = 1 << 3,
	JOB_SCHEDULED = 1 << 4,
	JOB_DEPENDS = 1 << 5,
	JOB_FAILED = 1 << 6,
	JOB_COMPLETE = 1 << 7,
	JOB_RUNNING = JOB_RESERVED | JOB_STARTED,
	JOB_ANY_STATE = (1 << 8) - 1,
};

/* Returns the states that a word stands for; 0 if it is none. */
unsigned job_states_find(struct qless_str word);

/* Reads the words from argument *at on, at least one, and moves *at after them. Returns 0, or a
 * negative code with the error worded. */
int job_states_parse(struct request *req, size_t *at, unsigned *ret_states);

/* Returns the state of a job. A lock that has expired counts as stalled, as in QUEUES and JOBS. A
 * job that has come due counts as waiting, even if it has not been moved, unless nothing may
 * change. */
unsigned job_states_of(const struct request *req, const struct qless_job *job,
		       const struct qless_job_info *info);

/* Returns the first word that selects a job in its state, such as `running` and `stalled`. */
struct qless_str job_state_word(const struct request *req, const struct qless_job *job,
				const struct qless_job_info *info);

/* Returns the state of a job that is in the queue that the first argument names, and in one of the
 * states; otherwise 0. */
unsigned job_states_match(const struct request *req, unsigned states, const struct qless_job *job,
			  const struct qless_job_info *info);

#endif
