/*
 * SLOWLOG and LATENCY: where the time went.
 */
#include "command/table.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/histogram.h"
#include "server/latency.h"
#include "server/slowlog.h"
#include "util/num.h"

#define SLOWLOG_GET_DEFAULT 10

static void write_entry(struct resp_writer *w, const struct slowlog_entry *e)
{
	resp_write_array(w, 6);
	resp_write_integer(w, (int64_t)e->id);
	resp_write_integer(w, e->when_s);
	resp_write_integer(w, e->elapsed_us);
	resp_write_array(w, (size_t)e->argc);
	for (int i = 0; i < e->argc; i++)
		resp_write_bulk(w, e->argv[i]);
	resp_write_bulk(w, str_from(e->peer));
	resp_write_bulk(w, str_from(e->client_name));
}

void slowlog_cmd_get(struct call *call)
{
	const struct slowlog *log = server_of(call)->slowlog;
	int64_t count = SLOWLOG_GET_DEFAULT;
	const struct slowlog_entry *e;

	if (call->nargs == 1 && (!num_parse_i64(call->args[0], &count) || count < -1)) {
		resp_write_error(call->reply, "ERR",
				 STR("count should be greater than or equal to -1"));
		return;
	}
	if (count < 0 || (uint64_t)count > log->count)
		count = (int64_t)log->count;
	resp_write_array(call->reply, (size_t)count);
	TAILQ_FOREACH(e, &log->entries, link) {
		if (count-- == 0)
			break;
		write_entry(call->reply, e);
	}
}

void slowlog_cmd_len(struct call *call)
{
	resp_write_integer(call->reply, (int64_t)server_of(call)->slowlog->count);
}

void slowlog_cmd_reset(struct call *call)
{
	slowlog_trim(server_of(call)->slowlog, 0);
	resp_write_ok(call->reply);
}

void latency_cmd_latest(struct call *call)
{
	const struct latency_monitor *m = server_of(call)->latency;

	resp_write_array(call->reply, m->count);
	for (unsigned i = 0; i < m->count; i++) {
		const struct latency_event *e = m->events[i];
		struct latency_sample last = latency_sample_at(e, e->count - 1);

		resp_write_array(call->reply, 4);
		resp_write_bulk(call->reply, str_from(e->name));
		resp_write_integer(call->reply, last.when_s);
		resp_write_integer(call->reply, last.elapsed_ms);
		resp_write_integer(call->reply, e->max_ms);
	}
}

void latency_cmd_history(struct call *call)
{
	const struct latency_event *e = latency_find(server_of(call)->latency, call->args[0]);

	resp_write_array(call->reply, e != NULL ? e->count : 0);
	for (unsigned i = 0; e != NULL && i < e->count; i++) {
		struct latency_sample sample = latency_sample_at(e, i);

		resp_write_array(call->reply, 2);
		resp_write_integer(call->reply, sample.when_s);
		resp_write_integer(call->reply, sample.elapsed_ms);
	}
}

void latency_cmd_reset(struct call *call)
{
	struct latency_monitor *m = server_of(call)->latency;
	int64_t count = 0;

	if (call->nargs == 0)
		count = latency_reset_all(m);
	for (int i = 0; i < call->nargs; i++)
		count += latency_reset(m, call->args[i]);
	resp_write_integer(call->reply, count);
}

/* The buckets that LATENCY HISTOGRAM shows are powers of two of microseconds, from 1 up to a
 * second. */
#define HISTOGRAM_STEPS 21

static void write_histogram(struct resp_writer *w, const struct command *cmd,
			    const struct command_stats *stats)
{
	struct resp_deferred buckets;
	uint64_t shown = 0;
	size_t count = 0;

	resp_write_bulk(w, str_from(cmd->name));
	resp_write_map(w, 2);
	resp_write_bulk(w, STR("calls"));
	resp_write_integer(w, (int64_t)histogram_count(stats->histogram));
	resp_write_bulk(w, STR("histogram_usec"));
	resp_deferred_begin(w, &buckets);
	for (unsigned step = 0; step < HISTOGRAM_STEPS; step++) {
		uint64_t us = UINT64_C(1) << step;
		uint64_t up_to = histogram_count_up_to(stats->histogram, us * 1000);

		if (up_to == shown)
			continue;
		shown = up_to;
		resp_write_integer(w, (int64_t)us);
		resp_write_integer(w, (int64_t)up_to);
		count++;
	}
	resp_deferred_end(w, &buckets, RESP_MAP, count);
}

void latency_cmd_histogram(struct call *call)
{
	struct server *s = server_of(call);
	struct resp_deferred all;
	size_t count = 0;

	resp_deferred_begin(call->reply, &all);
	for (int i = 0; i < call->nargs; i++) {
		const struct command *cmd = command_table_find(s->table, call->args[i]);
		const struct command_stats *stats;

		if (cmd == NULL)
			continue;
		stats = &s->command_stats[command_table_index(s->table, cmd)];
		if (stats->histogram == NULL)
			continue;
		write_histogram(call->reply, cmd, stats);
		count++;
	}
	for (int i = 0; call->nargs == 0 && i < command_table_count(s->table); i++) {
		if (s->command_stats[i].histogram == NULL)
			continue;
		write_histogram(call->reply, command_table_row(s->table, i), &s->command_stats[i]);
		count++;
	}
	resp_deferred_end(call->reply, &all, RESP_MAP, count);
}
