#include "server/queues.h"

#include <stdlib.h>
#include <string.h>

#include "command/databases.h"
#include "command/permit.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Returns the number of jobs that belong to the queue. */
static uint64_t count_jobs(const struct view_queue_figures *f)
{
	uint64_t count = f->stalled + f->failed;

	for (int i = 0; i < QUEUE_LISTS; i++) {
		if (queue_list_has_jobs((enum queue_list)i))
			count += f->listed[i];
	}
	return count;
}

/* While a database is loaded in parts, it must not be read. */
static const struct qless *engine_of(const struct server *s, unsigned db)
{
	return s->loading ? NULL : databases_peek(s->env.databases, db);
}

/* Call `visit` for all queues. Sets *db to the number of the current database. */
static void each_queue(struct server *s, unsigned *db, view_queue_fn *visit, void *arg)
{
	for (*db = 0; *db < databases_count(s->env.databases); ++*db) {
		const struct qless *engine = engine_of(s, *db);

		if (engine != NULL)
			view_each_queue(engine, clock_seconds(s->clocks.wall_us), visit, arg);
	}
}

static void add_queue(void *arg, const struct view_queue_figures *f)
{
	struct queues_totals *totals = arg;

	totals->queues++;
	totals->paused += f->paused;
	for (int i = 0; i < QUEUE_LISTS; i++)
		totals->sum.listed[i] += f->listed[i];
	totals->sum.stalled += f->stalled;
	totals->sum.failed += f->failed;
}

void queues_sum(struct server *s, struct queues_totals *ret)
{
	unsigned db;

	*ret = (struct queues_totals){ 0 };
	each_queue(s, &db, add_queue, ret);
	for (db = 0; db < databases_count(s->env.databases); db++) {
		const struct qless *engine = engine_of(s, db);

		if (engine == NULL)
			continue;
		ret->complete += skiplist_count(view_completed(engine));
		ret->retained += qless_retained_count(engine);
		ret->limits += qless_limit_count(engine);
		ret->class_indexes += qless_class_index_count(engine);
		ret->class_entries += qless_class_entry_count(engine);
	}
	ret->jobs = count_jobs(&ret->sum) + ret->complete;
}

/*
 * Rates
 */

