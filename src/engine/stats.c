/*
 * Statistics of each queue and day: how long jobs waited and ran, and how many were retried and
 * failed.
 */
#include "engine/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/queue.h"
#include "engine/worker.h"
#include "util/mem.h"
#include "util/num.h"

#define DAY_SECONDS    86400.0
#define HOUR_SECONDS   3600.0
#define MINUTE_SECONDS 60.0

/* Seconds. Longer durations count as this one, so that sums and differences stay finite. */
#define DURATION_MAX 1e300

double stats_day_start(double t)
{
	double start = t - floor(t / DAY_SECONDS) * DAY_SECONDS;

	/* The largest doubles have no days. */
	return isfinite(start) ? t - start : t;
}

double stats_day_of(struct qless *q, double now)
{
	/* The days of 0 and -0 differ, although the times are equal. */
	if (now != q->day_asked || now == 0) {
		q->day_asked = now;
		q->day = stats_day_start(now);
	}
	return q->day;
}

/* The index of the day, or where it would be inserted. */
static uint32_t find_day(const struct queue *queue, double day)
{
	uint32_t low = 0;
	uint32_t high = queue->day_count;

	/* It is nearly always the last one. */
	if (high > 0 && queue->days[high - 1].day <= day)
		return queue->days[high - 1].day == day ? high - 1 : high;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (queue->days[mid].day < day)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct stats_day *stats_find(const struct queue *queue, double date)
{
	double day = stats_day_start(date);
	uint32_t i = find_day(queue, day);

	return i < queue->day_count && queue->days[i].day == day ? &queue->days[i] : NULL;
}

/* The statistics of a day that begins then, new ones if there were none. */
static struct stats_day *need_day(struct queue *queue, double day)
{
	uint32_t i = find_day(queue, day);

	if (i < queue->day_count && queue->days[i].day == day)
		return &queue->days[i];
	queue->days = mem_grow32(queue->days, &queue->day_cap, (size_t)queue->day_count + 1,
				 sizeof(*queue->days));
	memmove(queue->days + i + 1, queue->days + i,
		(queue->day_count - i) * sizeof(*queue->days));
	memset(&queue->days[i], 0, sizeof(queue->days[i]));
	queue->days[i].day = day;
	queue->day_count++;
	assert(i == 0 || queue->days[i - 1].day < day);
	assert(i + 1 == queue->day_count || day < queue->days[i + 1].day);
	return &queue->days[i];
}

struct stats_day *stats_need_day(struct queue *queue, double now)
{
	return need_day(queue, stats_day_start(now));
}

/* Values that print with the same 14 digits share a bucket. */
double stats_bucket_value(double value)
{
	char text[NUM_MAX];

	if (fabs(value) >= 1e14)
		num_parse_lua(str_make(text, num_format_g14(text, value)), &value);
	return value;
}

/* The bucket of a duration: a unit, and the number of units. */
static struct bucket bucket_of(double seconds)
{
	struct bucket bucket = { 's', floor(seconds), 0 };
	double value = bucket.value;

	if (value >= DAY_SECONDS)
		bucket = (struct bucket){ 'd', floor(value / DAY_SECONDS), 0 };
	else if (value >= HOUR_SECONDS)
		bucket = (struct bucket){ 'h', floor(value / HOUR_SECONDS), 0 };
	else if (value >= MINUTE_SECONDS)
		bucket = (struct bucket){ 'm', floor(value / MINUTE_SECONDS), 0 };
	bucket.value = stats_bucket_value(bucket.value);
	return bucket;
}

/* Make room for one more bucket. */
static void reserve_bucket(struct series *series)
{
	series->buckets = mem_grow32(series->buckets, &series->bucket_cap,
				     (size_t)series->bucket_count + 1, sizeof(*series->buckets));
}

static int compare_buckets(const struct bucket *a, const struct bucket *b)
{
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

static void count_bucket(struct series *series, double seconds)
{
	struct bucket bucket = bucket_of(seconds);
	uint32_t low = 0;
	uint32_t high = series->bucket_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare_buckets(&series->buckets[mid], &bucket) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < series->bucket_count && compare_buckets(&series->buckets[low], &bucket) == 0) {
		series->buckets[low].count++;
		return;
	}
	reserve_bucket(series);
	memmove(series->buckets + low + 1, series->buckets + low,
		(series->bucket_count - low) * sizeof(*series->buckets));
	bucket.count = 1;
	series->buckets[low] = bucket;
	assert(stats_is_bucket(&bucket));
	series->bucket_count++;
}

/* Mean and deviation are updated by the method of Welford. */
static void record(struct series *series, double value)
{
	double mean = series->mean;

	value = fmin(fmax(value, -DURATION_MAX), DURATION_MAX);
	count_bucket(series, value);
	series->count += 1;
	assert(series->bucket_count <= series->bucket_cap && series->count >= 1);
	if (series->count == 1) {
		series->mean = value;
		series->vk = 0;
		return;
	}
	series->mean = mean + (value - mean) / series->count;
	series->vk = finite_add(series->vk, (value - series->mean) * (value - mean));
}

void stats_record_wait(struct qless *q, struct queue *queue, double now, double seconds)
{
	record(&need_day(queue, stats_day_of(q, now))->wait, seconds);
	engine_changed(q);
}

void stats_record_run(struct qless *q, struct queue *queue, double now, double seconds)
{
	record(&need_day(queue, stats_day_of(q, now))->run, seconds);
	engine_changed(q);
}

static inline void count(struct qless *q, struct stats_day *day, enum counter counter)
{
	day->counters[counter]++;
	day->counted[counter] = true;
	assert(day->counters[COUNTER_FAILED] <= day->counters[COUNTER_FAILURES]);
	engine_changed(q);
}

void stats_count(struct qless *q, struct queue *queue, double now, enum counter counter)
{
	count(q, need_day(queue, stats_day_of(q, now)), counter);
}

void stats_count_failure(struct qless *q, struct queue *queue, double now)
{
	struct stats_day *day = need_day(queue, stats_day_of(q, now));

	count(q, day, COUNTER_FAILURES);
	count(q, day, COUNTER_FAILED);
}

void stats_uncount(struct qless *q, struct queue *queue, double when, enum counter counter)
{
	struct stats_day *day = (struct stats_day *)(uintptr_t)stats_find(queue, when);

	/* The statistics of that day may have been dropped. */
	if (day == NULL || !day->counted[counter])
		return;
	day->counters[counter]--;
	engine_changed(q);
}

static void drop_buckets(struct series *series)
{
	free(series->buckets);
	series->buckets = NULL;
	series->bucket_count = 0;
	series->bucket_cap = 0;
}

static void day_done(struct stats_day *day)
{
	drop_buckets(&day->wait);
	drop_buckets(&day->run);
}

double stats_sum(const struct series *series)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < series->bucket_count; i++)
		sum += (double)series->buckets[i].count;
	return sum;
}

