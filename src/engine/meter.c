#include "engine/meter.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/klass.h"
#include "engine/queue.h"

static const double bounds[METER_BOUND_COUNT] = METER_BOUNDS;

/* 30 million years, of which a sum has room for any number. */
#define SECONDS_MAX 1e15

static const double span_seconds[METER_SPANS] = { 60, 300, 900 };

double meter_bound(size_t i)
{
	return i < METER_BOUND_COUNT ? bounds[i] : INFINITY;
}

/* The part of a duration that counts in a sum. The clocks of clients differ, so a duration may be
 * negative, and their times may be any number. A sum must neither shrink nor become infinite. */
static inline double clamp(double seconds)
{
	if (!(seconds > 0))
		return 0;
	return seconds < SECONDS_MAX ? seconds : SECONDS_MAX;
}

static inline size_t find_bucket(double seconds)
{
	size_t i = 0;

	while (i < METER_BOUND_COUNT && seconds > bounds[i])
		i++;
	return i;
}

static inline void add_duration(struct meter_durations *durations, size_t bucket, double seconds)
{
	durations->buckets[bucket]++;
	durations->sum += seconds;
}

void meter_pop(struct meter *queue, struct meter *klass, double seconds)
{
	size_t bucket = find_bucket(seconds);

	seconds = clamp(seconds);
	queue->counts[METER_POP]++;
	klass->counts[METER_POP]++;
	add_duration(&queue->wait, bucket, seconds);
	add_duration(&klass->wait, bucket, seconds);
}

void meter_complete(struct meter *queue, struct meter *klass, double seconds, double attempts)
{
	size_t bucket = find_bucket(seconds);

	seconds = clamp(seconds);
	queue->counts[METER_COMPLETE]++;
	klass->counts[METER_COMPLETE]++;
	queue->attempts += attempts;
	klass->attempts += attempts;
	add_duration(&queue->run, bucket, seconds);
	add_duration(&klass->run, bucket, seconds);
}

static inline void add_to_sum(struct meter_sum *sum, double seconds)
{
	sum->count++;
	sum->sum += seconds;
}

void meter_end(struct meter *queue, struct meter *klass, enum meter_end end, double seconds)
{
	seconds = clamp(seconds);
	add_to_sum(&queue->ends[end], seconds);
	add_to_sum(&klass->ends[end], seconds);
}

struct meter_sum meter_lifetime(const struct meter *meter)
{
	struct meter_sum sum = { 0 };

	for (int end = 0; end < METER_ENDS; end++) {
		sum.count += meter->ends[end].count;
		sum.sum += meter->ends[end].sum;
	}
	return sum;
}

static void add_durations(struct meter_durations *to, const struct meter_durations *from)
{
	for (size_t i = 0; i <= METER_BOUND_COUNT; i++)
		to->buckets[i] += from->buckets[i];
	to->sum += from->sum;
}

void meter_add(struct meter *to, const struct meter *from)
{
	for (int event = 0; event < METER_EVENTS; event++) {
		to->counts[event] += from->counts[event];
		/* Events since the last tick are part of the next one. */
		to->ticked_counts[event] += from->ticked_counts[event];
	}
	add_durations(&to->wait, &from->wait);
	add_durations(&to->run, &from->run);
	for (int end = 0; end < METER_ENDS; end++) {
		to->ends[end].count += from->ends[end].count;
		to->ends[end].sum += from->ends[end].sum;
	}
	to->attempts += from->attempts;
}

struct tick {
	double now;
	double elapsed; /* the time that `keep` was computed for */
	double keep[METER_SPANS];
};

/* Compute the weight of the old mean after `elapsed` seconds. Most queues were ticked together, so
 * it is computed once for them. */
static void set_elapsed(struct tick *tick, double elapsed)
{
	int span;

	if (elapsed == tick->elapsed)
		return;
	tick->elapsed = elapsed;
	for (span = 0; span < METER_SPANS; span++)
		tick->keep[span] = exp(-elapsed / span_seconds[span]);
}

static void tick_meter(struct meter *meter, struct tick *tick)
{
	double elapsed = tick->now - meter->ticked;
	int event, span;

	if (meter->ticked == 0 || elapsed <= 0) {
		if (meter->ticked == 0)
			meter->ticked = tick->now;
		return;
	}
	meter->ticked = tick->now;
	set_elapsed(tick, elapsed);
	for (event = 0; event < METER_EVENTS; event++) {
		uint64_t came = meter->counts[event] - meter->ticked_counts[event];
		double rate = (double)came / elapsed;

		assert(meter->counts[event] >= meter->ticked_counts[event]);
		meter->ticked_counts[event] = meter->counts[event];
		for (span = 0; span < METER_SPANS; span++) {
			double keep = tick->keep[span];
			double mean = meter->rates[event][span] * keep + rate * (1 - keep);

			/* Otherwise it would approach 0 for years, by way of subnormal numbers,
			 * which are slow. */
			meter->rates[event][span] = mean < 1e-9 ? 0 : (float)mean;
		}
	}
}

/* The meters of the queues, then that of the other classes, then those of the classes. */
static struct meter *meter_at(struct qless *q, size_t at)
{
	if (at < q->all_queues.count)
		return &q->all_queues.items[at]->meter;
	at -= q->all_queues.count;
	return at == 0 ? &q->klasses.other : &q->klasses.items[at - 1]->meter;
}

size_t meter_tick(struct qless *q, size_t cursor, size_t max, double seconds)
{
	size_t count = q->all_queues.count + 1 + q->klasses.count;
	struct tick tick = { .now = seconds, .elapsed = -1 };

	for (; cursor < count && max > 0; cursor++, max--)
		tick_meter(meter_at(q, cursor), &tick);
	return cursor < count ? cursor : 0;
}

static void reset_meter(struct queue *queue, void *arg)
{
	memset(&queue->meter, 0, sizeof queue->meter);
	(void)arg;
}

void meter_reset_all(struct qless *q)
{
	queue_each(q, reset_meter, NULL);
	for (size_t i = 0; i < q->klasses.count; i++)
		memset(&q->klasses.items[i]->meter, 0, sizeof q->klasses.items[i]->meter);
	memset(&q->klasses.other, 0, sizeof q->klasses.other);
}
