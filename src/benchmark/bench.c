/*
 * A run: connects, prepares what the workload needs, runs it, and compares the queues of the server
 * with the ledger.
 */
#include "benchmark/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark/beanstalk.h"
#include "benchmark/report.h"
#include "sys/clock.h"
#include "util/mem.h"

#define JOBS_DEFAULT	    100000
#define KEYS_DEFAULT	    10000 /* keys of SET, unless given */
#define CONNECTIONS_DEFAULT 64
#define SETUP_PIPELINE_MIN  16
#define SCRIPT_MAX	    ((size_t)4 * 1024 * 1024)
#define NS_PER_S	    1e9

/* qlessd recognises a copy of qless.lua by the functions it defines, so these suffice. */
static const char stand_in[] =
	"local Benchmark = { ns = 'ql:' }\n"
	"Benchmark.put = function(now, me, queue, jid, klass, data, delay, ...) end\n"
	"Benchmark.get = function(now, jid) end\n"
	"Benchmark.pop = function(now, queue, worker, count) end\n"
	"Benchmark.peek = function(now, queue, count) end\n"
	"Benchmark.heartbeat = function(now, jid, worker, data) end\n"
	"Benchmark.complete = function(now, jid, worker, queue, data, ...) end\n"
	"Benchmark.fail = function(now, jid, worker, group, message, data) end\n"
	"Benchmark.retry = function(now, jid, queue, worker, delay, ...) end\n"
	"Benchmark.cancel = function(now, ...) end\n"
	"local name = table.remove(ARGV, 1)\n"
	"local command = Benchmark[name]\n"
	"return command(tonumber(table.remove(ARGV, 1)), unpack(ARGV))\n";

void bench_complain(struct bench *b, const char *format, ...)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	va_list args;

	b->errors++;
	if (b->complaint_count == BENCH_COMPLAINTS_MAX)
		return;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	b->complaints[b->complaint_count++] = mem_dup(buf_cstr(&text), text.len);
	buf_done(&text);
}

uint64_t bench_random(struct bench *b, uint64_t below)
{
	return ledger_mix(b->random++) % below;
}

/* ---- preparing ---- */

static int read_script(struct bench *b, struct buf *ret_script)
{
	FILE *file = fopen(b->options->script, "re");
	size_t n;

	if (file == NULL) {
		buf_printf(&b->error, "cannot open %s", b->options->script);
		return -1;
	}
	while ((n = fread(buf_reserve(ret_script, 4096), 1, 4096, file)) != 0 &&
	       ret_script->len < SCRIPT_MAX)
		buf_commit(ret_script, n);
	fclose(file);
	return 0;
}

static int load_script(struct bench *b)
{
	struct buf script = BUF_INIT(2 * SCRIPT_MAX);
	struct reply reply;
	int rc = 0;

	if (b->options->script != NULL)
		rc = read_script(b, &script);
	else
		buf_append_str(&script, str_from(stand_in));
	if (rc == 0)
		rc = CONTROL_CALL(&b->control, &reply, &b->error, "SCRIPT", "LOAD",
				  buf_cstr(&script));
	if (rc == 0 && (reply.type != REPLY_BULK || reply.text.len >= sizeof b->script_sha)) {
		buf_printf(&b->error, "the reply to SCRIPT LOAD is not a hash");
		rc = -1;
	}
	if (rc == 0)
		memcpy(b->script_sha, reply.text.ptr, reply.text.len);
	buf_done(&script);
	return rc;
}

/* A workload without queue commands runs on any Redis. The others need a server with queues. */
static int check_server(struct bench *b)
{
	bool is_plain = (b->workload->flags & WORKLOAD_PLAIN) != 0;

	if (b->workload->phase.steps[0].command == COMMAND_SET && b->server.is_qlessd) {
		buf_printf(&b->error, "qlessd has no SET: this workload needs a Redis");
		return -1;
	}

	if (!options_dialect_is_qless(b->options->dialect)) {
		if (!b->server.is_qlessd)
			return 0;
		buf_printf(&b->error, "qlessd has no lists: --dialect lists needs a Redis");
		return -1;
	}
	if (!is_plain && !b->server.is_qlessd && b->options->dialect != OPTIONS_EVALSHA) {
		buf_printf(&b->error,
			   "%s runs the commands of qless only as a script: use "
			   "--dialect evalsha --script FILE",
			   b->server.name);
		return -1;
	}
	return 0;
}

