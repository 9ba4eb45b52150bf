/*
 * SLOWLOG and LATENCY: what took long.
 */
#include "command/table.h"
#include "server/commands.h"
#include "server/histogram.h"
#include "server/latency.h"
#include "server/server_int.h"
#include "server/slowlog.h"
#include "util/num.h"

#define SLOWLOG_GET_DEFAULT 10

static void write_entry(struct reply *w, const struct slowlog_entry *e)
{
	reply_array(w, 6);
	reply_integer(w, (int64_t)e->id);
	reply_integer(w, e->when_s);
	reply_integer(w, e->elapsed_us);
	reply_array(w, (size_t)e->argc);
	for (int i = 0; i < e->argc; i++)
		reply_bulk(w, e->argv[i]);
	reply_bulk(w, str_from(e->peer));
	reply_bulk(w, str_from(e->client_name));
}

void slowlog_cmd_get(struct request *req)
{
	const struct slowlog *log = server_of(req)->slowlog;
	int64_t count = SLOWLOG_GET_DEFAULT;
	const struct slowlog_entry *e;

	if (req->nargs == 1 && (!num_parse_i64(req->args[0], &count) || count < -1)) {
		reply_error(req->reply, "ERR", STR("count should be greater than or equal to -1"));
		return;
	}
	if (count < 0 || (uint64_t)count > log->count)
		count = (int64_t)log->count;
	reply_array(req->reply, (size_t)count);
	TAILQ_FOREACH(e, &log->entries, link) {
		if (count-- == 0)
			break;
		write_entry(req->reply, e);
	}
}

void slowlog_cmd_len(struct request *req)
{
	reply_integer(req->reply, (int64_t)server_of(req)->slowlog->count);
}

void slowlog_cmd_reset(struct request *req)
{
	slowlog_trim(server_of(req)->slowlog, 0);
	reply_ok(req->reply);
}

void latency_cmd_latest(struct request *req)
{
	const struct latency_monitor *m = server_of(req)->latency;

	reply_array(req->reply, m->count);
	for (unsigned i = 0; i < m->count; i++) {
		const struct latency_event *e = m->events[i];
		struct latency_sample last = latency_sample_at(e, e->count - 1);

		reply_array(req->reply, 4);
		reply_bulk(req->reply, str_from(e->name));
		reply_integer(req->reply, last.when_s);
		reply_integer(req->reply, last.elapsed_ms);
		reply_integer(req->reply, e->max_ms);
	}
}

void latency_cmd_history(struct request *req)
{
	const struct latency_event *e = latency_find(server_of(req)->latency, req->args[0]);

	reply_array(req->reply, e != NULL ? e->count : 0);
	for (unsigned i = 0; e != NULL && i < e->count; i++) {
		struct latency_sample sample = latency_sample_at(e, i);

		reply_array(req->reply, 2);
		reply_integer(req->reply, sample.when_s);
		reply_integer(req->reply, sample.elapsed_ms);
	}
}

void latency_cmd_reset(struct request *req)
{
	struct latency_monitor *m = server_of(req)->latency;
	int64_t count = 0;

	if (req->nargs == 0)
		count = latency_reset_all(m);
	for (size_t i = 0; i < req->nargs; i++)
		count += latency_reset(m, req->args[i]);
	reply_integer(req->reply, count);
}

/* Advice for each event. */
static const struct {
	const char *event;
	const char *advice;
} remedies[] = {
	{ "command", "SLOWLOG GET lists them." },
	{ "fast-command",
	  "These commands usually take microseconds. The machine was busy with other "
	  "work, or a command handled many or large jobs. SLOWLOG GET lists them." },
	{ "eventloop", "All clients waited for the end of a turn. If no other event explains it, "
		       "many commands arrived at once: lower commands-per-turn, or check how many "
		       "processors the machine really has." },
	{ "aof-write", "A write to the log waited for the disk." },
	{ "aof-fsync",
	  "The disk is slow to sync. Clients wait for it only with appendfsync always. "
	  "A dedicated disk for the log helps." },
	{ "fork", "Copying the page tables took long. It takes less time with less memory in "
		  "use, or without huge pages." },
	{ "lazyfree", "Freeing data that FLUSHALL deleted, a part in each turn." },
	{ "expire-cycle", "Dropping old statistics, once an hour." },
	{ "http-metrics", "Making a page of metrics: lower http-max-queues." },
};

