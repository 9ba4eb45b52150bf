#include "benchmark/options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"

enum option_type {
	TYPE_TEXT,
	TYPE_COUNT, /* digits, with k for thousand or M for million */
	TYPE_SECONDS,
	TYPE_DIALECT,
	TYPE_FLAG,
	TYPE_TASK,
};

struct option_row {
	const char *name;
	enum option_type type;
	size_t field; /* offset in struct options */
	uint64_t min, max;
	const char *value; /* name of the value in the help */
	const char *help;
};

const char *const options_dialects[] = { "native", "qless", "evalsha", "lists", "beanstalkd" };

#define DIALECT_COUNT (sizeof(options_dialects) / sizeof(options_dialects[0]))

#define FIELD(name) offsetof(struct options, name)

static const struct option_row rows[] = {
	{ "host", TYPE_TEXT, FIELD(host), 0, 0, "name", "host of the server (127.0.0.1)" },
	{ "port", TYPE_COUNT, FIELD(port), 1, 65535, "number", "port of the server (7537)" },
	{ "socket", TYPE_TEXT, FIELD(socket), 0, 0, "path", "Unix socket to use instead" },
	{ "user", TYPE_TEXT, FIELD(user), 0, 0, "name", "user to authenticate as" },
	{ "password", TYPE_TEXT, FIELD(password), 0, 0, "text",
	  "default: QLESSD_PASSWORD in the environment" },
	{ "database", TYPE_COUNT, FIELD(database), 0, 16383, "number", "database to select (0)" },
	{ "workload", TYPE_TEXT, FIELD(workload), 0, 0, "name",
	  "workload to run (lifecycle); 'help' lists them" },
	{ "dialect", TYPE_DIALECT, FIELD(dialect), 0, 0, "name",
	  "native (PUT ...), qless (QLESS put now ...), evalsha, lists or beanstalkd (native)" },
	{ "script", TYPE_TEXT, FIELD(script), 0, 0, "file",
	  "script to load for evalsha; without it a stub that only qlessd accepts" },
	{ "connections", TYPE_COUNT, FIELD(connections), 1, OPTIONS_CONNECTIONS_MAX, "n",
	  "connections; without those of --workers (64; handoff: 1)" },
	{ "workers", TYPE_COUNT, FIELD(workers), 1, OPTIONS_WORKERS_MAX, "n",
	  "workers that wait, each with its own connection (wait: 64; handoff: 1)" },
	{ "pipeline", TYPE_COUNT, FIELD(pipeline), 1, OPTIONS_PIPELINE_MAX, "n",
	  "requests under way on each connection (1)" },
	{ "jobs", TYPE_COUNT, FIELD(jobs), 1, OPTIONS_JOBS_MAX, "n",
	  "jobs to process, or requests if there are no jobs (100k)" },
	{ "duration", TYPE_SECONDS, FIELD(duration_s), 0, OPTIONS_SECONDS_MAX, "seconds",
	  "time limit; replaces the default of --jobs" },
	{ "warmup", TYPE_SECONDS, FIELD(warmup_s), 0, OPTIONS_SECONDS_MAX, "seconds",
	  "time before measuring starts" },
	{ "rate", TYPE_COUNT, FIELD(rate), 1, OPTIONS_RATE_MAX, "n",
	  "requests a second, sent whether replies come or not" },
	{ "payload", TYPE_COUNT, FIELD(payload), OPTIONS_PAYLOAD_MIN, OPTIONS_PAYLOAD_MAX, "bytes",
	  "size of the data of each job (100)" },
	{ "queues", TYPE_COUNT, FIELD(queues), 1, OPTIONS_QUEUES_MAX, "n",
	  "queues to spread the jobs over (1)" },
	{ "batch", TYPE_COUNT, FIELD(batch), 1, OPTIONS_BATCH_MAX, "n",
	  "jobs in each request, if the workload allows it (1)" },
	{ "backlog", TYPE_COUNT, FIELD(backlog), 0, OPTIONS_BACKLOG_MAX, "n",
	  "jobs that exist before; the default depends on the workload" },
	{ "seed", TYPE_COUNT, FIELD(seed), 0, UINT64_MAX, "n",
	  "makes jids, data and numbers repeatable" },
	{ "flush", TYPE_FLAG, FIELD(flush), 0, 0, NULL, "FLUSHALL first: deletes everything" },
	{ "histogram", TYPE_FLAG, FIELD(histogram), 0, 0, NULL,
	  "show a histogram of the latencies" },
	{ "json", TYPE_FLAG, FIELD(json), 0, 0, NULL, "write the result as JSON" },
	{ "progress", TYPE_FLAG, FIELD(progress), 0, 0, NULL,
	  "show progress even if standard error is not a terminal" },
	{ "version", TYPE_TASK, OPTIONS_VERSION, 0, 0, NULL, NULL },
	{ "help", TYPE_TASK, OPTIONS_HELP, 0, 0, NULL, NULL },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

void options_print_usage(void)
{
	puts("Usage: qlessd-benchmark [--option value ...]\n"
	     "\n"
	     "Puts load on a qlessd, or on a Redis that runs qless.lua, and measures how fast it "
	     "is.\n");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		char left[40];

		snprintf(left, sizeof left, "--%s%s%s", rows[i].name,
			 rows[i].value != NULL ? " " : "",
			 rows[i].value != NULL ? rows[i].value : "");
		if (rows[i].help != NULL)
			printf("  %-20s  %s\n", left, rows[i].help);
		else
			printf("  %s\n", left);
	}
	puts("\nCounts may end in k for thousand or M for million.");
}

