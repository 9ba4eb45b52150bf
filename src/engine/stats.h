/*
 * Statistics of a queue for each day (UTC).
 */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "qless.h"

struct queue;

enum counter {
	COUNTER_RETRIES,
	COUNTER_FAILURES,
	COUNTER_FAILED,
	COUNTER_TOTAL,
};

struct bucket {
	double unit; /* 's', 'm', 'h' or 'd' */
	double value;
	uint64_t count;
};

struct series {
	double count; /* 0: nothing recorded */
	double mean;
	double vk;
	struct bucket *buckets; /* by unit and value */
	uint32_t bucket_count;
	uint32_t bucket_cap;
};

struct stats_day {
	double day; /* when it began */
	struct series wait;
	struct series run;
	int64_t counters[COUNTER_TOTAL];
	bool counted[COUNTER_TOTAL];
};

/* When the day of `t` began: midnight UTC. */
double stats_day_start(double t);
/* stats_day_start() of the time of a call, computed once for all that the call counts. */
double stats_day_of(struct qless *q, double now);
void stats_record_wait(struct qless *q, struct queue *queue, double now, double seconds);
void stats_record_run(struct qless *q, struct queue *queue, double now, double seconds);
void stats_count(struct qless *q, struct queue *queue, double now, enum counter counter);
/* Count a failure, and that it is one of the failed jobs. */
void stats_count_failure(struct qless *q, struct queue *queue, double now);
/* Decrement the counter of the day of `when`, if its statistics still exist. */
void stats_uncount(struct qless *q, struct queue *queue, double when, enum counter counter);
void stats_free_days(struct queue *queue);
const struct stats_day *stats_find(const struct queue *queue, double date);

/* The statistics of the day of `now`, new ones if there were none. */
struct stats_day *stats_need_day(struct queue *queue, double now);
/* The sum of all buckets. */
double stats_sum(const struct series *series);
/* Whether the bucket is valid, and whether `b` may follow `a`. */
bool stats_is_bucket(const struct bucket *b);
bool stats_follows(const struct bucket *b, const struct bucket *a);
/* Append a bucket without checking it. */
void stats_add_bucket(struct series *series, const struct bucket *bucket);
/* The value of a bucket. Values that print with the same 14 digits share one. */
double stats_bucket_value(double value);
/* Whether durations can have this count, mean and sum of squares. All statistics derived from them
 * are then numbers. */
bool stats_is_series(const struct series *series);

#endif
