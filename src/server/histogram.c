#include "server/histogram.h"

#include <stdlib.h>

#include "util/mem.h"

#define SUB_BITS    3
#define SUB_BUCKETS (1u << SUB_BITS)
#define BUCKETS	    ((64 - SUB_BITS + 1) * SUB_BUCKETS)

struct histogram {
	uint64_t count;
	uint64_t buckets[BUCKETS];
};

/*
 * The first eight buckets hold one value each. Above them, the highest bit of a value and the three
 * bits after it select the bucket.
 */
static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB_BUCKETS)
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - SUB_BITS;
	return (shift << SUB_BITS) + (unsigned)(value >> shift);
}

/* The largest value that falls into the bucket. */
static uint64_t bucket_end(unsigned bucket)
{
	unsigned shift;
	uint64_t top;

	if (bucket < SUB_BUCKETS)
		return bucket;
	shift = (bucket >> SUB_BITS) - 1;
	top = (bucket & (SUB_BUCKETS - 1)) + SUB_BUCKETS + 1;
	return (top << shift) - 1;
}

void histogram_add(struct histogram **h, uint64_t value)
{
	if (*h == NULL)
		*h = mem_zalloc(sizeof **h);
	(*h)->count++;
	(*h)->buckets[bucket_of(value)]++;
}

uint64_t histogram_count(const struct histogram *h)
{
	return h != NULL ? h->count : 0;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	uint64_t wanted, seen = 0;

	if (h == NULL || h->count == 0)
		return 0;
	wanted = (uint64_t)((double)h->count * percent / 100.0 + 0.5);
	if (wanted == 0)
		wanted = 1;
	if (wanted > h->count)
		wanted = h->count;
	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= wanted)
			return bucket_end(i);
	}
	return UINT64_MAX;
}

uint64_t histogram_count_up_to(const struct histogram *h, uint64_t value)
{
	uint64_t seen = 0;

	for (unsigned i = 0; h != NULL && i <= bucket_of(value); i++)
		seen += h->buckets[i];
	return seen;
}
