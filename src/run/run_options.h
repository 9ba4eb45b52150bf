/*
 * The command line of qless-run.
 */
#ifndef RUN_RUN_OPTIONS_H
#define RUN_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/options.h"

#define RUN_SECONDS_MAX	   86400
#define RUN_RESULT_MAX_MAX ((uint64_t)64 * 1024 * 1024)

enum run_task {
	RUN_TASK_WORK,
	RUN_TASK_HELP,
	RUN_TASK_VERSION,
};

struct run_options {
	struct client_options server;
	const char **queues;
	size_t queue_count, queue_cap;
	uint64_t concurrency, result_max;
	const char *name, *klass, *scratch, *exclusive; /* NULL if not given */
	/* Seconds. For those that may be 0, that means never. */
	double grace_s, timeout_s, kill_after_s, stop_timeout_s, away_s;
	double backoff_base_s, backoff_max_s;
	bool lines, round_robin, copy_errors, verbose;
	char *const *program; /* its arguments, which end with NULL */
	enum run_task task;
};

/* Returns 0, or -1 with the mistake as a line in `error`. The options borrow from argv, and must be
 * freed in both cases. */
int run_options_parse(struct run_options *o, int argc, char *const *argv, struct buf *error);
void run_options_done(struct run_options *o);

void run_options_print_usage(void);

#endif
