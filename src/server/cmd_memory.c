/*
 * MEMORY: what uses the memory.
 */
#include "command/databases.h"
#include "command/scanning.h"
#include "engine/view.h"
#include "server/commands.h"
#include "server/persist.h"
#include "server/server_int.h"
#include "server/txn.h"
#include "sys/memory.h"
#include "util/container.h"
#include "util/num.h"

/* MEMORY QUEUES looks at QUEUES_SAMPLES jobs of each list unless told otherwise, and at
 * QUEUES_SAMPLES_MAX jobs in one call, which takes some milliseconds. */
#define QUEUES_SAMPLES	   16
#define QUEUES_SAMPLES_MAX 50000

void memory_cmd_purge(struct request *req)
{
	chunk_pool_done(&server_of(req)->clients.chunks);
	memory_purge();
	reply_ok(req->reply);
}

static size_t clients_memory(const struct server *s)
{
	size_t bytes = 0;
	struct conn *c;

	TAILQ_FOREACH(c, &s->conns.all, all)
		bytes += conn_memory(c) + txn_memory(&c->client);
	return bytes;
}

static void write_figure(struct reply *w, const char *name, size_t value)
{
	reply_bulk(w, str_from(name));
	reply_integer(w, (int64_t)value);
}

static double ratio(size_t above, size_t below)
{
	return below != 0 ? (double)above / (double)below : 0;
}

static void write_double(struct reply *w, const char *name, double value)
{
	reply_bulk(w, str_from(name));
	reply_double(w, value);
}

static size_t log_memory(const struct server *s)
{
	struct persist_info info;

	persist_get_info(s, &info);
	return info.log.pending_bytes;
}

static size_t count_keys(const struct server *s)
{
	size_t count = 0;

	for (unsigned i = 0; i < databases_count(s->env.databases); i++)
		count += databases_count_keys(s->env.databases, i);
	return count;
}

