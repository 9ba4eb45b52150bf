/*
 * Statistics of a queue, a day (UTC) at a time.
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

/* The day `t` lies in: midnight UTC. */
double stats_day_start(double t);
void stats_record_wait(struct qless *q, struct queue *queue, double now, double seconds);
void stats_record_run(struct qless *q, struct queue *queue, double now, double seconds);
void stats_count(struct qless *q, struct queue *queue, double now, enum counter counter);
/* Take one back from the day of `when`, if that is still there. */
void stats_uncount(struct qless *q, struct queue *queue, double when, enum counter counter);
void stats_free_days(struct queue *queue);
const struct stats_day *stats_find(const struct queue *queue, double date);

/* The day `now` lies in, made if need be. */
struct stats_day *stats_need_day(struct queue *queue, double now);
/* Sum of the buckets. */
double stats_sum(const struct series *series);
/* Whether there can be such a bucket, and whether `b` may come right behind `a`. */
bool stats_is_bucket(const struct bucket *b);
bool stats_follows(const struct bucket *b, const struct bucket *a);
/* Behind the others, and not checked. */
void stats_add_bucket(struct series *series, const struct bucket *bucket);
/* The same for all values that have one name. */
double stats_bucket_value(double value);
/* Whether count, mean and squares are what durations can have. Nothing that follows from them is
 * then without a number. */
bool stats_is_series(const struct series *series);

#endif
