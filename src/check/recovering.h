/*
 * Recovering the state of a log into a new one, without a server: up to a limit, or past damage.
 */
#ifndef CHECK_RECOVERING_H
#define CHECK_RECOVERING_H

#include <stdbool.h>

#include "check/result.h"
#include "journal/recover.h"

struct recovering_options {
	const char *dir;  /* of the log, which does not change */
	const char *into; /* of the new log; NULL: only say what would be in it */
	struct recovery_limit limit;
	bool skip_damaged; /* use every intact record, and list what is missing */
};

/* Print what was recovered and what is missing. RESULT_DAMAGED: something is missing, and the rest
 * was recovered. RESULT_TROUBLE: no log was written. */
enum result recovering_run(const struct recovering_options *options);

#endif
