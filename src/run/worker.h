/*
 * A worker: takes jobs from the server, runs them in its slots, and reports what becomes of them.
 */
#ifndef RUN_WORKER_H
#define RUN_WORKER_H

#include "run/run_options.h"

/* Exit codes. */
enum worker_result {
	WORKER_DONE = 0,    /* a signal ended it */
	WORKER_FAILED = 1,  /* the server refuses it, or the system does */
	WORKER_TROUBLE = 2, /* wrong arguments */
};

/* Works until a signal ends it. `path` is that of the program. */
enum worker_result worker_run(const struct run_options *options, const char *path);

#endif
