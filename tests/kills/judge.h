/*
 * The judge reads the history of a run and the states that the server has in the end, and finds
 * what contradicts the rules of locks:
 *
 *   - no hand-out has the number of another one;
 *   - no job is handed out before the earlier lock has ended, or after the job was completed;
 *   - the lock of an attached worker ends no earlier than its grace period after its death;
 *   - the server accepts nothing under a lock after a worker got the job with a later one;
 *   - the server refuses nothing under the last lock before that lock has ended;
 *   - a job whose put or completion was acknowledged is there, and is complete.
 *
 * It does no I/O except for the findings, which go to a stream.
 */
#ifndef TESTS_KILLS_JUDGE_H
#define TESTS_KILLS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "history.h"

struct judge;

/* Jobs that came back, and how late: after the earliest moment at which they could. */
struct judge_returns {
	uint64_t count;
	double max_s, sum_s;
};

struct judge_counts {
	uint64_t findings;
	uint64_t puts, hand_outs, heartbeats, completions, retries; /* acknowledged */
	uint64_t refusals; /* of requests under a lock that had ended */
	uint64_t expired;  /* hand-outs after an earlier lock of the job had ended */
	/* Those among them whose workers were killed while the server ran on. */
	struct judge_returns returns, attached_returns;
};

struct judge_options {
	double grace_s;	       /* between the expiry of a lock and the next hand-out */
	double attach_grace_s; /* between the end of an attached worker and the next hand-out */
};

struct judge *judge_new(const struct judge_options *options, FILE *findings);
void judge_free(struct judge *j);

/* Read the entries that were added since the last call. No process may be entering anything. */
void judge_read(struct judge *j, const struct history *h);

/* Compare a job with its state on the server: 'c' for complete, '-' for none, or another one. All
 * jobs must have ended. */
void judge_settle(struct judge *j, uint64_t job, char state);

const struct judge_counts *judge_counts(const struct judge *j);

#endif
