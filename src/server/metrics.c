#include "server/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "command/databases.h"
#include "command/table.h"
#include "server/classes.h"
#include "server/commands.h"
#include "server/figures.h"
#include "server/histogram.h"
#include "server/libraries.h"
#include "server/limit_metrics.h"
#include "server/metrics_text.h"
#include "server/names.h"
#include "server/persist.h"
#include "server/push_metrics.h"
#include "server/queues.h"
#include "server/server_int.h"
#include "sys/memory.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/utf8.h"

struct metrics {
	struct server *server;
	struct queues_snapshot queues;
	size_t step;		      /* the next step */
	size_t family;		      /* the next row of queues, after the last step */
	size_t queue;		      /* the next row of the family */
	struct class_metrics classes; /* after the queues */
	bool are_classes_done;
	struct limit_metrics limits; /* after the classes */
};

/* Not inline: rarely run code should not use up the compiler's limit for copies of buf_append(),
 * which hot code needs. */
static void __attribute__((noinline)) append_text(struct buf *out, const char *text)
{
	buf_append_str(out, str_from(text));
}

/*
 * Labels
 */

void metrics_append_label(struct buf *out, struct qless_str text)
{
	size_t i = 0;

	while (i < text.len) {
		size_t len = utf8_length(text.ptr + i, text.len - i);
		unsigned char c = (unsigned char)text.ptr[i];

		if (c == '"')
			append_text(out, "\\\"");
		else if (len == 0 || c < ' ' || c == 0x7f || c == '\\')
			buf_printf(out, "\\\\x%02x", c);
		else
			buf_append(out, text.ptr + i, len);
		i += len != 0 ? len : 1;
	}
}

static void append_label(struct buf *out, const char *name, const char *text)
{
	append_text(out, name);
	append_text(out, "=\"");
	metrics_append_label(out, str_from(text));
	append_text(out, "\"");
}

void metrics_append_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP qlessd_%s %s.\n# TYPE qlessd_%s %s\n", name, help, name, type);
}

/* Append a sample with one label. */
static void append_sample(struct buf *out, const char *name, const char *label, const char *text,
			  double value)
{
	buf_printf(out, "qlessd_%s{", name);
	append_label(out, label, text);
	append_text(out, "} ");
	figures_append_value(out, value);
}

/* metric{label="text",db="0" without the closing brace */
static void append_series(struct buf *out, const struct metrics_series *series, const char *suffix)
{
	append_text(out, "qlessd_");
	append_text(out, series->metric);
	append_text(out, suffix);
	append_text(out, "{");
	append_text(out, series->label);
	append_text(out, "=\"");
	metrics_append_label(out, series->text);
	buf_printf(out, "\",db=\"%u\"", series->db);
}

void metrics_append_sample(struct buf *out, const struct metrics_series *series, const char *suffix,
			   double value)
{
	append_series(out, series, suffix);
	append_text(out, "} ");
	figures_append_value(out, value);
}

void metrics_append_durations(struct buf *out, const struct metrics_series *series,
			      const struct meter_durations *durations)
{
	char bound[NUM_MAX];
	uint64_t count = 0;

	for (size_t i = 0; i <= METER_BOUND_COUNT; i++) {
		count += durations->buckets[i];
		append_series(out, series, "_bucket");
		num_format_g14(bound, meter_bound(i));
		buf_printf(out, ",le=\"%s\"} ", i < METER_BOUND_COUNT ? bound : "+Inf");
		figures_append_value(out, (double)count);
	}
	metrics_append_sum(out, series, (struct meter_sum){ count, durations->sum });
}

void metrics_append_sum(struct buf *out, const struct metrics_series *series, struct meter_sum sum)
{
	metrics_append_sample(out, series, "_sum", sum.sum);
	metrics_append_sample(out, series, "_count", (double)sum.count);
}

/*
 * The server
 */

static void append_info(struct server *s, struct buf *out)
{
	metrics_append_head(out, "info", "gauge", "Always 1; the labels tell what runs here");
	append_text(out, "qlessd_info{");
	append_label(out, "version", QLESSD_VERSION);
	append_text(out, ",");
	append_label(out, "redis_version", REDIS_COMPATIBLE_VERSION);
	append_text(out, ",");
	append_label(out, "run_id", s->run_id);
	append_text(out, ",");
	append_label(out, "allocator", memory_allocator());
	append_text(out, ",");
	append_label(out, "maxmemory_policy", "noeviction");
	append_text(out, "} 1\n");
}