static const char *remedy_for(const char *event)
{
	for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
		if (strcmp(remedies[i].event, event) == 0)
			return remedies[i].advice;
	}
	return "";
}

static void append_diagnosis(struct buf *out, const struct latency_event *e, int64_t now_s)
{
	int64_t sum_ms = 0;

	if (e->count == 0)
		return;
	for (unsigned i = 0; i < e->count; i++)
		sum_ms += latency_sample_at(e, i).elapsed_ms;
	buf_printf(out,
		   "%s: %u samples, %lld ms on average, %lld ms at worst, %lld seconds ago. %s\n",
		   e->name, e->count, (long long)(sum_ms / e->count), (long long)e->max_ms,
		   (long long)(now_s - latency_sample_at(e, e->count - 1).when_s),
		   remedy_for(e->name));
}

void latency_cmd_doctor(struct request *req)
{
	struct server *s = server_of(req);
	struct buf text = BUF_INIT(BUF_NO_MAX);

	for (unsigned i = 0; i < s->latency->count; i++)
		append_diagnosis(&text, s->latency->events[i], s->clocks.wall_us / 1000000);
	if (text.len == 0 && s->config->latency_monitor_threshold_ms == 0)
		buf_printf(&text,
			   "The latency monitor is off: latency-monitor-threshold is 0. With "
			   "CONFIG SET "
			   "latency-monitor-threshold 20 it remembers every event of at least "
			   "20 milliseconds.\n");
	else if (text.len == 0)
		buf_printf(&text, "No event took %lld milliseconds or more.\n",
			   (long long)s->config->latency_monitor_threshold_ms);
	reply_verbatim(req->reply, "txt", buf_str(&text));
	buf_done(&text);
}

/* LATENCY HISTOGRAM shows buckets that end at powers of two of microseconds, from 1 up to a
 * second. */
#define HISTOGRAM_STEPS 21

static void write_histogram(struct reply *w, const struct command *cmd,
			    const struct command_stats *stats)
{
	struct reply_deferred buckets;
	uint64_t shown = 0;
	size_t count = 0;

	reply_bulk(w, str_from(cmd->name));
	reply_map(w, 2);
	reply_bulk(w, STR("calls"));
	reply_integer(w, (int64_t)histogram_count(stats->histogram));
	reply_bulk(w, STR("histogram_usec"));
	reply_deferred_begin(w, &buckets, REPLY_MAP);
	for (unsigned step = 0; step < HISTOGRAM_STEPS; step++) {
		uint64_t us = UINT64_C(1) << step;
		uint64_t up_to = histogram_count_up_to(stats->histogram, us * 1000);

		if (up_to == shown)
			continue;
		shown = up_to;
		reply_integer(w, (int64_t)us);
		reply_integer(w, (int64_t)up_to);
		count++;
	}
	reply_deferred_end(w, &buckets, count);
}

void latency_cmd_histogram(struct request *req)
{
	struct server *s = server_of(req);
	struct reply_deferred all;
	size_t count = 0;

	reply_deferred_begin(req->reply, &all, REPLY_MAP);
	for (size_t i = 0; i < req->nargs; i++) {
		const struct command *cmd = command_table_find(s->table, req->args[i]);
		const struct command_stats *stats;

		if (cmd == NULL)
			continue;
		stats = &s->stats.by_command[command_table_index(s->table, cmd)];
		if (stats->histogram == NULL)
			continue;
		write_histogram(req->reply, cmd, stats);
		count++;
	}
	for (int i = 0; req->nargs == 0 && i < command_table_count(s->table); i++) {
		if (s->stats.by_command[i].histogram == NULL)
			continue;
		write_histogram(req->reply, command_table_row(s->table, i),
				&s->stats.by_command[i]);
		count++;
	}
	reply_deferred_end(req->reply, &all, count);
}
