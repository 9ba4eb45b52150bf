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
	/* The clocks of clients differ, so a wait may be negative. The sum must not shrink. */
	if (seconds > 0)
		durations->sum = finite_add(durations->sum, seconds);
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
