/*
 * qlessd-benchmark: puts load on a qlessd, or on a Redis that runs qless.lua, and measures it.
 */
#include <stdio.h>

#include "benchmark/bench.h"
#include "benchmark/report.h"
#include "build_config.h"

/* Exit codes. */
enum result {
	RESULT_GOOD = 0,
	RESULT_WRONG_REPLIES = 1,
	RESULT_TROUBLE = 2,
};

static enum result run(const struct options *options, const struct workload *workload)
{
	enum result result = RESULT_TROUBLE;
	struct bench b;
	int rc = bench_run(&b, options, workload);

	report_end_progress(&b);
	if (rc == 0) {
		(options->json ? report_json : report_table)(&b);
		result = b.errors == 0 ? RESULT_GOOD : RESULT_WRONG_REPLIES;
	} else {
		fprintf(stderr, "qlessd-benchmark: %s\n", buf_cstr(&b.error));
	}
	bench_done(&b);
	return result;
}

static enum result start(int argc, char **argv)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	const struct workload *workload;
	struct options options;
	int rc = options_parse(argc, argv, &options, &error);

	if (rc < 0)
		fprintf(stderr, "qlessd-benchmark: %s\n", buf_cstr(&error));
	buf_done(&error);
	if (rc < 0)
		return RESULT_TROUBLE;
	switch (options.task) {
	case OPTIONS_HELP:
		options_print_usage();
		return RESULT_GOOD;
	case OPTIONS_VERSION:
		printf("qlessd-benchmark %s\n", QLESSD_VERSION);
		return RESULT_GOOD;
	case OPTIONS_LIST_WORKLOADS:
		workload_print_all();
		return RESULT_GOOD;
	case OPTIONS_RUN:
		break;
	}
	workload = workload_find(options.workload);
	if (workload == NULL) {
		fprintf(stderr,
			"qlessd-benchmark: unknown workload '%s'; --workload help lists them\n",
			options.workload);
		return RESULT_TROUBLE;
	}
	return run(&options, workload);
}

int main(int argc, char **argv)
{
	return (int)start(argc, argv);
}
