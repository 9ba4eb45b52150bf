#include "server/classes.h"

#include <stdlib.h>

#include "command/databases.h"
#include "server/figures.h"
#include "server/metrics_text.h"
#include "server/queues.h"
#include "server/server_int.h"
#include "util/mem.h"

struct class_row {
	unsigned db;
	struct qless_str name;
	struct meter meter; /* at that moment */
};

/* Call `visit` for all classes. Sets *db to the number of the current database. */
static void each_class(struct server *s, unsigned *db, view_class_fn *visit, void *arg)
{
	for (*db = 0; !s->loading && *db < databases_count(s->env.databases); ++*db) {
		const struct qless *engine = databases_peek(s->env.databases, *db);

		if (engine != NULL)
			view_each_class(engine, visit, arg);
	}
}

/*
 * INFO
 */

struct busy_class {
	unsigned db;
	struct view_class_figures figures;
	uint64_t events;
};

struct busy_classes {
	unsigned db;
	struct busy_class *items;
	size_t count, cap;
};

static void add_busy(void *arg, const struct view_class_figures *klass)
{
	struct busy_classes *all = arg;

	all->items = mem_grow(all->items, &all->cap, all->count + 1, sizeof *all->items);
	all->items[all->count++] = (struct busy_class){
		.db = all->db,
		.figures = *klass,
		.events = klass->meter->counts[METER_PUT] + klass->meter->counts[METER_POP],
	};
}

static int compare_busy(const void *left, const void *right)
{
	const struct busy_class *a = left, *b = right;

	if (a->events != b->events)
		return a->events > b->events ? -1 : 1;
	if (a->db != b->db)
		return a->db < b->db ? -1 : 1;
	return str_compare(a->figures.name, b->figures.name);
}

static double mean(struct meter_sum sum)
{
	return sum.count != 0 ? sum.sum / (double)sum.count : 0;
}

static void append_line(struct buf *out, size_t number, const struct busy_class *klass)
{
	const struct meter *m = klass->figures.meter;
	struct meter_sum attempts = { m->counts[METER_COMPLETE], m->attempts };

	buf_printf(out, "class%zu:name=", number);
	queues_append_name(out, klass->figures.name);
	buf_printf(out, ",db=%u", klass->db);
	queues_append_meter(out, m);
	buf_printf(out, ",attempts=%.2f,completion_time=%.3f,failure_time=%.3f,lifetime=%.3f\r\n",
		   mean(attempts), mean(m->ends[METER_TO_COMPLETE]), mean(m->ends[METER_TO_FAIL]),
		   mean(meter_lifetime(m)));
}

void classes_append_info(struct server *s, struct buf *out)
{
	struct busy_classes all = { 0 };

	/* A class may have jobs in any queue, so its figures are for those that may read all. */
	if (queues_find_viewer(s) != NULL)
		return;
	each_class(s, &all.db, add_busy, &all);
	if (all.count != 0)
		qsort(all.items, all.count, sizeof *all.items, compare_busy);
	for (size_t i = 0; i < all.count && i < CLASSES_INFO_MAX; i++)
		append_line(out, i, &all.items[i]);
	free(all.items);
}

/*
 * Metrics
 */

struct taken_classes {
	struct class_metrics *m;
	unsigned db;
};

static void take_class(void *arg, const struct view_class_figures *klass)
{
	const struct taken_classes *taken = arg;
	struct class_metrics *m = taken->m;
	struct class_row *row;

	m->rows = mem_grow(m->rows, &m->cap, m->count + 1, sizeof *m->rows);
	row = &m->rows[m->count++];
	row->db = taken->db;
	row->name = str_make(mem_dup(klass->name.ptr, klass->name.len), klass->name.len);
	row->meter = *klass->meter;
}

struct class_family {
	const char *name;
	const char *type;
	const char *help;
	void (*append)(const struct class_family *family, const struct metrics_series *series,
		       const struct meter *meter, struct buf *out);
	size_t at; /* index of an event, or of an end */
};

static void append_events(const struct class_family *family, const struct metrics_series *series,
			  const struct meter *meter, struct buf *out)
{
	metrics_append_sample(out, series, "", (double)meter->counts[family->at]);
}

