/*
 * How many slots of limits one call takes.
 *
 * A pop takes a slot of each limit of its jobs, up to 25,000. MPOP and BPOP pop from several
 * queues, and a transaction pops several times, without a break. All of these pops together take
 * POPPING_SLOTS slots, and at most one job each after that. So a worker gets fewer jobs than it
 * asks for, and gets the others with its next call. Jobs without limits take no slots.
 *
 * In the same way they share their looks at jobs with shut limits. Where none are left, a search
 * looks at one job, and its queue stays woken.
 */
#ifndef COMMAND_POPPING_H
#define COMMAND_POPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/request.h"

/* Slots that one call takes. That takes about three milliseconds. */
#define POPPING_SLOTS 25000
/* Looks at jobs with shut limits that one call takes, see qless_share_looks(). */
#define POPPING_LOOKS 2500

/* Let the searches of a call that pops several times, or of a transaction, share their looks, until
 * the end. */
void popping_begin_looks(struct request *req);
void popping_end_looks(struct request *req);

/* The slots that a call may still take. */
size_t popping_begin(const struct request *req);

/* Returns `count`, or less if that number of jobs could have too many limits. */
int64_t popping_limit(const struct request *req, int64_t count, size_t left);

/* Whether a job could have more limits than a call may still take. */
bool popping_is_over(const struct request *req, size_t left);

/* Takes the slots of jobs that a pop has handed out from *left. */
void popping_take(struct request *req, const struct qless_jobs *jobs, size_t *left);

#endif