static size_t above(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

void memory_cmd_stats(struct request *req)
{
	struct server *s = server_of(req);
	struct reply *w = req->reply;
	size_t clients = clients_memory(s), log = log_memory(s);
	size_t used = memory_gauge_read(&s->memory.gauge), peak = memory_watch_peak(s);
	size_t keys = count_keys(s), overhead, dataset;
	struct memory_figures m;

	memory_read(&m);
	overhead = s->memory.startup_bytes + clients + log;
	dataset = above(used, overhead);
	reply_map(w, 23);
	write_figure(w, "peak.allocated", peak);
	write_figure(w, "total.allocated", used);
	write_figure(w, "startup.allocated", s->memory.startup_bytes);
	write_figure(w, "clients.normal", clients);
	write_figure(w, "aof.buffer", log);
	write_figure(w, "overhead.total", overhead);
	write_figure(w, "keys.count", keys);
	write_figure(w, "keys.bytes-per-key",
		     keys != 0 ? above(used, s->memory.startup_bytes) / keys : 0);
	write_figure(w, "dataset.bytes", dataset);
	write_double(w, "dataset.percentage",
		     100 * ratio(dataset, above(used, s->memory.startup_bytes)));
	write_double(w, "peak.percentage", 100 * ratio(used, peak));
	write_figure(w, "maxmemory", s->config->maxmemory_bytes);
	write_figure(w, "allocator.allocated", m.allocated);
	write_figure(w, "allocator.active", m.active);
	write_figure(w, "allocator.resident", m.resident);
	write_double(w, "allocator-fragmentation.ratio", ratio(m.active, m.allocated));
	write_figure(w, "allocator-fragmentation.bytes", above(m.active, m.allocated));
	write_double(w, "allocator-rss.ratio", ratio(m.resident, m.active));
	write_figure(w, "allocator-rss.bytes", above(m.resident, m.active));
	write_double(w, "rss-overhead.ratio", ratio(m.rss, m.resident));
	write_figure(w, "rss-overhead.bytes", above(m.rss, m.resident));
	write_double(w, "fragmentation", ratio(m.rss, used));
	write_figure(w, "fragmentation.bytes", above(m.rss, used));
}

/*
 * Queues
 */

static void write_memory(struct reply *w, const struct view_memory *m)
{
	reply_map(w, 6);
	write_figure(w, "jobs", m->jobs);
	write_figure(w, "sampled.jobs", m->sampled);
	write_figure(w, "payload.bytes", m->payload);
	write_figure(w, "index.bytes", m->index);
	write_figure(w, "history.bytes", m->history);
	write_figure(w, "total.bytes", m->payload + m->index + m->history);
}

/* MEMORY QUEUES: work on all queues, then on all groups. */
struct queues {
	struct scanning scanning;
	size_t samples; /* jobs of each list */
	struct view_memory failed;
};

static const struct qless *engine_of(const struct request *req)
{
	return databases_peek(req->env->databases, req->session->db);
}

static void write_queue(struct queues *q, struct request *req, struct qless_str name)
{
	struct view_memory memory = { 0 };

	view_queue_memory(engine_of(req), name, q->samples, &memory);
	reply_bulk(req->reply, name);
	write_memory(req->reply, &memory);
	q->scanning.values++;
}

static void visit_name(struct scanning *sc, struct request *req, struct qless_str name)
{
	struct queues *q = container_of(sc, struct queues, scanning);

	if (sc->form->tables[sc->table] == VIEW_QUEUES)
		write_queue(q, req, name);
	else
		view_jobs_memory(view_group(engine_of(req), name), q->samples, &q->failed);
}

/* Arguments are names of queues. */
static void begin_queues(struct scanning *sc, struct request *req)
{
	(void)sc;
	reply_map(req->reply, 4);
	reply_bulk(req->reply, STR("queues"));
}

/* Limits belong to no queue. */
static void write_limits(struct reply *w, const struct qless *engine)
{
	reply_bulk(w, STR("limits"));
	reply_map(w, 2);
	write_figure(w, "limits", engine != NULL ? qless_limit_count(engine) : 0);
	write_figure(w, "total.bytes", engine != NULL ? view_limits_memory(engine) : 0);
}

/* Failed and complete jobs are in no queue, but in lists of their own. */
static void write_ended(struct scanning *sc, struct request *req)
{
	const struct queues *q = container_of(sc, struct queues, scanning);
	const struct qless *engine = engine_of(req);
	struct view_memory complete = { 0 };

	if (engine != NULL)
		view_jobs_memory(view_completed(engine), q->samples, &complete);
	reply_bulk(req->reply, STR("failed"));
	write_memory(req->reply, &q->failed);
	reply_bulk(req->reply, STR("complete"));
	write_memory(req->reply, &complete);
	write_limits(req->reply, engine);
}

static bool has_samples(const struct request *req)
{
	return req->nargs != 0 && str_equal_nocase(req->args[0], STR("SAMPLES"));
}

/* The arguments after [SAMPLES count] are names of queues. */
static size_t names_begin(const struct request *req)
{
	return has_samples(req) ? 2 : 0;
}

static bool parse_samples(struct request *req, int64_t *ret_samples)
{
	*ret_samples = QUEUES_SAMPLES;
	if (!has_samples(req))
		return true;
	if (req->nargs >= 2 && num_parse_i64(req->args[1], ret_samples) && *ret_samples >= 1 &&
	    *ret_samples <= QUEUES_SAMPLES_MAX)
		return true;
	reply_errorf(req->reply, "ERR", "SAMPLES must be a number from 1 to %d",
		     QUEUES_SAMPLES_MAX);
	return false;
}

/* Returns the number of jobs of each list to look at: fewer if there are many lists. */
static size_t limit_samples(size_t samples, size_t queues)
{
	size_t lists = queues * QUEUE_LISTS + 1;

	if (samples > QUEUES_SAMPLES_MAX / lists)
		samples = QUEUES_SAMPLES_MAX / lists;
	return samples != 0 ? samples : 1;
}

/* Writes the queues that the arguments name. */
static void write_named_queues(struct scanning *sc, struct request *req)
{
	struct queues *q = container_of(sc, struct queues, scanning);
	const struct qless *engine = engine_of(req);
	size_t first = names_begin(req);

	for (size_t i = first; engine != NULL && i < req->nargs; i++) {
		if (view_queue(engine, req->args[i], QUEUE_WORK) != NULL)
			write_queue(q, req, req->args[i]);
	}
}

void memory_cmd_queues(struct request *req)
{
	static const struct scanning_form all = { .type = REPLY_MAP,
						  .table_count = 2,
						  .tables = { VIEW_QUEUES, VIEW_GROUPS },
						  .visit = visit_name,
						  .begin = begin_queues,
						  .end = write_ended };
	static const struct scanning_form named = { .type = REPLY_MAP,
						    .table_count = 1,
						    .tables = { VIEW_GROUPS },
						    .visit = visit_name,
						    .begin = begin_queues,
						    .begin_values = write_named_queues,
						    .end = write_ended };
	const struct qless *engine = engine_of(req);
	size_t count = engine != NULL ? view_queue_count(engine) : 0;
	bool has_names = names_begin(req) < req->nargs;
	struct scanning *sc;
	int64_t samples;

	if (!parse_samples(req, &samples))
		return;
	if (has_names)
		count = req->nargs - names_begin(req);
	sc = scanning_new(has_names ? &named : &all, sizeof(struct queues));
	container_of(sc, struct queues, scanning)->samples = limit_samples((size_t)samples, count);
	scanning_begin(req, sc);
}

/*
 * MEMORY DOCTOR
 */

static void append_text(void *arg, const char *text)
{
	buf_append_str(arg, str_from(text));
}

void memory_cmd_malloc_stats(struct request *req)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	memory_report(append_text, &text);
	reply_verbatim(req->reply, "txt", buf_str(&text));
	buf_done(&text);
}

