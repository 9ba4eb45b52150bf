/*
 * What goes through a queue, for who watches: counts since the start, how fast they grow, and how
 * long jobs waited and ran.
 *
 * No part of the state: nothing of it is saved, and nothing the engine does depends on it. The
 * statistics of qless (stats.c) are by the day and by the clients' clocks; these only ever grow,
 * and their rates are by the clock of who calls meter_tick().
 */
#ifndef ENGINE_METER_H
#define ENGINE_METER_H

#include <stddef.h>
#include <stdint.h>

struct qless;

/* What is put counts wherever the history of a job says so: by PUT, and also when a job moves on
 * from another queue, is unfailed, or comes of a recurring one. */
enum meter_event {
	METER_PUT,
	METER_POP,
	METER_COMPLETE,
	METER_FAIL,
	METER_EVENTS,
};

/* Rates are means over about so long, newer events weighing more. */
enum meter_span {
	METER_1M,
	METER_5M,
	METER_15M,
	METER_SPANS,
};

/* The upper ends of the buckets in seconds; one more bucket holds what is longer. */
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
	double ticked;			      /* when that was; 0: never */
	float rates[METER_EVENTS][METER_SPANS];
	struct meter_durations wait;
	struct meter_durations run;
};

/* The upper end of bucket `i`; INFINITY for the last. */
double meter_bound(size_t i);

void meter_add_duration(struct meter_durations *durations, double seconds);

/* Bring the rates of some queues up to date: `max` of them, or all there are, from `cursor`, which
 * is 0 first and then what was returned. `seconds` is of a clock that never goes back. 0 is
 * returned at the end of the queues. While queues come and go one may be left out until the next
 * round. */
size_t meter_tick(struct qless *q, size_t cursor, size_t max, double seconds);

/* Forget everything: what was done again while a log was replayed did not happen now. */
void meter_reset_all(struct qless *q);

#endif