static int parse_count(const struct option_row *row, const char *text, uint64_t *ret_value,
		       struct buf *error)
{
	struct qless_str digits = str_from(text);
	uint64_t unit = 1, value;

	if (digits.len != 0 && digits.ptr[digits.len - 1] == 'k')
		unit = 1000;
	if (digits.len != 0 && digits.ptr[digits.len - 1] == 'M')
		unit = 1000 * 1000;
	if (unit != 1)
		digits.len--;
	if (!num_parse_u64(digits, 0, UINT64_MAX / unit, &value) || value * unit < row->min ||
	    value * unit > row->max) {
		buf_printf(error, "--%s must be a number from %llu to %llu, not '%s'", row->name,
			   (unsigned long long)row->min, (unsigned long long)row->max, text);
		return -1;
	}
	*ret_value = value * unit;
	return 0;
}

static int parse_seconds(const struct option_row *row, const char *text, double *ret_value,
			 struct buf *error)
{
	double value;

	if (!num_parse_double(str_from(text), &value) || value < (double)row->min ||
	    value > (double)row->max) {
		buf_printf(error, "--%s must be seconds from %llu to %llu, not '%s'", row->name,
			   (unsigned long long)row->min, (unsigned long long)row->max, text);
		return -1;
	}
	*ret_value = value;
	return 0;
}

static int parse_dialect(const char *text, enum options_dialect *ret_dialect, struct buf *error)
{
	for (size_t i = 0; i < DIALECT_COUNT; i++) {
		if (strcmp(text, options_dialects[i]) == 0) {
			*ret_dialect = (enum options_dialect)i;
			return 0;
		}
	}
	buf_printf(error, "--dialect must be native, qless, evalsha, lists or beanstalkd, not '%s'",
		   text);
	return -1;
}

static int apply(struct options *o, const struct option_row *row, const char *value,
		 struct buf *error)
{
	void *field = (char *)o + row->field;

	switch (row->type) {
	case TYPE_TEXT:
		*(const char **)field = value;
		return 0;
	case TYPE_COUNT:
		o->has_seed |= row->field == FIELD(seed);
		return parse_count(row, value, field, error);
	case TYPE_SECONDS:
		return parse_seconds(row, value, field, error);
	case TYPE_DIALECT:
		return parse_dialect(value, field, error);
	case TYPE_FLAG:
		*(bool *)field = true;
		return 0;
	case TYPE_TASK:
		o->task = (enum options_task)row->field;
		return 0;
	}
	return -1;
}

/* Check combinations of options. */
static int check(struct options *o, struct buf *error)
{
	if (o->script != NULL && o->dialect != OPTIONS_EVALSHA)
		buf_printf(error, "--script is for --dialect evalsha");
	else if (o->dialect == OPTIONS_BEANSTALKD &&
		 (o->user != NULL || o->database != 0 || o->flush))
		buf_printf(error, "beanstalkd has no users, no databases and no FLUSHALL: "
				  "no --user, no --database and no --flush");
	else if (o->user != NULL && o->password == NULL)
		buf_printf(error, "--user needs a --password");
	else if (o->batch > 1 && o->dialect == OPTIONS_EVALSHA)
		buf_printf(error, "--batch is not for --dialect evalsha, "
				  "which has no commands for multiple jobs");
	else
		return 0;
	return -1;
}

static void set_defaults(struct options *ret)
{
	*ret = (struct options){
		.host = "127.0.0.1",
		.port = 7537,
		.workload = "lifecycle",
		.password = getenv("QLESSD_PASSWORD"),
		.pipeline = 1,
		.payload = 100,
		.batch = 1,
		.backlog = UINT64_MAX,
	};
}

int options_parse(int argc, char *const *argv, struct options *ret_options, struct buf *error)
{
	struct option table[ROW_COUNT + 1] = { 0 };
	int c, index;

	for (size_t i = 0; i < ROW_COUNT; i++) {
		table[i].name = rows[i].name;
		table[i].has_arg = rows[i].value != NULL ? required_argument : no_argument;
	}
	set_defaults(ret_options);
	optind = 0; /* getopt starts again, because tests parse several times */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", table, &index)) == 0) {
		if (apply(ret_options, &rows[index], optarg, error) < 0)
			return -1;
		if (ret_options->task != OPTIONS_RUN)
			return 0;
	}
	if (c == ':')
		buf_printf(error, "%s needs a value", argv[optind - 1]);
	else if (c != -1)
		buf_printf(error, "unknown option %s", argv[optind - 1]);
	else if (optind != argc)
		buf_printf(error, "'%s' is not an option", argv[optind]);
	if (error->len != 0)
		return -1;
	if (strcmp(ret_options->workload, "help") == 0)
		ret_options->task = OPTIONS_LIST_WORKLOADS;
	return check(ret_options, error);
}