bool stats_is_series(const struct series *series)
{
	return isfinite(series->count) && series->count >= 0 &&
	       fabs(series->mean) <= DURATION_MAX && isfinite(series->vk) && series->vk >= 0;
}

void stats_free_days(struct queue *queue)
{
	uint32_t i;

	for (i = 0; i < queue->day_count; i++)
		day_done(&queue->days[i]);
	free(queue->days);
	queue->days = NULL;
	queue->day_count = 0;
	queue->day_cap = 0;
}

/* Drop the days before `first_day`, and the histograms before `first_histogram`. */
static void maintain_queue(struct qless *q, struct queue *queue, double first_day,
			   double first_histogram)
{
	uint32_t gone = 0;
	uint32_t i;

	while (gone < queue->day_count && queue->days[gone].day < first_day)
		day_done(&queue->days[gone++]);
	assert(gone <= queue->day_count);
	if (gone > 0) {
		queue->day_count -= gone;
		memmove(queue->days, queue->days + gone, queue->day_count * sizeof(*queue->days));
		engine_changed(q);
	}
	for (i = 0; i < queue->day_count && queue->days[i].day < first_histogram; i++) {
		struct stats_day *day = &queue->days[i];

		if (day->wait.bucket_count == 0 && day->run.bucket_count == 0)
			continue;
		drop_buckets(&day->wait);
		drop_buckets(&day->run);
		engine_changed(q);
	}
}