static int identify(struct bench *b)
{
	if (b->options->dialect == OPTIONS_BEANSTALKD)
		return beanstalk_identify(&b->control, &b->server, &b->error);
	return figures_identify(&b->control, &b->server, &b->error);
}

static int connect_and_prepare(struct bench *b)
{
	struct reply reply;

	if (control_open(&b->control, b->options, &b->error) < 0 || identify(b) < 0 ||
	    check_server(b) < 0)
		return -1;
	if (b->options->flush && CONTROL_CALL(&b->control, &reply, &b->error, "FLUSHALL") < 0)
		return -1;
	if (b->options->dialect == OPTIONS_EVALSHA && (b->workload->flags & WORKLOAD_PLAIN) == 0 &&
	    load_script(b) < 0)
		return -1;
	ledger_init(&b->ledger, b->seed);
	requests_init(b);
	if ((b->workload->flags & WORKLOAD_OWN_QUEUES) == 0) {
		uint64_t queues =
			b->options->queues != 0 ? b->options->queues : b->workload->queues;

		do
			requests_add_queue(b);
		while (b->queue_count < queues);
	}
	return loop_init(b);
}

/* ---- phases ---- */

static int run_setup(struct bench *b, const struct workload_phase *phase, uint64_t round_jobs,
		     uint64_t limit)
{
	struct loop_plan plan = { .width = (size_t)b->options->pipeline, .limit = limit };

	if (!b->once && plan.width < SETUP_PIPELINE_MIN)
		plan.width = SETUP_PIPELINE_MIN;
	b->phase = phase;
	b->round_jobs = round_jobs;
	return loop_run(b, &plan);
}

/* The run makes no sense if its preparation failed. */
static int check_setup(struct bench *b)
{
	if (b->errors == 0)
		return 0;
	buf_printf(&b->error, "cannot prepare the workload: %s", b->complaints[0]);
	return -1;
}

/* Put the backlog. */
static int fill(struct bench *b)
{
	static const struct workload_step step = { COMMAND_FILL, 0 };
	static const struct workload_step recur_step = { COMMAND_RECUR_LATER, 0 };
	const struct workload_phase phase = { .steps = b->fill == FILL_RECURRING ? &recur_step
										 : &step,
					      .count = 1 };
	uint64_t count = (b->workload->flags & WORKLOAD_FILL_JOBS) != 0 ? b->jobs : b->backlog;

	if (b->fill == FILL_NONE || count == 0)
		return 0;
	if (run_setup(b, &phase, b->fill_batch, count) < 0)
		return -1;
	return check_setup(b);
}

/* Give each worker a job. */
static int hold(struct bench *b)
{
	int rc;

	if ((b->workload->flags & WORKLOAD_HOLD) == 0)
		return 0;
	b->once = true;
	rc = run_setup(b, &workload_hold, 1, UINT64_MAX);
	b->once = false;
	return rc < 0 ? rc : check_setup(b);
}

static int run_workload(struct bench *b)
{
	struct loop_plan plan = {
		.width = b->rate != 0 ? 0 : (size_t)b->options->pipeline,
		.limit = b->jobs,
		.rate = b->rate,
		.warmup_ns = (int64_t)(b->options->warmup_s * NS_PER_S),
		.duration_ns = (int64_t)(b->options->duration_s * NS_PER_S),
		.measure = true,
	};

	/* Only these workers have jobs. */
	if ((b->workload->flags & WORKLOAD_HOLD) != 0)
		plan.width = (size_t)b->options->pipeline;
	b->phase = &b->workload->phase;
	b->round_jobs = b->phase->jobs;
	if ((b->workload->flags & WORKLOAD_BATCHES) != 0)
		b->round_jobs *= b->batch;
	return loop_run(b, &plan);
}

/* ---- the run ---- */

static int refuse(struct bench *b, const char *why)
{
	buf_printf(&b->error, "%s", why);
	return -1;
}

