#include "server/queues.h"

#include <stdlib.h>
#include <string.h>

#include "command/databases.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Those that name the queue. */
static uint64_t count_jobs(const struct view_queue_figures *f)
{
	return f->waiting + f->running + f->stalled + f->scheduled + f->depends + f->failed;
}

/* What is loaded by parts is not to be looked at in between. */
static const struct qless *engine_of(const struct server *s, unsigned db)
{
	return s->loading ? NULL : databases_peek(s->env.databases, db);
}

/* Call `visit` for all queues, with `*db` being set to the number of the database. */
static void each_queue(struct server *s, unsigned *db, view_queue_fn *visit, void *arg)
{
	for (*db = 0; *db < databases_count(s->env.databases); ++*db) {
		const struct qless *engine = engine_of(s, *db);

		if (engine != NULL)
			view_each_queue(engine, clock_seconds(s->wall_us), visit, arg);
	}
}

static void add_queue(void *arg, const struct view_queue_figures *f)
{
	struct queues_totals *totals = arg;

	totals->queues++;
	totals->paused += f->paused;
	totals->sum.waiting += f->waiting;
	totals->sum.running += f->running;
	totals->sum.stalled += f->stalled;
	totals->sum.scheduled += f->scheduled;
	totals->sum.depends += f->depends;
	totals->sum.recurring += f->recurring;
	totals->sum.failed += f->failed;
}

void queues_sum(struct server *s, struct queues_totals *ret)
{
	unsigned db;

	*ret = (struct queues_totals){ 0 };
	each_queue(s, &db, add_queue, ret);
	for (db = 0; db < databases_count(s->env.databases); db++) {
		const struct qless *engine = engine_of(s, db);

		if (engine != NULL)
			ret->complete += skiplist_count(view_completed(engine));
	}
	ret->jobs = count_jobs(&ret->sum) + ret->complete;
}

/*
 * Rates
 */

void queues_tick(struct server *s)
{
	unsigned count = databases_count(s->env.databases);
	double now = (double)s->mono_us / 1e6;

	for (unsigned i = 0; i < count && !s->loading; i++) {
		struct qless *engine = databases_peek(s->env.databases, s->ticked_db);

		s->tick_cursor = engine != NULL ? meter_tick(engine, s->tick_cursor,
							     QUEUES_TICKED_A_SECOND, now)
						: 0;
		if (s->tick_cursor != 0)
			return;
		s->ticked_db = (s->ticked_db + 1) % count;
	}
}

void queues_begin(struct server *s)
{
	for (unsigned db = 0; db < databases_count(s->env.databases); db++) {
		struct qless *engine = databases_peek(s->env.databases, db);

		if (engine != NULL)
			meter_reset_all(engine);
	}
}

/*
 * INFO
 */

struct top {
	unsigned db;
	size_t count;
	struct queue_row of[QUEUES_INFO_MAX];
};

static bool comes_before(const struct queue_row *a, const struct queue_row *b)
{
	if (a->jobs != b->jobs)
		return a->jobs > b->jobs;
	if (a->db != b->db)
		return a->db < b->db;
	return str_compare(a->figures.name, b->figures.name) < 0;
}

static void insert_top(void *arg, const struct view_queue_figures *figures)
{
	struct top *top = arg;
	struct queue_row entry = { top->db, count_jobs(figures), *figures };
	size_t i = top->count;

	if (i == QUEUES_INFO_MAX && !comes_before(&entry, &top->of[i - 1]))
		return;
	if (i == QUEUES_INFO_MAX)
		i--;
	else
		top->count++;
	for (; i > 0 && comes_before(&entry, &top->of[i - 1]); i--)
		top->of[i] = top->of[i - 1];
	top->of[i] = entry;
}

/* What would end the value or the line, and all that is no text, is written as \xHH. */
static void append_name(struct buf *out, struct qless_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];

		if (c > ' ' && c < 0x7f && c != ',' && c != '=' && c != '\\')
			buf_printf(out, "%c", c);
		else
			buf_printf(out, "\\x%02x", c);
	}
}

