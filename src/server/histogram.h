/*
 * How long things took: counts in buckets that widen with the value, eight to each power of two, so
 * that every percentile is right to within an eighth.
 */
#ifndef SERVER_HISTOGRAM_H
#define SERVER_HISTOGRAM_H

#include <stdint.h>

struct histogram;

/* Count a value; makes the histogram if *h is NULL. Free it with free(). */
void histogram_add(struct histogram **h, uint64_t value);

uint64_t histogram_count(const struct histogram *h);

/* A value that `percent` of all values do not exceed; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/* How many values are at most `value`, which is one less than a power of two, or a power of two
 * itself to within the bucket. */
uint64_t histogram_count_up_to(const struct histogram *h, uint64_t value);

#endif