/* The same for workloads with workers that wait. */
static int settle_waiting(struct bench *b)
{
	if (b->options->dialect == OPTIONS_QLESS || b->options->dialect == OPTIONS_EVALSHA)
		return refuse(b, "only native commands wait: use --dialect native");
	if (b->options->queues > 1 || b->backlog != 0)
		return refuse(b, "this workload has one empty queue: no --queues and no --backlog");
	return 0;
}

/* Check options whose valid values depend on the workload. */
static int settle(struct bench *b)
{
	const struct options *o = b->options;
	const struct workload *w = b->workload;

	b->jobs = o->jobs != 0 ? o->jobs : o->duration_s > 0 ? UINT64_MAX : JOBS_DEFAULT;
	b->batch = o->batch;
	b->rate = o->rate != 0 ? o->rate : w->rate;
	b->putting = (size_t)(o->connections != 0 ? o->connections : w->connections);
	if (b->putting == 0)
		b->putting = CONNECTIONS_DEFAULT;
	b->waiting = (size_t)(o->workers != 0 ? o->workers : w->workers);
	b->waiting_phase = o->dialect == OPTIONS_LISTS ? &workload_taking : &workload_waiting;
	b->counted = w->counted;
	if (o->dialect == OPTIONS_LISTS)
		b->counted = COMMAND_WAIT;
	b->backlog = o->backlog != UINT64_MAX ? o->backlog : w->backlog;
	b->fill = w->fill;
	if (b->fill == FILL_NONE && b->backlog != 0 && (w->flags & WORKLOAD_PLAIN) == 0)
		b->fill = FILL_WAITING;
	b->seed = o->has_seed ? o->seed : ledger_mix((uint64_t)clock_wall_us());
	b->random = ledger_mix(b->seed);
	if (b->batch > 1 && (w->flags & WORKLOAD_BATCHES) == 0)
		return refuse(b, "this workload has no batches: --batch must be 1");
	if ((w->flags & WORKLOAD_FILL_JOBS) != 0 && (o->warmup_s > 0 || b->jobs == UINT64_MAX))
		return refuse(b, "this workload needs --jobs, and no --warmup");
	if ((o->queues != 0 || b->backlog != 0) && (w->flags & WORKLOAD_OWN_QUEUES) != 0)
		return refuse(b, "this workload has a queue for each worker: "
				 "no --queues and no --backlog");
	if (w->phase.steps[0].command == COMMAND_GET && b->backlog == 0)
		return refuse(b, "this workload needs a --backlog");
	if (w->phase.steps[0].command == COMMAND_SET && b->backlog == 0)
		b->backlog = KEYS_DEFAULT;
	if ((w->flags & WORKLOAD_WAIT) != 0)
		return settle_waiting(b);
	if (o->workers != 0)
		return refuse(b, "no workers wait in this workload: no --workers");
	if (!options_dialect_is_qless(o->dialect))
		return refuse(b, "this workload is only for the commands of qless: "
				 "lists and beanstalkd have handoff and wait");
	if (b->jobs != UINT64_MAX && b->jobs % b->batch != 0)
		return refuse(b, "--jobs must be a multiple of --batch");
	return 0;
}

int bench_run(struct bench *b, const struct options *options, const struct workload *workload)
{
	*b = (struct bench){
		.options = options,
		.workload = workload,
		.control = { .fd = -1 },
		.epoll_fd = -1,
		.error = BUF_INIT(BUF_NO_MAX),
	};
	if (settle(b) < 0 || connect_and_prepare(b) < 0 || fill(b) < 0 || hold(b) < 0 ||
	    run_workload(b) < 0)
		return -1;
	if ((workload->flags & WORKLOAD_PLAIN) == 0)
		return traffic_check_queues(b);
	return 0;
}

void bench_done(struct bench *b)
{
	loop_done(b);
	requests_done(b);
	ledger_done(&b->ledger);
	control_done(&b->control);
	for (int i = 0; i < COMMAND_COUNT; i++)
		free(b->m.latencies[i]);
	for (size_t i = 0; i < b->complaint_count; i++)
		free(b->complaints[i]);
	buf_done(&b->error);
}
