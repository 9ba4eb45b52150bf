/*
 * Throughput of queues for monitoring: counts since the start, rates, and histograms of how long
 * jobs waited and ran.
 *
 * Meters are no part of the state: snapshots do not contain them, and no call depends on them. The
 * statistics of stats.c are by day and by the clocks of clients. Meters only grow, and their rates
 * follow the clock of the caller of meter_tick().
 */
#ifndef ENGINE_METER_H
#define ENGINE_METER_H

#include <stddef.h>
#include <stdint.h>

struct qless;

/* A put counts wherever the history of a job has one: for PUT, a job that moves on from another
 * queue, an unfailed job, and a job made by a recurring one. */
enum meter_event {
	METER_PUT,
	METER_POP,
	METER_COMPLETE,
	METER_FAIL,
	METER_RETRY, /* a worker gave a job back */
	METER_LOSE,  /* a lock expired, or TIMEOUT took it */
	METER_EVENTS,
};

/* Rates are exponential means over these spans. */
enum meter_span {
	METER_1M,
	METER_5M,
	METER_15M,
	METER_SPANS,
};

/* The upper bounds of the buckets in seconds. One more bucket holds longer durations. */
#define METER_BOUNDS                                                            \
	{                                                                       \
		0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400 \
	}
#define METER_BOUND_COUNT 13

struct meter_durations {
	uint64_t buckets[METER_BOUND_COUNT + 1]; /* not cumulative */
	double sum;
};

struct meter {
	uint64_t counts[METER_EVENTS];
	uint64_t ticked_counts[METER_EVENTS]; /* at the last tick */
	double ticked;			      /* when the last tick was; 0: never */
	float rates[METER_EVENTS][METER_SPANS];
	struct meter_durations wait;
	struct meter_durations run;
};

/* The upper bound of bucket `i`; INFINITY for the last. */
double meter_bound(size_t i);

void meter_add_duration(struct meter_durations *durations, double seconds);

/* Update the rates of up to `max` queues, beginning at `cursor`. `cursor` is 0 first, then the
 * value returned; 0 is returned after the last queue. `seconds` comes from a monotonic clock. If
 * queues come and go, a queue may be left out until the next round. */
size_t meter_tick(struct qless *q, size_t cursor, size_t max, double seconds);

/* Reset all meters, after a log was replayed. */
void meter_reset_all(struct qless *q);

#endif