static void append_libraries(struct server *s, struct buf *out)
{
	struct libraries libraries;

	libraries_count(s, &libraries);
	if (libraries.count == 0)
		return;
	metrics_append_head(
		out, "clients_by_library", "gauge",
		"Connections by the library they say they use (client_library in INFO)");
	for (unsigned i = 0; i < libraries.count; i++)
		append_sample(out, "clients_by_library", "library", libraries.of[i].name,
			      (double)libraries.of[i].clients);
}

static void append_databases(struct server *s, struct buf *out)
{
	char number[NUM_MAX];

	metrics_append_head(out, "database_keys", "gauge", "Keys of the ql:* view (db in INFO)");
	for (unsigned i = 0; i < databases_count(s->env.databases); i++) {
		size_t count = s->loading ? 0 : databases_count_keys(s->env.databases, i);

		if (count == 0)
			continue;
		num_format_u64(number, i);
		append_sample(out, "database_keys", "db", number, (double)count);
	}
}

static void append_errors(struct server *s, struct buf *out)
{
	metrics_append_head(out, "errors_total", "counter",
			    "Error replies by their first word (errorstat in INFO)");
	for (unsigned i = 0; i < s->stats.error_kinds; i++)
		append_sample(out, "errors_total", "code", s->stats.errors[i].code,
			      (double)s->stats.errors[i].count);
}

/*
 * Commands
 */

enum command_counter {
	COMMAND_CALLS,
	COMMAND_REJECTED,
	COMMAND_FAILED,
};

static void append_commands(struct server *s, const char *name, const char *help,
			    enum command_counter counter, struct buf *out)
{
	metrics_append_head(out, name, "counter", help);
	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct command_stats *stats = &s->stats.by_command[i];
		const uint64_t values[] = {
			[COMMAND_CALLS] = stats->calls,
			[COMMAND_REJECTED] = stats->rejected,
			[COMMAND_FAILED] = stats->failed,
		};

		if (stats->calls != 0 || stats->rejected != 0)
			append_sample(out, name, "command", command_table_row(s->table, i)->name,
				      (double)values[counter]);
	}
}

/* Buckets end where buckets of the histogram end: at powers of 4, in units of 1024 ns, from one
 * to about 17 seconds. */
#define LATENCY_BUCKETS	 13
#define LATENCY_FIRST_NS UINT64_C(1024)

static void append_duration(const char *command, const struct command_stats *stats, struct buf *out)
{
	uint64_t count = histogram_count(stats->histogram);
	char bound[NUM_MAX];

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		uint64_t ns = LATENCY_FIRST_NS << 2 * i;

		num_format_g14(bound, (double)ns / 1e9);
		buf_printf(out, "qlessd_command_duration_seconds_bucket{command=\"%s\",le=\"%s\"} ",
			   command, bound);
		figures_append_value(out, (double)histogram_count_up_to(stats->histogram, ns - 1));
	}
	buf_printf(out, "qlessd_command_duration_seconds_bucket{command=\"%s\",le=\"+Inf\"} ",
		   command);
	figures_append_value(out, (double)count);
	append_sample(out, "command_duration_seconds_sum", "command", command,
		      (double)stats->total_ns / 1e9);
	append_sample(out, "command_duration_seconds_count", "command", command, (double)count);
}

static void append_durations(struct server *s, struct buf *out)
{
	metrics_append_head(
		out, "command_duration_seconds", "histogram",
		"Duration of commands, if latency-tracking is on (latency_percentiles_usec "
		"in INFO)");
	for (int i = 0; i < command_table_count(s->table); i++) {
		const struct command_stats *stats = &s->stats.by_command[i];

		if (stats->histogram != NULL)
			append_duration(command_table_row(s->table, i)->name, stats, out);
	}
}

/*
 * The page is made in steps. With many queues some steps take milliseconds, so each is a portion of
 * its own.
 */

static void step_commands(struct metrics *m, struct buf *out)
{
	struct server *s = m->server;

	append_info(s, out);
	append_libraries(s, out);
	append_errors(s, out);
	append_commands(s, "command_calls_total", "Commands run (cmdstat in INFO)", COMMAND_CALLS,
			out);
	append_commands(s, "command_rejected_total", "Commands refused before they ran",
			COMMAND_REJECTED, out);
	append_commands(s, "command_failed_total", "Commands that ran and failed", COMMAND_FAILED,
			out);
	append_durations(s, out);
}

