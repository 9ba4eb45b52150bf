/*
 * Links: the tags, dependencies and dependents that a command adds, removes, releases or lists, and
 * the limits of running jobs, whose slots it renews or releases.
 *
 * A job may have thousands of them, so the number of jobs does not say how long a command takes.
 * max-links-per-call limits the links of the commands of a transaction, and those of one command
 * for several jobs. A command for one job has the limits of a job.
 *
 * The number is an estimate in constant time for each job that the command names. A new dependency
 * counts twice, because both jobs remember it.
 */
#ifndef COMMAND_LINKS_H
#define COMMAND_LINKS_H

#include <stddef.h>

#include "command/inner.h"

struct qless;

/* The links of several commands. All zero at the beginning. */
struct links {
	size_t sum;
	size_t most;		/* of one command */
	struct qless_str queue; /* of the latest POP; borrowed from its arguments */
	double popped;		/* jobs that the latest POPs of this queue ask for */
};

/* Adds the links of a queue command in the current state. `q` is NULL if there is none yet. */
void links_add(struct links *links, const struct qless *q, double now,
	       const struct inner_command *inner);

/* Checks the links of a command for several jobs. Returns 0, or fails with an error. */
int links_check_call(struct request *req);

#endif