void queues_tick(struct server *s)
{
	unsigned count = databases_count(s->env.databases);
	double now = (double)s->clocks.mono_us / 1e6;

	for (unsigned i = 0; i < count && !s->loading; i++) {
		struct qless *engine = databases_peek(s->env.databases, s->ticker.db);

		s->ticker.cursor = engine != NULL ? meter_tick(engine, s->ticker.cursor,
							       QUEUES_TICKED_A_SECOND, now)
						  : 0;
		if (s->ticker.cursor != 0)
			return;
		s->ticker.db = (s->ticker.db + 1) % count;
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
 * The largest queues
 */

/* Rows of at most `max` queues. If there are more, the rows are a heap with the smallest queue
 * on top. Among queues of equal size, any may be left out: comparing all names would take longer
 * than everything else. */
struct top {
	unsigned db;
	size_t max;
	const struct user *viewer; /* gets only the queues that it may read; NULL: all */
	struct queue_row *rows;
	size_t count, cap;
	uint64_t left_out;
};

/* Everything below this place is a heap already. */
static void sift_down(struct top *top, size_t place)
{
	struct queue_row row = top->rows[place];

	for (;;) {
		size_t next = 2 * place + 1;

		if (next + 1 < top->count && top->rows[next + 1].jobs < top->rows[next].jobs)
			next++;
		if (next >= top->count || top->rows[next].jobs >= row.jobs)
			break;
		top->rows[place] = top->rows[next];
		place = next;
	}
	top->rows[place] = row;
}

static void add_row(struct top *top, const struct queue_row *row)
{
	top->rows = mem_grow(top->rows, &top->cap, top->count + 1, sizeof *top->rows);
	top->rows[top->count++] = *row;
	for (size_t i = top->count / 2; top->count == top->max && i-- > 0;)
		sift_down(top, i);
}

static void consider_queue(void *arg, const struct view_queue_figures *figures)
{
	struct top *top = arg;
	struct queue_row row = { .db = top->db, .jobs = count_jobs(figures), .figures = *figures };

	if (!permit_shows_queue(top->viewer, figures->name))
		return;
	if (top->count < top->max) {
		add_row(top, &row);
		return;
	}
	top->left_out++;
	if (top->max != 0 && row.jobs > top->rows[0].jobs) {
		top->rows[0] = row;
		sift_down(top, 0);
	}
}

/* The clock of the client that put the job may be ahead. */
static void measure_wait(const struct server *s, struct queue_row *row)
{
	double since = view_oldest_waiting(engine_of(s, row->db), row->figures.name);
	double wait = clock_seconds(s->clocks.wall_us) - since;

	row->oldest_wait_s = wait > 0 ? wait : 0;
}

static void find_top(struct server *s, size_t max, const struct user *viewer, struct top *ret)
{
	*ret = (struct top){ .max = max, .viewer = viewer };
	each_queue(s, &ret->db, consider_queue, ret);
	for (size_t i = 0; i < ret->count; i++) {
		measure_wait(s, &ret->rows[i]);
		ret->rows[i].listeners =
			listeners_count(s, ret->rows[i].db, ret->rows[i].figures.name);
	}
}

/*
 * INFO
 */

void queues_append_name(struct buf *out, struct qless_str name)
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

static void append_count(struct buf *out, const char *name, uint64_t count)
{
	buf_printf(out, ",%s=%llu", name, (unsigned long long)count);
}

void queues_append_meter(struct buf *out, const struct meter *meter)
{
	append_events(out, "puts", "put", meter, METER_PUT);
	append_events(out, "pops", "pop", meter, METER_POP);
	append_events(out, "completes", "complete", meter, METER_COMPLETE);
	append_events(out, "fails", "fail", meter, METER_FAIL);
	append_count(out, "retries", meter->counts[METER_RETRY]);
	append_count(out, "lost_locks", meter->counts[METER_LOSE]);
}

static void append_line(struct buf *out, size_t number, const struct queue_row *e)
{
	const struct view_queue_figures *f = &e->figures;

	buf_printf(out, "queue%zu:name=", number);
	queues_append_name(out, f->name);
	buf_printf(out, ",db=%u", e->db);
	for (int i = 0; i < QUEUE_LISTS; i++) {
		append_count(out, queue_lists[i].figure, f->listed[i]);
		if (i == QUEUE_LOCKS)
			append_count(out, "stalled", f->stalled);
	}
	append_count(out, "failed", f->failed);
	buf_printf(out, ",paused=%d", f->paused);
	queues_append_meter(out, f->meter);
	buf_printf(out, ",oldest_wait=%.3f", e->oldest_wait_s);
	append_count(out, "listeners", e->listeners);
	buf_printf(out, "\r\n");
}

static int compare_rows(const void *left, const void *right)
{
	const struct queue_row *a = left, *b = right;

	if (a->jobs != b->jobs)
		return a->jobs > b->jobs ? -1 : 1;
	if (a->db != b->db)
		return a->db < b->db ? -1 : 1;
	return str_compare(a->figures.name, b->figures.name);
}

const struct user *queues_find_viewer(const struct server *s)
{
	const struct client *c = s->clients.running;
	const struct user *user = c != NULL ? c->session.user : NULL;

	return user != NULL && acl_limits_keys(user) ? user : NULL;
}

void queues_append_info(struct server *s, struct buf *out)
{
	struct top top;

	find_top(s, QUEUES_INFO_MAX, queues_find_viewer(s), &top);
	if (top.count != 0)
		qsort(top.rows, top.count, sizeof *top.rows, compare_rows);
	for (size_t i = 0; i < top.count; i++)
		append_line(out, i, &top.rows[i]);
	free(top.rows);
}

/*
 * Snapshots
 */

/* So far, names and meters belong to the engine. */
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
	struct top top;

	find_top(s, max, NULL, &top);
	*ret = (struct queues_snapshot){
		.rows = top.rows,
		.count = top.count,
		.left_out = top.left_out,
	};
	copy_rows(ret);
}

void queues_snapshot_done(struct queues_snapshot *snapshot)
{
	free(snapshot->rows);
	free(snapshot->meters);
	free(snapshot->names);
	*snapshot = (struct queues_snapshot){ 0 };
}
