#include "engine/meter.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/queue.h"

static const double bounds[METER_BOUND_COUNT] = METER_BOUNDS;

static const double span_seconds[METER_SPANS] = { 60, 300, 900 };

double meter_bound(size_t i)
{
	return i < METER_BOUND_COUNT ? bounds[i] : INFINITY;
}

void meter_add_duration(struct meter_durations *durations, double seconds)
{
	size_t i = 0;

	while (i < METER_BOUND_COUNT && seconds > bounds[i])
		i++;
	durations->buckets[i]++;
	/* Clocks of clients differ: a wait may be negative, a sum that grows may not shrink. */
	if (seconds > 0)
		durations->sum = finite_add(durations->sum, seconds);
}

struct tick {
	double now;
	double elapsed; /* that `keep` is for */
	double keep[METER_SPANS];
};

/* What is left of a mean after so long. Queues mostly were ticked at the same time as the one
 * before. */
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

			/* Would go on for years towards 0, by way of the slow numbers. */
			meter->rates[event][span] = mean < 1e-9 ? 0 : (float)mean;
		}
	}
}

size_t meter_tick(struct qless *q, size_t cursor, size_t max, double seconds)
{
	const struct queue_vec *all = &q->all_queues;
	struct tick tick = { .now = seconds, .elapsed = -1 };

	for (; cursor < all->count && max > 0; cursor++, max--)
		tick_meter(&all->items[cursor]->meter, &tick);
	return cursor < all->count ? cursor : 0;
}

static void reset_meter(struct queue *queue, void *arg)
{
	memset(&queue->meter, 0, sizeof queue->meter);
	(void)arg;
}

void meter_reset_all(struct qless *q)
{
	queue_each(q, reset_meter, NULL);
}