static void step_figures(struct metrics *m, struct buf *out)
{
	figures_append_metrics(m->server, out);
}

static void step_databases(struct metrics *m, struct buf *out)
{
	append_databases(m->server, out);
	push_metrics_append(m->server, out);
}

static void step_take_queues(struct metrics *m, struct buf *out)
{
	queues_take(m->server, m->server->config->http_max_queues, &m->queues);
	metrics_append_head(out, "queues_left_out", "gauge",
			    "Queues without metrics of their own, beyond http-max-queues");
	append_text(out, "qlessd_queues_left_out ");
	figures_append_value(out, (double)m->queues.left_out);
}

static void (*const steps[])(struct metrics *m, struct buf *out) = {
	step_commands,
	step_figures,
	step_databases,
	step_take_queues,
};
#define STEPS (sizeof steps / sizeof steps[0])

/*
 * Queues
 */

struct queue_family {
	const char *name;
	const char *type;
	const char *help;
	void (*append)(const struct queue_family *family, const struct queue_row *row,
		       struct buf *out);
	size_t at; /* offset of a number in struct view_queue_figures, or index of an event or an
		    * end */
};

static struct metrics_series series_of(const struct queue_family *family,
				       const struct queue_row *row)
{
	return (struct metrics_series){ family->name, "queue", row->figures.name, row->db };
}

static void append_queue_value(const struct queue_family *family, const struct queue_row *row,
			       double value, struct buf *out)
{
	struct metrics_series series = series_of(family, row);

	metrics_append_sample(out, &series, "", value);
}

static void append_queue_number(const struct queue_family *family, const struct queue_row *row,
				struct buf *out)
{
	const char *at = (const char *)&row->figures + family->at;

	append_queue_value(family, row, (double)*(const uint64_t *)(const void *)at, out);
}

static void append_queue_paused(const struct queue_family *family, const struct queue_row *row,
				struct buf *out)
{
	append_queue_value(family, row, row->figures.paused, out);
}

static void append_queue_wait_now(const struct queue_family *family, const struct queue_row *row,
				  struct buf *out)
{
	append_queue_value(family, row, row->oldest_wait_s, out);
}

static void append_queue_listeners(const struct queue_family *family, const struct queue_row *row,
				   struct buf *out)
{
	append_queue_value(family, row, (double)row->listeners, out);
}

static void append_queue_events(const struct queue_family *family, const struct queue_row *row,
				struct buf *out)
{
	append_queue_value(family, row, (double)row->figures.meter->counts[family->at], out);
}

static void append_queue_wait(const struct queue_family *family, const struct queue_row *row,
			      struct buf *out)
{
	struct metrics_series series = series_of(family, row);

	metrics_append_durations(out, &series, &row->figures.meter->wait);
}

static void append_queue_run(const struct queue_family *family, const struct queue_row *row,
			     struct buf *out)
{
	struct metrics_series series = series_of(family, row);

	metrics_append_durations(out, &series, &row->figures.meter->run);
}

static void append_queue_end(const struct queue_family *family, const struct queue_row *row,
			     struct buf *out)
{
	struct metrics_series series = series_of(family, row);

	metrics_append_sum(out, &series, row->figures.meter->ends[family->at]);
}

static void append_queue_lifetime(const struct queue_family *family, const struct queue_row *row,
				  struct buf *out)
{
	struct metrics_series series = series_of(family, row);

	metrics_append_sum(out, &series, meter_lifetime(row->figures.meter));
}

static void append_queue_attempts(const struct queue_family *family, const struct queue_row *row,
				  struct buf *out)
{
	const struct meter *meter = row->figures.meter;
	struct metrics_series series = series_of(family, row);

	metrics_append_sum(out, &series,
			   (struct meter_sum){ meter->counts[METER_COMPLETE], meter->attempts });
}

#define NUMBER(field) append_queue_number, offsetof(struct view_queue_figures, field)

