/*
 * The state that a log leads to: loading it, counting its jobs, and checking that it is consistent.
 */
#ifndef CHECK_STATE_H
#define CHECK_STATE_H

#include <stddef.h>

#include "command/databases.h"
#include "command/replay.h"
#include "journal/recover.h"

/* Largest number of databases that the directive `databases` allows. */
#define CHECK_DATABASES_MAX 16384

struct check_state {
	struct databases *databases;
	struct replay replay;
};

void check_state_init(struct check_state *s);
void check_state_done(struct check_state *s);

/* Recovery fills the state through this target. */
struct recovery_target check_state_target(struct check_state *s);

/* Print the number of jobs of each database, and every inconsistency. Returns the number of
 * inconsistencies. */
size_t check_state_print(const struct databases *databases);

#endif
