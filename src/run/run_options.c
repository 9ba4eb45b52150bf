#include "run/run_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/pool.h"
#include "util/mem.h"
#include "util/num.h"

static bool add_queue(void *into, const char *value, struct buf *error)
{
	struct run_options *o = into;

	if (*value == '\0') {
		buf_printf(error, "--queue must be the name of a queue, not ''");
		return false;
	}
	o->queues = mem_grow(o->queues, &o->queue_cap, o->queue_count + 1, sizeof *o->queues);
	o->queues[o->queue_count++] = value;
	return true;
}

static bool parse_part(const char *text, size_t len, double *ret_seconds)
{
	return num_parse_double(str_make(text, len), ret_seconds) && *ret_seconds >= 0 &&
	       *ret_seconds <= 366.0 * RUN_SECONDS_MAX;
}

static bool set_backoff(void *into, const char *value, struct buf *error)
{
	struct run_options *o = into;
	size_t len = strcspn(value, ":");
	double base, max = o->backoff_max_s;

	if (!parse_part(value, len, &base) ||
	    (value[len] == ':' && !parse_part(value + len + 1, strlen(value + len + 1), &max))) {
		buf_printf(error, "--backoff must be seconds, or seconds:maximum, not '%s'", value);
		return false;
	}
	o->backoff_base_s = base;
	o->backoff_max_s = max > base || value[len] == ':' ? max : base;
	return true;
}

static bool ask_help(void *into, const char *value, struct buf *error)
{
	(void)value;
	(void)error;
	((struct run_options *)into)->task = RUN_TASK_HELP;
	return true;
}

static bool ask_version(void *into, const char *value, struct buf *error)
{
	(void)value;
	(void)error;
	((struct run_options *)into)->task = RUN_TASK_VERSION;
	return true;
}

#define FIELD(name) offsetof(struct run_options, name)

static const struct flag rows[] = {
	{ "queue", 'q', FLAG_CALL, 0, 0, 0, "name", "queue to take jobs from; may be repeated",
	  add_queue },
	{ "concurrency", 'c', FLAG_COUNT, FIELD(concurrency), 1, POOL_SLOTS_MAX, "n",
	  "jobs that run at once (1)", NULL },
	{ "lines", 0, FLAG_SET, FIELD(lines), 0, 0, NULL,
	  "the program runs on, reads jobs as lines, and answers by lines", NULL },
	{ "round-robin", 0, FLAG_SET, FIELD(round_robin), 0, 0, NULL,
	  "take from each queue in turn; otherwise the first ones come first", NULL },
	{ "class", 0, FLAG_TEXT, FIELD(klass), 0, 0, "class",
	  "take jobs of this class only (all classes)", NULL },
	{ "name", 0, FLAG_TEXT, FIELD(name), 0, 0, "name",
	  "name of the worker (host, process and a random part)", NULL },
	{ "exclusive", 0, FLAG_TEXT, FIELD(exclusive), 0, 0, "queue",
	  "wait while another exclusive worker of this host serves the queue", NULL },
	{ "timeout", 0, FLAG_SECONDS, FIELD(timeout_s), 0, 366 * RUN_SECONDS_MAX, "seconds",
	  "maximum duration of a run (0: none)", NULL },
	{ "kill-after", 0, FLAG_SECONDS, FIELD(kill_after_s), 0, RUN_SECONDS_MAX, "seconds",
	  "time between TERM and KILL (10)", NULL },
	{ "backoff", 0, FLAG_CALL, 0, 0, 0, "base[:max]",
	  "seconds until the second attempt, which double with each one (1:3600)", set_backoff },
	{ "grace", 0, FLAG_SECONDS, FIELD(grace_s), 1, RUN_SECONDS_MAX, "seconds",
	  "how long the server keeps the jobs after a lost connection (30)", NULL },
	{ "away", 0, FLAG_SECONDS, FIELD(away_s), 0, RUN_SECONDS_MAX, "seconds",
	  "end the jobs after this time without a server (0: never)", NULL },
	{ "stop-timeout", 0, FLAG_SECONDS, FIELD(stop_timeout_s), 0, 366 * RUN_SECONDS_MAX,
	  "seconds", "time for running jobs after TERM (0: no limit)", NULL },
	{ "result-max", 0, FLAG_COUNT, FIELD(result_max), 0, RUN_RESULT_MAX_MAX, "bytes",
	  "bytes of the output that are kept as the result (65536)", NULL },
	{ "scratch", 0, FLAG_TEXT, FIELD(scratch), 0, 0, "dir",
	  "where to make directories for jobs ($TMPDIR/qless-run-UID)", NULL },
	{ "copy-stderr", 0, FLAG_SET, FIELD(copy_errors), 0, 0, NULL,
	  "write the standard error of programs to that of qless-run, too", NULL },
	{ "verbose", 0, FLAG_SET, FIELD(verbose), 0, 0, NULL, "write a line for each job", NULL },
	{ "help", 0, FLAG_CALL, 0, 0, 0, NULL, "show this text", ask_help },
	{ "version", 0, FLAG_CALL, 0, 0, 0, NULL, "show the version", ask_version },
	{ NULL, 0, FLAG_SET, 0, 0, 0, NULL, NULL, NULL },
};

void run_options_print_usage(void)
{
	puts("Usage: qless-run -q queue [option ...] [--] program [argument ...]\n"
	     "\n"
	     "Takes jobs from a qlessd, and starts the program for each of them.\n");
	flags_print(rows, stdout);
	puts("\nThe server:\n");
	flags_print(client_options_rows, stdout);
}

static bool check(const struct run_options *o, struct buf *error)
{
	if (o->queue_count == 0)
		buf_printf(error, "no queue is given: -q name");
	else if (o->program == NULL)
		buf_printf(error, "no program is given");
	else if (o->name != NULL && *o->name == '\0')
		buf_printf(error, "--name must not be empty");
	else if (o->klass != NULL && *o->klass == '\0')
		buf_printf(error, "--class must be the name of a class, not ''");
	return error->len == 0;
}

int run_options_parse(struct run_options *o, int argc, char *const *argv, struct buf *error)
{
	int at = 1, taken = 1;

	*o = (struct run_options){
		.concurrency = 1,
		.result_max = 65536,
		.grace_s = 30,
		.kill_after_s = 10,
		.backoff_base_s = 1,
		.backoff_max_s = 3600,
	};
	if (!client_options_init(&o->server, error))
		return -1;
	while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "--") != 0) {
		taken = flags_take(rows, o, argc, argv, &at, error);
		if (taken == 0)
			taken = client_options_take(&o->server, argc, argv, &at, error);
		if (taken == 0)
			buf_printf(error, "unknown option %s", argv[at]);
		if (taken <= 0)
			return -1;
		if (o->task != RUN_TASK_WORK)
			return 0;
	}
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	if (at < argc)
		o->program = argv + at;
	if (!check(o, error) || !client_options_finish(&o->server, "qless-run", error))
		return -1;
	return 0;
}

void run_options_done(struct run_options *o)
{
	client_options_done(&o->server);
	free(o->queues);
}
