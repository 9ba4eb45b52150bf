#include "benchmark/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchmark/bench.h"
#include "util/json.h"
#include "util/mem.h"

#define PROGRESS_NS 250000000
#define US	    1000.0
#define MIB	    (1024.0 * 1024.0)
#define BAR_WIDTH   50
#define NUMBER_MAX  40
#define BUSY_SHARE  0.9 /* share of a core above which a process is the limit */
#define LATE_NS	    1000000

static const struct {
	const char *title;
	const char *key;
	double percent;
} percentiles[] = {
	{ "p50", "p50_us", 50 },       { "p90", "p90_us", 90 },		 { "p99", "p99_us", 99 },
	{ "p99.9", "p99.9_us", 99.9 }, { "p99.99", "p99.99_us", 99.99 },
};

#define PERCENTILE_COUNT (sizeof(percentiles) / sizeof(percentiles[0]))

/* Figures derived from the measurement. */
struct result {
	double seconds, own_cpu, server_cpu, server_us_per_command;
	double own_run_delay, server_run_delay; /* parts of the time */
	struct histogram *all;
	bool has_log;
	uint64_t log_bytes;
};

static void result_init(const struct bench *b, struct result *ret)
{
	const struct measurement *m = &b->m;
	double server_s = m->after.cpu_s - m->before.cpu_s;

	*ret = (struct result){ .seconds = (double)(m->end_ns - m->start_ns) / 1e9 };
	ret->all = mem_zalloc(sizeof(*ret->all));
	for (int i = 0; i < COMMAND_COUNT; i++) {
		if (m->latencies[i] != NULL)
			histogram_merge(ret->all, m->latencies[i]);
	}
	if (ret->seconds > 0) {
		ret->own_cpu = m->own_cpu_s / ret->seconds;
		ret->server_cpu = server_s / ret->seconds;
		ret->own_run_delay = m->own_run_delay_s / ret->seconds;
		ret->server_run_delay =
			(m->after.run_delay_s - m->before.run_delay_s) / ret->seconds;
	}
	if (m->commands != 0)
		ret->server_us_per_command = server_s * 1e6 / (double)m->commands;
	/* A rewrite hides how much was written to the log. */
	ret->has_log = m->before.has_log && m->after.has_log &&
		       m->after.log_base == m->before.log_base && m->after.log >= m->before.log;
	ret->log_bytes = ret->has_log ? m->after.log - m->before.log : 0;
}

static void result_done(struct result *r)
{
	free(r->all);
}

/* The latency of a command that waits is that of the hand-over. */
static const char *name_of(const struct bench *b, int command)
{
	return command == COMMAND_WAIT ? "hand-over" : b->names[command];
}