static const struct queue_family queue_families[] = {
#define QUEUE_LIST_FAMILY(NAME, field, figure, state, since, word, what, help) \
	{ "queue_" #figure "_jobs", "gauge", help, NUMBER(figure) },
	QUEUE_LIST_ROWS(QUEUE_LIST_FAMILY)
#undef QUEUE_LIST_FAMILY
		{ "queue_stalled_jobs", "gauge", "Jobs of the queue whose lock has expired",
		  NUMBER(stalled) },
	{ "queue_failed_jobs", "gauge", "Jobs that failed in the queue", NUMBER(failed) },
	{ "queue_paused", "gauge", "Whether the queue is paused", append_queue_paused, 0 },
	{ "queue_oldest_waiting_seconds", "gauge",
	  "How long the oldest waiting job of the queue has waited", append_queue_wait_now, 0 },
	{ "queue_listeners", "gauge",
	  "Attached workers that take jobs from the queue, and other clients that wait for it",
	  append_queue_listeners, 0 },
	{ "queue_puts_total", "counter", "Jobs that entered the queue", append_queue_events,
	  METER_PUT },
	{ "queue_pops_total", "counter", "Jobs that workers popped", append_queue_events,
	  METER_POP },
	{ "queue_completes_total", "counter",
	  "Jobs completed, including those that went on to another queue", append_queue_events,
	  METER_COMPLETE },
	{ "queue_fails_total", "counter", "Jobs that failed", append_queue_events, METER_FAIL },
	{ "queue_retries_total", "counter", "Jobs that workers gave back", append_queue_events,
	  METER_RETRY },
	{ "queue_lost_locks_total", "counter",
	  "Locks that expired, or that TIMEOUT took from a worker", append_queue_events,
	  METER_LOSE },
	{ "queue_job_wait_seconds", "histogram", "Time that jobs waited for a worker",
	  append_queue_wait, 0 },
	{ "queue_job_run_seconds", "histogram", "Time that jobs ran until they completed",
	  append_queue_run, 0 },
	{ "queue_job_completion_seconds", "summary",
	  "Time from the first put of jobs until they were complete", append_queue_end,
	  METER_TO_COMPLETE },
	{ "queue_job_failure_seconds", "summary",
	  "Time from the first put of jobs until they failed", append_queue_end, METER_TO_FAIL },
	{ "queue_job_lifetime_seconds", "summary", "Time from the first put of jobs to their end",
	  append_queue_lifetime, 0 },
	{ "queue_job_attempts", "summary", "Times that completed jobs were popped",
	  append_queue_attempts, 0 },
};
#define QUEUE_FAMILIES (sizeof queue_families / sizeof queue_families[0])

struct metrics *metrics_new(struct server *s)
{
	struct metrics *m = mem_zalloc(sizeof *m);

	m->server = s;
	class_metrics_begin(&m->classes, s);
	limit_metrics_begin(&m->limits, s);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (m == NULL)
		return;
	queues_snapshot_done(&m->queues);
	class_metrics_done(&m->classes);
	limit_metrics_done(&m->limits);
	free(m);
}

static void append_queues(struct metrics *m, struct buf *out, size_t about_bytes)
{
	while (m->family < QUEUE_FAMILIES && out->len < about_bytes) {
		const struct queue_family *family = &queue_families[m->family];

		/* The head goes into the same portion as the first row. Otherwise the next
		 * portion would write it again. */
		if (m->queue == 0)
			metrics_append_head(out, family->name, family->type, family->help);
		for (; m->queue < m->queues.count; m->queue++) {
			if (m->queue != 0 && out->len >= about_bytes)
				return;
			family->append(family, &m->queues.rows[m->queue], out);
		}
		m->queue = 0;
		m->family++;
	}
}

/* Classes and limits. A portion without any bytes would not be sent, nor the ones after it, so
 * where there are no classes, the limits follow at once. */
static bool append_rest(struct metrics *m, struct buf *out, size_t max_len)
{
	size_t len = out->len;

	if (!m->are_classes_done)
		m->are_classes_done = !class_metrics_append(&m->classes, out, max_len);
	if (out->len > len)
		return true;
	return limit_metrics_append(&m->limits, out, max_len);
}

bool metrics_append(struct metrics *m, struct buf *out, size_t about_bytes)
{
	if (m->step < STEPS)
		steps[m->step++](m, out);
	else if (m->family < QUEUE_FAMILIES)
		append_queues(m, out, out->len + about_bytes);
	else
		return append_rest(m, out, out->len + about_bytes);
	return true;
}
