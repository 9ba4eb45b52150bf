#include "server/stats.h"

#include <stdlib.h>
#include <string.h>

#include "command/table.h"
#include "server/latency.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"

void stats_init(struct server *s)
{
	struct server_stats *stats = &s->stats;

	stats->by_command =
		mem_zalloc((size_t)command_table_count(s->table) * sizeof *stats->by_command);
	stats->rate_commands.last_us = s->clocks.mono_us;
	stats->rate_in.last_us = s->clocks.mono_us;
	stats->rate_out.last_us = s->clocks.mono_us;
}

static void free_histograms(struct server *s)
{
	for (int i = 0; i < command_table_count(s->table); i++)
		free(s->stats.by_command[i].histogram);
}

void stats_done(struct server *s)
{
	free_histograms(s);
	free(s->stats.by_command);
}

/* Keeps the samples, because the rate is that of the last seconds. */
static struct rate restart(const struct rate *r)
{
	struct rate restarted = *r;

	restarted.last = 0;
	return restarted;
}

void stats_reset(struct server *s)
{
	struct server_stats *stats = &s->stats;

	free_histograms(s);
	memset(stats->by_command, 0,
	       (size_t)command_table_count(s->table) * sizeof *stats->by_command);
	*stats = (struct server_stats){
		.peak_clients = s->conns.count,
		.by_command = stats->by_command,
		.rate_commands = restart(&stats->rate_commands),
		.rate_in = restart(&stats->rate_in),
		.rate_out = restart(&stats->rate_out),
	};
	s->memory.peak_bytes = 0;
}

void stats_count_error(struct client *c)
{
	const struct reply *w = &c->writer;
	struct server_stats *stats = &c->server->stats;
	unsigned i = 0;

	/* EXEC does not count again the errors of its commands. */
	if (c->errors_counted == w->errors)
		return;
	c->errors_counted = w->errors;
	stats->error_replies++;
	while (i < stats->error_kinds && strcmp(stats->errors[i].code, w->last_error) != 0)
		i++;
	if (i == STATS_ERROR_KINDS)
		return;
	if (i == stats->error_kinds) {
		memcpy(stats->errors[i].code, w->last_error, sizeof stats->errors[i].code);
		stats->errors[i].count = 0;
		stats->error_kinds++;
	}
	stats->errors[i].count++;
}

void stats_count_turn(struct server *s, int64_t elapsed_us, int64_t cpu_us)
{
	s->stats.turns++;
	s->stats.turn_us_sum += elapsed_us;
	if (elapsed_us > s->stats.turn_us_max)
		s->stats.turn_us_max = elapsed_us;
	if (cpu_us > s->stats.turn_cpu_us_max)
		s->stats.turn_cpu_us_max = cpu_us;
	stats_note_latency(s, "eventloop", elapsed_us);
}

static void sample(struct rate *r, uint64_t total, int64_t now_us)
{
	int64_t elapsed_us = now_us - r->last_us;

	if (elapsed_us <= 0)
		return;
	r->samples[r->next] = (total - r->last) * 1000000 / (uint64_t)elapsed_us;
	r->next = (r->next + 1) % STATS_RATE_SAMPLES;
	r->last = total;
	r->last_us = now_us;
}

void stats_sample_rates(struct server *s)
{
	struct server_stats *stats = &s->stats;

	sample(&stats->rate_commands, stats->commands, s->clocks.mono_us);
	sample(&stats->rate_in, stats->bytes_in, s->clocks.mono_us);
	sample(&stats->rate_out, stats->bytes_out, s->clocks.mono_us);
}

uint64_t rate_per_second(const struct rate *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < STATS_RATE_SAMPLES; i++)
		sum += r->samples[i];
	return sum / STATS_RATE_SAMPLES;
}

void stats_note_latency(struct server *s, const char *event, int64_t elapsed_us)
{
	int64_t threshold_ms = s->config->latency_monitor_threshold_ms;

	if (threshold_ms != 0 && elapsed_us >= threshold_ms * 1000)
		latency_add(s->latency, event, s->clocks.wall_us / 1000000, elapsed_us / 1000);
}

int64_t stats_begin_latency(const struct server *s)
{
	return s->config->latency_monitor_threshold_ms != 0 ? clock_mono_us() : 0;
}

void stats_end_latency(struct server *s, const char *event, int64_t begin_us)
{
	if (begin_us != 0)
		stats_note_latency(s, event, clock_mono_us() - begin_us);
}