/* 1234567.8 as "1,234,568". */
static const char *grouped(double value, char to[NUMBER_MAX])
{
	char digits[NUMBER_MAX];
	int len = snprintf(digits, sizeof digits / 2, "%.0f", value), at = 0;

	for (int i = 0; i < len; i++) {
		if (i != 0 && (len - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = '\0';
	return to;
}

static double per_second(const struct result *r, uint64_t count)
{
	return r->seconds > 0 ? (double)count / r->seconds : 0;
}

/* ---- progress ---- */

void report_progress(struct bench *b)
{
	int64_t passed_ns = b->now_ns - b->progress_ns;
	char number[NUMBER_MAX];

	if (passed_ns < PROGRESS_NS || (!b->options->progress && !isatty(STDERR_FILENO)))
		return;
	if (!b->is_measuring)
		fprintf(stderr, "\r\033[K%s: preparing, %s jobs", b->workload->name,
			grouped((double)b->started, number));
	else if (b->has_progress)
		fprintf(stderr, "\r\033[K%s: %.1f s, %s commands/s", b->workload->name,
			(double)(b->now_ns - b->m.start_ns) / 1e9,
			grouped((double)(b->m.commands - b->progress_commands) /
					((double)passed_ns / 1e9),
				number));
	fflush(stderr);
	b->has_progress = true;
	b->progress_ns = b->now_ns;
	b->progress_commands = b->m.commands;
}

void report_end_progress(struct bench *b)
{
	if (b->has_progress)
		fputs("\r\033[K", stderr);
	b->has_progress = false;
}

/* ---- warnings ---- */

/* A reason to distrust the figures, or NULL. */
static const char *warning(const struct bench *b, const struct result *r)
{
	if (b->rate != 0 && b->m.late_ns > LATE_NS && r->own_cpu > BUSY_SHARE)
		return "this program could not keep the rate";
	if (r->own_cpu < BUSY_SHARE || b->rate != 0)
		return NULL;
	if (b->server.pid == 0)
		return "this program used all its processor time: it may be the limit, "
		       "not the server";
	if (r->server_cpu < BUSY_SHARE && r->server_cpu < r->own_cpu)
		return "this program is the limit, not the server";
	return NULL;
}

static void print_complaints(const struct bench *b)
{
	for (size_t i = 0; i < b->complaint_count; i++)
		fprintf(stderr, "qlessd-benchmark: %s\n", b->complaints[i]);
	if (b->errors > b->complaint_count)
		fprintf(stderr, "qlessd-benchmark: and %" PRIu64 " more like these\n",
			b->errors - b->complaint_count);
}

/* ---- the table ---- */

static void print_head(const struct bench *b)
{
	const struct options *o = b->options;

	printf("%s on %s: %s, %zu connections", b->workload->name, b->server.name,
	       options_dialects[o->dialect], b->putting);
	if (b->waiting != 0)
		printf(", %zu waiting workers", b->waiting);
	if (b->rate != 0)
		printf(", %" PRIu64 " requests a second", b->rate);
	else
		printf(", pipeline %" PRIu64, o->pipeline);
	printf(", payload %" PRIu64 " bytes", o->payload);
	if (b->queue_count > 1)
		printf(", %zu queues", b->queue_count);
	if (b->batch > 1)
		printf(", batches of %" PRIu64, b->batch);
	if (b->backlog != 0)
		printf(", backlog %" PRIu64, b->backlog);
	printf("\n\n");
}

static void print_latencies(const char *name, const struct histogram *h)
{
	printf("%-14s %11" PRIu64 " %9.1f", name, h->count, histogram_mean(h) / US);
	for (size_t i = 0; i < PERCENTILE_COUNT; i++)
		printf(" %9.1f", (double)histogram_percentile(h, percentiles[i].percent) / US);
	printf(" %9.1f\n", (double)h->max / US);
}

static void print_all_latencies(const struct bench *b, const struct result *r)
{
	int kinds = 0;

	printf("%-14s %11s %9s", "microseconds", "replies", "mean");
	for (size_t i = 0; i < PERCENTILE_COUNT; i++)
		printf(" %9s", percentiles[i].title);
	printf(" %9s\n", "max");
	for (int i = 0; i < COMMAND_COUNT; i++) {
		if (b->m.latencies[i] == NULL)
			continue;
		print_latencies(name_of(b, i), b->m.latencies[i]);
		kinds++;
	}
	if (kinds > 1)
		print_latencies("all", r->all);
	putchar('\n');
}

static void print_throughput(const struct bench *b, const struct result *r)
{
	char number[NUMBER_MAX];

	if (b->m.jobs != 0)
		printf("jobs/s      %13s\n", grouped(per_second(r, b->m.jobs), number));
	printf("commands/s  %13s\n", grouped(per_second(r, b->m.commands), number));
	printf("seconds     %13.3f\n", r->seconds);
	printf("errors      %13" PRIu64 "\n", b->errors);
}

/* Whether the server keeps every job. */
static bool jobs_stay(const struct bench *b)
{
	return b->workload->phase.count == 1 && b->counted == COMMAND_PUT;
}

static void print_resources(const struct bench *b, const struct result *r)
{
	const struct measurement *m = &b->m;

	printf("\nthis program    %5.0f%% of a core\n", r->own_cpu * 100);
	if (b->server.pid != 0) {
		printf("server          %5.0f%% of a core, %.2f microseconds a command\n",
		       r->server_cpu * 100, r->server_us_per_command);
		printf("server memory   %.1f MiB before, %.1f MiB after",
		       (double)m->before.rss / MIB, (double)m->after.rss / MIB);
		if (jobs_stay(b) && m->jobs != 0 && m->after.rss > m->before.rss)
			printf(", %.0f bytes a job",
			       (double)(m->after.rss - m->before.rss) / (double)m->jobs);
		putchar('\n');
	}
	if (r->has_log)
		printf("log             %.1f MiB, %.0f bytes a command\n",
		       (double)r->log_bytes / MIB,
		       m->commands != 0 ? (double)r->log_bytes / (double)m->commands : 0);
}

static void print_histogram(const struct histogram *h)
{
	uint64_t below = 0, most = 0;

	/* One line for each power of two from a microsecond to the largest value. */
	for (int pass = 0; pass < 2; pass++) {
		below = 0;
		for (uint64_t up_to = 1024; below < h->count; up_to *= 2) {
			uint64_t all = histogram_count_below(h, up_to), here = all - below;

			below = all;
			if (here > most)
				most = here;
			if (pass == 0 || here == 0)
				continue;
			printf("  < %9.0f us %11" PRIu64 " ", (double)up_to / 1024, here);
			for (uint64_t i = 0; i < (here * BAR_WIDTH + most - 1) / most; i++)
				putchar('#');
			putchar('\n');
		}
	}
	putchar('\n');
}

void report_table(struct bench *b)
{
	struct result r;
	const char *warns;

	result_init(b, &r);
	warns = warning(b, &r);
	print_head(b);
	print_all_latencies(b, &r);
	if (b->options->histogram || b->rate != 0)
		print_histogram(r.all);
	print_throughput(b, &r);
	print_resources(b, &r);
	if (warns != NULL)
		printf("\nwarning: %s\n", warns);
	fflush(stdout);
	print_complaints(b);
	result_done(&r);
}

/* ---- JSON ---- */

static void append_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\":", key);
	if (value != NULL)
		json_append_string(out, str_from(value));
	else
		buf_append_str(out, STR("null"));
	buf_append_char(out, ',');
}

static void append_count(struct buf *out, const char *key, uint64_t value)
{
	buf_printf(out, "\"%s\":%" PRIu64 ",", key, value);
}

static void append_number(struct buf *out, const char *key, double value, int decimals)
{
	buf_printf(out, "\"%s\":%.*f,", key, decimals, value);
}

/* End an object or an array, whose last member is followed by a comma. */
static void append_end(struct buf *out, char bracket)
{
	if (out->len != 0 && buf_data(out)[out->len - 1] == ',')
		buf_truncate(out, out->len - 1);
	buf_append_char(out, bracket);
	buf_append_char(out, ',');
}

static void append_latencies(struct buf *out, const char *name, const struct histogram *h)
{
	json_append_string(out, str_from(name));
	buf_append_str(out, STR(":{"));
	append_count(out, "count", h->count);
	append_number(out, "mean_us", histogram_mean(h) / US, 2);
	for (size_t i = 0; i < PERCENTILE_COUNT; i++)
		append_number(out, percentiles[i].key,
			      (double)histogram_percentile(h, percentiles[i].percent) / US, 2);
	append_number(out, "max_us", (double)h->max / US, 2);
	append_end(out, '}');
}

static void append_settings(struct buf *out, const struct bench *b)
{
	const struct options *o = b->options;

	append_text(out, "server", b->server.name);
	append_text(out, "workload", b->workload->name);
	append_text(out, "dialect", options_dialects[o->dialect]);
	append_count(out, "connections", b->putting);
	append_count(out, "workers", b->waiting);
	append_count(out, "pipeline", o->pipeline);
	append_count(out, "rate", b->rate);
	append_count(out, "payload", o->payload);
	append_count(out, "queues", b->queue_count);
	append_count(out, "batch", b->batch);
	append_count(out, "backlog", b->backlog);
	append_count(out, "seed", b->seed);
}

static void append_resources(struct buf *out, const struct bench *b, const struct result *r)
{
	const struct measurement *m = &b->m;

	append_number(out, "client_cpu", r->own_cpu, 3);
	append_number(out, "client_run_delay", r->own_run_delay, 6);
	if (b->rate != 0)
		append_number(out, "late_max_us", (double)m->late_ns / US, 2);
	if (b->server.pid != 0) {
		append_number(out, "server_cpu", r->server_cpu, 6);
		append_number(out, "server_run_delay", r->server_run_delay, 6);
		append_number(out, "server_us_per_command", r->server_us_per_command, 3);
		append_count(out, "rss_before", m->before.rss);
		append_count(out, "rss_after", m->after.rss);
	}
	if (r->has_log)
		append_count(out, "log_bytes", r->log_bytes);
	append_text(out, "warning", warning(b, r));
}

void report_json(struct bench *b)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	struct result r;

	result_init(b, &r);
	buf_append_char(&out, '{');
	append_settings(&out, b);
	append_number(&out, "seconds", r.seconds, 6);
	append_count(&out, "jobs", b->m.jobs);
	append_count(&out, "commands", b->m.commands);
	append_number(&out, "jobs_per_second", per_second(&r, b->m.jobs), 1);
	append_number(&out, "commands_per_second", per_second(&r, b->m.commands), 1);
	append_resources(&out, b, &r);
	buf_append_str(&out, STR("\"latency\":{"));
	for (int i = 0; i < COMMAND_COUNT; i++) {
		if (b->m.latencies[i] != NULL)
			append_latencies(&out, name_of(b, i), b->m.latencies[i]);
	}
	append_latencies(&out, "all", r.all);
	append_end(&out, '}');
	append_count(&out, "errors", b->errors);
	buf_append_str(&out, STR("\"complaints\":["));
	for (size_t i = 0; i < b->complaint_count; i++) {
		json_append_string(&out, str_from(b->complaints[i]));
		buf_append_char(&out, ',');
	}
	append_end(&out, ']');
	append_end(&out, '}');
	buf_truncate(&out, out.len - 1);
	puts(buf_cstr(&out));
	buf_done(&out);
	result_done(&r);
}