static void append_wait(const struct class_family *family, const struct metrics_series *series,
			const struct meter *meter, struct buf *out)
{
	(void)family;
	metrics_append_durations(out, series, &meter->wait);
}

static void append_run(const struct class_family *family, const struct metrics_series *series,
		       const struct meter *meter, struct buf *out)
{
	(void)family;
	metrics_append_durations(out, series, &meter->run);
}

static void append_end(const struct class_family *family, const struct metrics_series *series,
		       const struct meter *meter, struct buf *out)
{
	metrics_append_sum(out, series, meter->ends[family->at]);
}

static void append_lifetime(const struct class_family *family, const struct metrics_series *series,
			    const struct meter *meter, struct buf *out)
{
	(void)family;
	metrics_append_sum(out, series, meter_lifetime(meter));
}

static void append_attempts(const struct class_family *family, const struct metrics_series *series,
			    const struct meter *meter, struct buf *out)
{
	(void)family;
	metrics_append_sum(out, series,
			   (struct meter_sum){ meter->counts[METER_COMPLETE], meter->attempts });
}

static const struct class_family families[] = {
	{ "class_puts_total", "counter", "Jobs of the class that entered a queue (class in INFO)",
	  append_events, METER_PUT },
	{ "class_pops_total", "counter", "Jobs of the class that workers popped", append_events,
	  METER_POP },
	{ "class_completes_total", "counter",
	  "Jobs of the class completed, including those that went on to another queue",
	  append_events, METER_COMPLETE },
	{ "class_fails_total", "counter", "Jobs of the class that failed", append_events,
	  METER_FAIL },
	{ "class_retries_total", "counter", "Jobs of the class that workers gave back",
	  append_events, METER_RETRY },
	{ "class_lost_locks_total", "counter",
	  "Locks of jobs of the class that expired, or that TIMEOUT took from a worker",
	  append_events, METER_LOSE },
	{ "class_job_wait_seconds", "histogram", "Time that jobs of the class waited for a worker",
	  append_wait, 0 },
	{ "class_job_run_seconds", "histogram",
	  "Time that jobs of the class ran until they completed", append_run, 0 },
	{ "class_job_completion_seconds", "summary",
	  "Time from the first put of jobs of the class until they were complete", append_end,
	  METER_TO_COMPLETE },
	{ "class_job_failure_seconds", "summary",
	  "Time from the first put of jobs of the class until they failed", append_end,
	  METER_TO_FAIL },
	{ "class_job_lifetime_seconds", "summary",
	  "Time from the first put of jobs of the class to their end", append_lifetime, 0 },
	{ "class_job_attempts", "summary", "Times that completed jobs of the class were popped",
	  append_attempts, 0 },
};
#define FAMILIES (sizeof families / sizeof families[0])

void class_metrics_begin(struct class_metrics *m, struct server *s)
{
	*m = (struct class_metrics){ .server = s };
}

void class_metrics_done(struct class_metrics *m)
{
	for (size_t i = 0; i < m->count; i++)
		free((char *)(uintptr_t)m->rows[i].name.ptr);
	free(m->rows);
}

bool class_metrics_append(struct class_metrics *m, struct buf *out, size_t max_len)
{
	if (!m->has_begun) {
		struct taken_classes taken = { .m = m };

		m->has_begun = true;
		each_class(m->server, &taken.db, take_class, &taken);
	}
	/* The lines before a metric go into the same portion as its first row. */
	while (m->count != 0 && m->family < FAMILIES && out->len < max_len) {
		const struct class_family *family = &families[m->family];

		if (m->row == 0)
			metrics_append_head(out, family->name, family->type, family->help);
		for (; m->row < m->count; m->row++) {
			const struct class_row *row = &m->rows[m->row];

			if (m->row != 0 && out->len >= max_len)
				return true;
			family->append(family,
				       &(struct metrics_series){ family->name, "class", row->name,
								 row->db },
				       &row->meter, out);
		}
		m->row = 0;
		m->family++;
	}
	return m->count != 0 && m->family < FAMILIES;
}
