/*
 * The outcome of a run: whether its job is complete, failed, or to be tried again.
 *
 * Pure: the same run of the same job has the same outcome.
 */
#ifndef RUN_OUTCOME_H
#define RUN_OUTCOME_H

#include <stdbool.h>

#include "run/job.h"
#include "run/message.h"

/* Exit status of a program whose job should be tried again: EX_TEMPFAIL of <sysexits.h>. */
#define OUTCOME_TRY_AGAIN 75

enum outcome_kind {
	OUTCOME_NONE, /* the job was taken away, or is released */
	OUTCOME_COMPLETE,
	OUTCOME_RETRY,
	OUTCOME_FAIL,
};

struct outcome {
	enum outcome_kind kind;
	bool has_delay; /* otherwise the server knows the delay of a retry */
	double delay_s;
	struct buf result; /* of a complete job */
	struct buf group, message;
};

struct outcome_rules {
	bool is_by_lines;
	double backoff_base_s, backoff_max_s; /* if the job has no backoff of its own */
	size_t result_max, message_max;	      /* bytes */
};

/* The body of MESSAGE_ENDED, taken apart. */
struct outcome_run {
	struct message_ended ended;
	struct qless_str result, errors;
};

void outcome_init(struct outcome *o);
void outcome_done(struct outcome *o);

/* Fills an empty outcome. */
void outcome_decide(struct outcome *o, const struct outcome_rules *rules, const struct job *job,
		    const struct outcome_run *run);

/* The outcome of a job whose slot died, and its program with it. */
void outcome_decide_died(struct outcome *o, const struct outcome_rules *rules,
			 const struct job *job);

/* The outcome of a job whose program was ended because the server could not be reached for too
 * long. If the server has not given the job away, others may have it at once. */
void outcome_decide_away(struct outcome *o);

#endif
