/*
 * The weight of a command: the number of jobs that it may hand out, return or change, as far as its
 * arguments say so.
 *
 * EXEC runs the commands of a transaction without a break. So their weight together has the limit
 * of one command, max-jobs-per-call.
 */
#ifndef COMMAND_WEIGHT_H
#define COMMAND_WEIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "command/inner.h"
#include "command/request.h"

/* Looks into QLESS and scripts for the command that they name. A number that is invalid weighs as
 * much as one job: the command fails. */
size_t weight_of(const struct request *req);

/* The value of the option COUNT of MPOP and BPOP, or 1. */
size_t weight_count_option(const struct inner_command *inner);

/* Returns whether the command only reads, and may take long. Looks into QLESS and scripts, too. */
bool weight_is_slow_read(const struct request *req);

#endif
