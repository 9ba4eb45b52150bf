/*
 * How long things took, in nanoseconds: counts in buckets that widen with the value, 128 to each
 * power of two, so that every percentile is right to within 0.8 percent.
 */
#ifndef BENCHMARK_HISTOGRAM_H
#define BENCHMARK_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_PRECISION_BITS 7
#define HISTOGRAM_VALUE_BITS	 37 /* 137 seconds; what is longer counts as that */
#define HISTOGRAM_BUCKETS \
	((size_t)(HISTOGRAM_VALUE_BITS - HISTOGRAM_PRECISION_BITS + 1) << HISTOGRAM_PRECISION_BITS)

struct histogram {
	uint64_t count, sum, max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* All zero is an empty one. */
void histogram_add(struct histogram *h, uint64_t value);

/* Add what is in `from` to `h`. */
void histogram_merge(struct histogram *h, const struct histogram *from);

double histogram_mean(const struct histogram *h);

/* A value that `percent` of all values do not exceed, and no more than the largest; 0 if there are
 * none. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/* How many values are below `value`, to within the bucket it is in. */
uint64_t histogram_count_below(const struct histogram *h, uint64_t value);

#endif
