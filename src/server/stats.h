/*
 * Counters of the server: commands, errors, bytes, rates, and long turns.
 */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "resp/reply.h"

struct client;
struct histogram;
struct server;

/* Counters of one command. */
struct command_stats {
	uint64_t calls;
	uint64_t total_ns;
	uint64_t rejected;
	uint64_t failed;
	struct histogram *histogram; /* of times in ns; NULL until the first call */
};

/* Number of code words of errors that are counted separately. Fewer exist; errors with further
 * words would only count in error_replies. */
#define STATS_ERROR_KINDS 64
struct error_count {
	char code[REPLY_ERROR_CODE_MAX + 1];
	uint64_t count;
};

/* Number of samples in a rate. They are taken once a second. */
#define STATS_RATE_SAMPLES 16
struct rate {
	uint64_t last;
	int64_t last_us;
	uint64_t samples[STATS_RATE_SAMPLES];
	unsigned next;
};

/* Counters since the start or the last CONFIG RESETSTAT. */
struct server_stats {
	uint64_t connections;
	uint64_t rejected_connections;
	uint64_t commands;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t error_replies;
	uint64_t reads;
	uint64_t writes;
	uint64_t output_limit_disconnects;
	uint64_t large_replies;
	uint64_t query_limit_disconnects;
	uint64_t auth_failures;
	uint64_t auth_delays;
	uint64_t delayed_writes; /* commands that waited for a sync of earlier changes */
	uint64_t stranger_disconnects;
	uint64_t evicted_clients;
	uint64_t denied_commands;
	uint64_t denied_keys;
	uint64_t denied_channels;
	uint64_t refused_subscriptions; /* because of a limit */
	uint64_t tls_handshakes;	/* successful ones; tls_resumed are among them */
	uint64_t tls_resumed;
	uint64_t tls_failures;
	size_t peak_clients;
	uint64_t turns;
	int64_t turn_us_sum;
	int64_t turn_us_max;
	int64_t turn_cpu_us_max;
	uint64_t http_requests;
	uint64_t http_disconnects;
	uint64_t http_timeouts;
	double max_clock_skew_s; /* between `now` in a command and our clock */

	struct command_stats *by_command; /* by the row of the table */
	struct error_count errors[STATS_ERROR_KINDS];
	unsigned error_kinds;
	struct rate rate_commands;
	struct rate rate_in;
	struct rate rate_out;
};

void stats_init(struct server *s);
void stats_done(struct server *s);

/* CONFIG RESETSTAT. */
void stats_reset(struct server *s);

/* Count the last error reply to the client, unless it has been counted. */
void stats_count_error(struct client *c);

/* Count a turn that took `elapsed_us`, of which `cpu_us` was processor time. */
void stats_count_turn(struct server *s, int64_t elapsed_us, int64_t cpu_us);

/* Call this once a second. */
void stats_sample_rates(struct server *s);
/* Returns the mean of the samples. */
uint64_t rate_per_second(const struct rate *r);

/* Note an event for LATENCY if it took at least `latency-monitor-threshold`. */
void stats_note_latency(struct server *s, const char *event, int64_t elapsed_us);
/* Measure and note an event between these two calls. They read no clock while
 * latency-monitor-threshold is 0. */
int64_t stats_begin_latency(const struct server *s);
void stats_end_latency(struct server *s, const char *event, int64_t begin_us);

#endif
