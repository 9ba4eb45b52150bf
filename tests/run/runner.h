/*
 * A qless-run for a test. The environment variable QLESS_RUN is the path of its executable, and
 * HANDLER that of the programs in handler.c.
 */
#ifndef TESTS_RUNNER_H
#define TESTS_RUNNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "peer.h"
#include "qlessd.h"

/* Make a directory for a test, and remove it with all that is in it. Processes that a qless-run
 * leaves become children of the test, so runner_expect_no_orphans() waits until there are none. */
void runner_begin(void);
void runner_done(void);
/* Processes that a qless-run leaves become children of the test. Wait until there are none. */
void runner_expect_no_orphans(void);
/* The path of a file in the directory, valid until the call after the next three. */
const char *runner_path(const char *name);
/* The number of lines in a file of the directory. */
int runner_count_lines(const char *name);
void runner_touch(const char *name);
/* Whether nobody has a lock on a file of the directory: no process of a run is left; see handler.c.
 */
bool runner_is_unlocked(const char *name);

struct runner {
	pid_t pid; /* 0 if it does not run */
	char log_path[128];
};

/* Start it for a server, with the scratch directory "scratch" of the test. NULL ends the further
 * arguments. */
void runner_start_with(struct runner *r, const struct qlessd *q, const char *const *args);
#define RUNNER_START(r, q, ...) runner_start_with(r, q, (const char *const[]){ __VA_ARGS__, NULL })

void runner_signal(const struct runner *r, int number);
/* Wait for its end, and return the status of waitpid(). */
int runner_wait(struct runner *r);
/* End it by TERM, and fail the test unless its exit code is 0. Does nothing if it does not run. */
void runner_stop(struct runner *r);

bool runner_has_logged(const struct runner *r, const char *text);

/* The process as which a job has started last, which the log says. */
long runner_find_process(const struct runner *r, const char *jid);

/* The path of handler.c. */
const char *runner_handler(void);

/* The number of entries in the scratch directory. */
int runner_count_scratch(void);

#endif
