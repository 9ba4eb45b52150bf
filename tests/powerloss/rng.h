/* Random numbers that follow from a seed: splitmix64. */
#ifndef POWERLOSS_RNG_H
#define POWERLOSS_RNG_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A number from 0 to `limit` - 1. */
static inline size_t rng_below(uint64_t *state, size_t limit)
{
	return (size_t)(rng_next(state) % limit);
}

#endif