/* Below this many bytes in use, no ratio is worth a finding. */
#define DOCTOR_MIN_BYTES     ((size_t)5 * 1024 * 1024)
#define DOCTOR_FRAGMENTATION 1.5
#define DOCTOR_CLIENT_BYTES  ((size_t)256 * 1024)
#define DOCTOR_NEAR_LIMIT    0.9

static void append_advice(struct server *s, const struct memory_figures *m, struct buf *out)
{
	size_t limit = s->config->maxmemory_bytes, peak = memory_watch_peak(s);
	size_t used = memory_gauge_read(&s->memory.gauge);

	if (limit != 0 && ratio(used, limit) >= DOCTOR_NEAR_LIMIT)
		buf_printf(out,
			   " * %.0f%% of maxmemory is in use. At the limit, commands that make the "
			   "state grow are refused. Let workers catch up, lower "
			   "jobs-history-count, or raise maxmemory.\n",
			   100 * ratio(used, limit));
	if (ratio(peak, used) > DOCTOR_FRAGMENTATION)
		buf_printf(out,
			   " * The peak was %zu bytes, %.1f times the memory in use now. MEMORY "
			   "PURGE returns unused memory to the system.\n",
			   peak, ratio(peak, used));
	if (ratio(m->active, m->allocated) > DOCTOR_FRAGMENTATION)
		buf_printf(out,
			   " * Pages in use are %.1f times the bytes in use: memory is "
			   "fragmented. New jobs will fill the gaps. A restart removes them.\n",
			   ratio(m->active, m->allocated));
	if (s->conns.count != 0 && clients_memory(s) / s->conns.count > DOCTOR_CLIENT_BYTES)
		buf_printf(out,
			   " * Clients take %zu bytes each on average: some do not read their "
			   "replies, or send large requests slowly. See CLIENT LIST.\n",
			   clients_memory(s) / s->conns.count);
	if (s->persist != NULL && memory_overcommit() != 1 && m->rss > memory_of_machine() / 2)
		buf_printf(out,
			   " * vm.overcommit_memory is %d, and more than half of the machine's "
			   "memory is in use: a fork for rewriting the log may fail. Set it to "
			   "1.\n",
			   memory_overcommit());
}

void memory_cmd_doctor(struct request *req)
{
	struct server *s = server_of(req);
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct memory_figures m;

	memory_read(&m);
	if (m.allocated >= DOCTOR_MIN_BYTES || s->config->maxmemory_bytes != 0)
		append_advice(s, &m, &text);
	if (text.len == 0)
		buf_printf(&text, "No problems found: %zu bytes in use, %zu resident.\n",
			   memory_gauge_read(&s->memory.gauge), m.rss);
	reply_verbatim(req->reply, "txt", buf_str(&text));
	buf_done(&text);
}
