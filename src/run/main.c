/*
 * qless-run: a worker for any program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_config.h"
#include "run/run_options.h"
#include "run/spawn.h"
#include "run/worker.h"
#include "sys/log.h"

static enum worker_result work(const struct run_options *options)
{
	enum worker_result result;
	char *path = spawn_find(options->program[0]);

	if (path == NULL) {
		fprintf(stderr, "qless-run: cannot execute %s: %s\n", options->program[0],
			strerror(errno));
		return WORKER_TROUBLE;
	}
	log_find_journal();
	if (options->verbose)
		log_set_level(LOG_LEVEL_VERBOSE);
	result = worker_run(options, path);
	free(path);
	return result;
}

int main(int argc, char **argv)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	enum worker_result result = WORKER_DONE;
	struct run_options options;

	if (run_options_parse(&options, argc, argv, &error) < 0) {
		fprintf(stderr, "qless-run: %s\n", buf_cstr(&error));
		result = WORKER_TROUBLE;
	} else if (options.task == RUN_TASK_HELP) {
		run_options_print_usage();
	} else if (options.task == RUN_TASK_VERSION) {
		printf("qless-run %s\n", QLESSD_VERSION);
	} else {
		result = work(&options);
	}
	run_options_done(&options);
	buf_done(&error);
	return (int)result;
}
