/*
 * The options of the command line.
 */
#ifndef BENCHMARK_OPTIONS_H
#define BENCHMARK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

#define OPTIONS_CONNECTIONS_MAX 10000
#define OPTIONS_PIPELINE_MAX	10000
#define OPTIONS_WORKERS_MAX	10000
#define OPTIONS_QUEUES_MAX	1000000
#define OPTIONS_BATCH_MAX	10000
#define OPTIONS_JOBS_MAX	((uint64_t)1000 * 1000 * 1000 * 1000)
#define OPTIONS_BACKLOG_MAX	((uint64_t)1000 * 1000 * 1000)
#define OPTIONS_PAYLOAD_MIN	2
#define OPTIONS_PAYLOAD_MAX	((uint64_t)64 * 1000 * 1000)
#define OPTIONS_RATE_MAX	10000000
#define OPTIONS_SECONDS_MAX	86400

enum options_dialect {
	OPTIONS_NATIVE,
	OPTIONS_QLESS,
	OPTIONS_EVALSHA,
	OPTIONS_LISTS,
	OPTIONS_BEANSTALKD,
};

/* Whether the dialect has the commands of qless. The others have only jobs that wait in a queue. */
static inline bool options_dialect_is_qless(enum options_dialect dialect)
{
	return dialect < OPTIONS_LISTS;
}

/* Names of the dialects, in the order of the enum. */
extern const char *const options_dialects[];

/* The task of the program. */
enum options_task {
	OPTIONS_RUN,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_LIST_WORKLOADS,
};

/* Numbers that are not given are 0 and texts are NULL, unless they have a default. Texts point into
 * argv. */
struct options {
	const char *host, *socket, *user, *password, *script, *workload;
	uint64_t port, database;
	uint64_t connections, workers, pipeline, jobs, payload, queues, batch, backlog, seed, rate;
	double warmup_s, duration_s;
	enum options_dialect dialect;
	bool has_seed;
	bool json, progress, histogram, flush;
	enum options_task task;
};

/* Returns 0, or -1 with the mistake as a line in `error`. */
int options_parse(int argc, char *const *argv, struct options *ret_options, struct buf *error);

void options_print_usage(void);

#endif
