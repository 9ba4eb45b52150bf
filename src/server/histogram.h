/*
 * Histograms of durations. Buckets widen with the value, eight to each power of two, so every
 * percentile is right to within an eighth.
 */
#ifndef SERVER_HISTOGRAM_H
#define SERVER_HISTOGRAM_H

#include <stdint.h>

struct histogram;

/* Count a value; makes the histogram if *h is NULL. Free it with free(). */
void histogram_add(struct histogram **h, uint64_t value);

uint64_t histogram_count(const struct histogram *h);

/* Returns a value that `percent` of all values do not exceed, or 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/* Returns how many values are at most `value`. Exact if `value` is one less than a power of two,
 * otherwise to within a bucket. */
uint64_t histogram_count_up_to(const struct histogram *h, uint64_t value);

#endif
