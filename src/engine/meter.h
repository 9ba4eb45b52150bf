/*
 * Throughput of queues and classes for monitoring: counts since the start, rates, histograms of how
 * long jobs waited and ran, and sums of attempts and of the time from the first put to the end.
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

/* How a job ends. A job that comes back may end more than once. */
enum meter_end {
	METER_TO_COMPLETE, /* for good, not to move on to another queue */
	METER_TO_FAIL,
	METER_TO_CANCEL, /* before it failed */
	METER_ENDS,
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

struct meter_sum {
	uint64_t count;
	double sum;
};

struct meter {
	uint64_t counts[METER_EVENTS];
	uint64_t ticked_counts[METER_EVENTS]; /* at the last tick */
	double ticked;			      /* when the last tick was; 0: never */
	float rates[METER_EVENTS][METER_SPANS];
	struct meter_durations wait;
	struct meter_durations run;
	struct meter_sum ends[METER_ENDS]; /* seconds from the first put of a job to its end */
	double attempts;		   /* of the jobs that METER_COMPLETE counts */
};

/* How many classes have meters unless meter_set_max_classes() says otherwise. */
#define METER_CLASSES_DEFAULT 1000
/* The name of all classes without a meter of their own. */
#define METER_OTHER "other"

struct klass;

/* The classes that have meters, in no order. */
struct klasses {
	struct klass **items;
	size_t count;
	size_t cap;
	size_t max;
	struct meter other; /* of the other classes, and of those that are gone */
};

/* The upper bound of bucket `i`; INFINITY for the last. */
double meter_bound(size_t i);

/* Count a pop, a completion or the end of a job for a queue and for a class. */
void meter_pop(struct meter *queue, struct meter *klass, double seconds);
void meter_complete(struct meter *queue, struct meter *klass, double seconds, double attempts);
void meter_end(struct meter *queue, struct meter *klass, enum meter_end end, double seconds);

/* The sum of all ends. */
struct meter_sum meter_lifetime(const struct meter *meter);

/* Add the counts of a meter that is freed. The rates stay as they are. */
void meter_add(struct meter *to, const struct meter *from);

/* Set how many classes have meters of their own. Those in excess lose theirs. */
void meter_set_max_classes(struct qless *q, size_t max);

/* Update the rates of up to `max` queues and classes, beginning at `cursor`. `cursor` is 0 first,
 * then the value returned; 0 is returned after the last one. `seconds` comes from a monotonic
 * clock. If queues and classes come and go, one may be left out until the next round. */
size_t meter_tick(struct qless *q, size_t cursor, size_t max, double seconds);

/* Reset all meters, after a log was replayed. */
void meter_reset_all(struct qless *q);

#endif
