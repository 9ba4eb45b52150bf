#include "server/limit_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/databases.h"
#include "server/figures.h"
#include "server/metrics_text.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Limits that a portion looks at, and steps of the walk. Either takes less than a millisecond. */
#define LIMITS_PER_PORTION 500
#define STEPS_PER_PORTION  5000

struct limit_row {
	unsigned db;
	struct qless_str name; /* in memory of its own */
	uint64_t jobs;	       /* that wait or run */
	double waiting;
	double running;
	double concurrency;
	double closed_s; /* until it opens */
};

/*
 * The largest limits
 */

static void sift_down(struct limit_metrics *m, size_t place)
{
	struct limit_row row = m->rows[place];

	for (;;) {
		size_t next = 2 * place + 1;

		if (next + 1 < m->count && m->rows[next + 1].jobs < m->rows[next].jobs)
			next++;
		if (next >= m->count || m->rows[next].jobs >= row.jobs)
			break;
		m->rows[place] = m->rows[next];
		place = next;
	}
	m->rows[place] = row;
}

static void copy_name(struct limit_row *row)
{
	row->name.ptr = mem_dup(row->name.ptr, row->name.len);
}

static void free_name(struct limit_row *row)
{
	free((char *)(uintptr_t)row->name.ptr);
}

static void add_row(struct limit_metrics *m, const struct limit_row *row)
{
	m->rows = mem_grow(m->rows, &m->cap, m->count + 1, sizeof *m->rows);
	m->rows[m->count] = *row;
	copy_name(&m->rows[m->count++]);
	for (size_t i = m->count / 2; m->count == m->max && i-- > 0;)
		sift_down(m, i);
}

static void consider(struct limit_metrics *m, const struct limit_row *row)
{
	if (m->count < m->max) {
		add_row(m, row);
		return;
	}
	m->left_out++;
	if (m->max == 0 || row->jobs <= m->rows[0].jobs)
		return;
	free_name(&m->rows[0]);
	m->rows[0] = *row;
	copy_name(&m->rows[0]);
	sift_down(m, 0);
}

/*
 * The walk
 */

struct walk {
	struct limit_metrics *m;
	const struct qless *engine;
	double now;
	int left;
};

static void visit_limit(void *arg, struct qless_str name)
{
	struct walk *walk = arg;
	struct qless_limit_info info;
	struct limit_row row = { .db = walk->m->db, .name = name };

	walk->left--;
	if (!qless_limit_get(walk->engine, walk->now, name, &info))
		return;
	row.jobs = info.waiting + info.running;
	row.waiting = (double)info.waiting;
	row.running = (double)info.running;
	row.concurrency = (double)info.concurrency;
	row.closed_s = fmax(info.opens - walk->now, 0);
	consider(walk->m, &row);
}

/* Looks at some limits. Returns false if there are no more. */
static bool look_at_some(struct limit_metrics *m)
{
	struct server *s = m->server;
	struct walk walk = { .m = m, .left = LIMITS_PER_PORTION };

	/* A limit is charged by the native clock, which may be a little ahead of the other one. */
	walk.now = clock_seconds(steady_clock_peek_us(&s->clocks.native));
	for (int i = 0; i < STEPS_PER_PORTION && walk.left > 0; i++) {
		if (s->loading || m->db >= databases_count(s->env.databases))
			return false;
		walk.engine = databases_peek(s->env.databases, m->db);
		if (walk.engine != NULL)
			m->cursor = qless_limit_scan(walk.engine, m->cursor, visit_limit, &walk);
		if (walk.engine == NULL || m->cursor == 0) {
			m->cursor = 0;
			m->db++;
		}
	}
	return true;
}

/*
 * The text
 */

struct limit_family {
	const char *name;
	const char *help;
	size_t at; /* offset of the value in struct limit_row */
};

static const struct limit_family families[] = {
	{ "limit_waiting_jobs", "Waiting jobs that name the limit",
	  offsetof(struct limit_row, waiting) },
	{ "limit_running_jobs", "Running jobs that name the limit",
	  offsetof(struct limit_row, running) },
	{ "limit_concurrency", "Jobs that may run under the limit at the same time; 0 is no bound",
	  offsetof(struct limit_row, concurrency) },
	{ "limit_closed_seconds",
	  "How long the limit hands out nothing: 0 if it is open, +Inf until its rule changes",
	  offsetof(struct limit_row, closed_s) },
};

#define FAMILIES (sizeof families / sizeof families[0])

static void append_value(struct buf *out, double value)
{
	if (isinf(value))
		buf_append_str(out, STR("+Inf\n"));
	else
		figures_append_value(out, value);
}

static void append_row(const struct limit_family *family, const struct limit_row *row,
		       struct buf *out)
{
	const char *at = (const char *)row + family->at;

	buf_printf(out, "qlessd_%s{limit=\"", family->name);
	metrics_append_label(out, row->name);
	buf_printf(out, "\",db=\"%u\"} ", row->db);
	append_value(out, *(const double *)(const void *)at);
}

static void append_left_out(const struct limit_metrics *m, struct buf *out)
{
	metrics_append_head(out, "limits_left_out", "gauge",
			    "Limits without metrics of their own, beyond http-max-limits");
	buf_append_str(out, STR("qlessd_limits_left_out "));
	figures_append_value(out, (double)m->left_out);
}

void limit_metrics_begin(struct limit_metrics *m, struct server *s)
{
	*m = (struct limit_metrics){ .server = s, .max = s->config->http_max_limits };
}

void limit_metrics_done(struct limit_metrics *m)
{
	for (size_t i = 0; i < m->count; i++)
		free_name(&m->rows[i]);
	free(m->rows);
}

/* The lines before a metric go into the same portion as its first row. */
static void append_some(struct limit_metrics *m, struct buf *out, size_t max_len)
{
	while (m->family < FAMILIES && out->len < max_len) {
		const struct limit_family *family = &families[m->family];

		if (m->row == 0)
			metrics_append_head(out, family->name, "gauge", family->help);
		for (; m->row < m->count; m->row++) {
			if (m->row != 0 && out->len >= max_len)
				return;
			append_row(family, &m->rows[m->row], out);
		}
		m->row = 0;
		m->family++;
	}
}

bool limit_metrics_append(struct limit_metrics *m, struct buf *out, size_t max_len)
{
	if (!m->has_begun) {
		if (look_at_some(m)) {
			/* A portion without any bytes would not be sent, nor the ones after it. */
			buf_append_char(out, '\n');
			return true;
		}
		m->has_begun = true;
		append_left_out(m, out);
	}
	append_some(m, out, max_len);
	return m->family < FAMILIES;
}
