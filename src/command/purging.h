/*
 * How many old completed jobs one call purges.
 *
 * Each completion purges up to QLESS_PURGE_MAX of them. That is a backlog if time has passed, or if
 * jobs-history-count was lowered. A transaction and MULTICOMPLETE complete thousands of jobs
 * without a break. So all of them together purge only PURGING_PER_CALL jobs of the backlog. After
 * that, each completion purges at most one job, so the backlog does not grow. The operation in the
 * log says so.
 */
#ifndef COMMAND_PURGING_H
#define COMMAND_PURGING_H

#include <stddef.h>

#include "command/request.h"
#include "operation/operation.h"

/* Jobs of the backlog that one call purges at most. That takes about two milliseconds. */
#define PURGING_PER_CALL 5000

/* Limits what COMPLETE purges, if it is a part of a transaction. */
void purging_limit(struct request *req, struct qless_complete *complete);

/* Limits what job number `i` of MULTICOMPLETE purges, and those after it. `left` begins as the
 * result of purging_begin(). */
size_t purging_begin(const struct request *req);
void purging_limit_part(struct request *req, struct operation *op, size_t i, size_t *left);

#endif
