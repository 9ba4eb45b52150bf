#include "benchmark/histogram.h"

#include <math.h>

#define SUB_BUCKETS ((uint64_t)1 << HISTOGRAM_PRECISION_BITS)
#define VALUE_MAX   (((uint64_t)1 << HISTOGRAM_VALUE_BITS) - 1)

/* Values below 128 have a bucket each. For larger ones the leading bit determines the power of two,
 * and the next seven bits the bucket within it. */
static size_t bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB_BUCKETS)
		return (size_t)value;
	if (value > VALUE_MAX)
		value = VALUE_MAX;
	shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_PRECISION_BITS;
	return ((size_t)(shift + 1) << HISTOGRAM_PRECISION_BITS) +
	       (size_t)((value >> shift) - SUB_BUCKETS);
}

static uint64_t bucket_last_value(size_t bucket)
{
	unsigned shift;

	if (bucket < SUB_BUCKETS)
		return bucket;
	shift = (unsigned)(bucket >> HISTOGRAM_PRECISION_BITS) - 1;
	return ((SUB_BUCKETS + (bucket & (SUB_BUCKETS - 1)) + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
	h->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *h, const struct histogram *from)
{
	h->count += from->count;
	h->sum += from->sum;
	if (from->max > h->max)
		h->max = from->max;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		h->buckets[i] += from->buckets[i];
}

double histogram_mean(const struct histogram *h)
{
	return h->count != 0 ? (double)h->sum / (double)h->count : 0;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	uint64_t wanted = (uint64_t)ceil((double)h->count * percent / 100);
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= wanted && seen != 0) {
			uint64_t value = bucket_last_value(i);

			return value < h->max ? value : h->max;
		}
	}
	return h->max;
}

uint64_t histogram_count_below(const struct histogram *h, uint64_t value)
{
	size_t end = value > VALUE_MAX ? HISTOGRAM_BUCKETS : bucket_of(value);
	uint64_t count = 0;

	for (size_t i = 0; i < end; i++)
		count += h->buckets[i];
	return count;
}
