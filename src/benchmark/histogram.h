/*
 * Durations in nanoseconds, counted in buckets. Each power of two has 128 buckets, so a percentile
 * is exact to 0.8 percent.
 */
#ifndef BENCHMARK_HISTOGRAM_H
#define BENCHMARK_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_PRECISION_BITS 7
#define HISTOGRAM_VALUE_BITS	 37 /* 137 seconds; longer durations count as that */
#define HISTOGRAM_BUCKETS \
	((size_t)(HISTOGRAM_VALUE_BITS - HISTOGRAM_PRECISION_BITS + 1) << HISTOGRAM_PRECISION_BITS)

struct histogram {
	uint64_t count, sum, max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* A zeroed struct is an empty histogram. */
void histogram_add(struct histogram *h, uint64_t value);

/* Add the counts of `from` to `h`. */
void histogram_merge(struct histogram *h, const struct histogram *from);

double histogram_mean(const struct histogram *h);

/* The smallest bucket limit that at least `percent` of the values do not exceed, and at most the
 * largest value; 0 without values. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/* The number of values below `value`, to within its bucket. */
uint64_t histogram_count_below(const struct histogram *h, uint64_t value);

#endif
