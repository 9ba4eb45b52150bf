/*
 * A slot: a process that runs one job at a time.
 *
 * It starts the program, feeds it, keeps what it writes, and ends it. It is the parent of
 * everything that the program starts, so it knows when nothing of a job is left. It removes the
 * scratch directory before it reports the end of the job. If qless-run dies, the slot kills what
 * runs, cleans up, and ends. If the slot dies, the kernel kills the program.
 */
#ifndef RUN_SLOT_H
#define RUN_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "run/scratch.h"

/* Bytes of a line of a program that answers by lines, without the result. */
#define SLOT_LINE_MAX ((size_t)1024 * 1024)

struct slot_settings {
	const char *path; /* of the program */
	char *const *argv;
	char **environment;
	const struct scratch *scratch;
	struct qless_str worker;
	bool is_by_lines;      /* the program runs several jobs */
	bool copies_errors;    /* what programs write to standard error is also written there */
	int64_t kill_after_us; /* from TERM to KILL */
	int64_t timeout_us;    /* of a run, 0 for none */
	size_t result_max, errors_max; /* bytes that are kept */
};

/* Serve the requests that come over the socket, in a process that was forked for it. Returns when
 * the slot should end: after MESSAGE_QUIT, or at the end of the socket. */
void slot_serve(const struct slot_settings *settings, unsigned number, int control);

#endif