/* The first day to keep, if `days` days before the latest one are kept. */
static double first_kept(const struct qless *q, double days)
{
	return stats_day_start(q->latest) - floor(fmax(days, 0)) * DAY_SECONDS;
}

static void maintain(struct queue *queue, void *arg)
{
	struct qless *q = arg;

	maintain_queue(q, queue, first_kept(q, q->settings.stats_history),
		       first_kept(q, q->settings.histogram_history));
	queue_release(q, queue);
}

void qless_maintain(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	if (!isfinite(q->latest) || !engine_begin(q, q->latest))
		return;
	queue_each(q, maintain, q);
	HASH_FOREACH(node, &it, &q->worker_names.hash) {
		struct worker *worker = intern_from_node(node)->user;

		if (worker != NULL)
			worker_drop_days(q, worker, first_kept(q, q->settings.stats_history));
	}
}

/* The index of a bucket in the histogram that is shown, or -1. */
static int histogram_index(const struct bucket *bucket)
{
	double value = bucket->value;

	switch ((char)bucket->unit) {
	case 's':
		return value >= 0 && value < 60 ? (int)value : -1;
	case 'm':
		return 60 + (int)value - 1;
	case 'h':
		return 60 + 59 + (int)value - 1;
	default:
		return value < 7 ? 60 + 59 + 23 + (int)value - 1 : -1;
	}
}

static void read_series(const struct series *series, struct qless_series *ret_series)
{
	uint32_t i;

	ret_series->count = series->count;
	ret_series->mean = series->mean;
	ret_series->deviation = series->count > 1 ? sqrt(series->vk / (series->count - 1)) : 0;
	for (i = 0; i < series->bucket_count; i++) {
		int index = histogram_index(&series->buckets[i]);

		assert(index < QLESS_HISTOGRAM_BUCKETS);
		if (index >= 0)
			ret_series->histogram[index] = series->buckets[i].count;
	}
}

void qless_stats(const struct qless *q, struct qless_str name, double date,
		 struct qless_stats *ret_stats)
{
	const struct queue *queue = queue_find(q, name);
	const struct stats_day *day = queue != NULL ? stats_find(queue, date) : NULL;

	memset(ret_stats, 0, sizeof(*ret_stats));
	if (day == NULL)
		return;
	read_series(&day->wait, &ret_stats->wait);
	read_series(&day->run, &ret_stats->run);
	ret_stats->retries = day->counters[COUNTER_RETRIES];
	ret_stats->failures = day->counters[COUNTER_FAILURES];
	ret_stats->failed = day->counters[COUNTER_FAILED];
}

bool stats_is_bucket(const struct bucket *b)
{
	if (!isfinite(b->value) || b->value != floor(b->value) ||
	    b->value != stats_bucket_value(b->value))
		return false;
	switch ((char)b->unit) {
	case 's':
		return b->value < 60;
	case 'm':
		return b->value >= 1 && b->value < 60;
	case 'h':
		return b->value >= 1 && b->value < 24;
	case 'd':
		return b->value >= 1;
	default:
		return false;
	}
}

bool stats_follows(const struct bucket *b, const struct bucket *a)
{
	return a->unit < b->unit || (a->unit == b->unit && a->value < b->value);
}

void stats_add_bucket(struct series *series, const struct bucket *bucket)
{
	reserve_bucket(series);
	series->buckets[series->bucket_count++] = *bucket;
}