static void append_events(struct buf *out, const char *plural, const char *event,
			  const struct meter *m, enum meter_event i)
{
	buf_printf(out, ",%s=%llu,%s_rate_1m=%.2f,%s_rate_5m=%.2f,%s_rate_15m=%.2f", plural,
		   (unsigned long long)m->counts[i], event, (double)m->rates[i][METER_1M], event,
		   (double)m->rates[i][METER_5M], event, (double)m->rates[i][METER_15M]);
}

static void append_line(struct buf *out, size_t number, const struct queue_row *e)
{
	const struct view_queue_figures *f = &e->figures;

	buf_printf(out, "queue%zu:name=", number);
	append_name(out, f->name);
	buf_printf(out,
		   ",db=%u,waiting=%llu,running=%llu,stalled=%llu,scheduled=%llu,depends=%llu,"
		   "recurring=%llu,failed=%llu,paused=%d",
		   e->db, (unsigned long long)f->waiting, (unsigned long long)f->running,
		   (unsigned long long)f->stalled, (unsigned long long)f->scheduled,
		   (unsigned long long)f->depends, (unsigned long long)f->recurring,
		   (unsigned long long)f->failed, f->paused);
	append_events(out, "puts", "put", f->meter, METER_PUT);
	append_events(out, "pops", "pop", f->meter, METER_POP);
	append_events(out, "completes", "complete", f->meter, METER_COMPLETE);
	append_events(out, "fails", "fail", f->meter, METER_FAIL);
	buf_printf(out, "\r\n");
}

void queues_append_info(struct server *s, struct buf *out)
{
	struct top *top = mem_alloc(sizeof *top);

	top->count = 0;
	each_queue(s, &top->db, insert_top, top);
	for (size_t i = 0; i < top->count; i++)
		append_line(out, i, &top->of[i]);
	free(top);
}

/*
 * Snapshots
 */

struct taking {
	unsigned db;
	struct queue_row *rows;
	size_t count, cap;
};

static void take_queue(void *arg, const struct view_queue_figures *figures)
{
	struct taking *t = arg;

	if (t->count == t->cap) {
		t->cap = t->cap != 0 ? 2 * t->cap : 64;
		t->rows = mem_realloc_array(t->rows, t->cap, sizeof *t->rows);
	}
	t->rows[t->count++] = (struct queue_row){ t->db, count_jobs(figures), *figures };
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t left = ((const struct queue_row *)a)->jobs;
	uint64_t right = ((const struct queue_row *)b)->jobs;

	return left > right ? -1 : left < right;
}

/* Names and meters of the rows that stay belong to the engine so far. */
static void copy_rows(struct queues_snapshot *snapshot)
{
	size_t bytes = 0;
	char *to;

	for (size_t i = 0; i < snapshot->count; i++)
		bytes += snapshot->rows[i].figures.name.len;
	snapshot->names = to = mem_alloc(bytes + 1);
	snapshot->meters = mem_realloc_array(NULL, snapshot->count + 1, sizeof *snapshot->meters);
	for (size_t i = 0; i < snapshot->count; i++) {
		struct view_queue_figures *figures = &snapshot->rows[i].figures;

		if (figures->name.len != 0)
			memcpy(to, figures->name.ptr, figures->name.len);
		figures->name.ptr = to;
		to += figures->name.len;
		snapshot->meters[i] = *figures->meter;
		figures->meter = &snapshot->meters[i];
	}
}

void queues_take(struct server *s, size_t max, struct queues_snapshot *ret)
{
	struct taking t = { 0 };

	each_queue(s, &t.db, take_queue, &t);
	*ret = (struct queues_snapshot){ .rows = t.rows, .count = t.count };
	if (t.count > max) {
		qsort(t.rows, t.count, sizeof *t.rows, compare_sizes);
		ret->count = max;
		ret->left_out = t.count - max;
	}
	copy_rows(ret);
}

void queues_snapshot_done(struct queues_snapshot *snapshot)
{
	free(snapshot->rows);
	free(snapshot->meters);
	free(snapshot->names);
	*snapshot = (struct queues_snapshot){ 0 };
}
