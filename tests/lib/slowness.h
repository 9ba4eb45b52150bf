/*
 * How slow this machine is at the moment, for tests that bound the processor time of the server.
 *
 * The processor time of the same work grows when other programs, or other virtual machines, use the
 * same caches and memory. Half as much again is common. So a test whose bound is exceeded also
 * measures work of its own, which waits for memory as the engine does, and compares it with the
 * time that this work took on the machine that the bounds were made for.
 */
#ifndef TESTS_LIB_SLOWNESS_H
#define TESTS_LIB_SLOWNESS_H

#include <stdint.h>
#include <stdlib.h>

#include "sys/clock.h"

/* The work is a walk through these cells, in an order that no prefetcher knows. */
#define SLOWNESS_CELLS (UINT32_C(1) << 24)
#define SLOWNESS_STEPS 50000
/* Microseconds of processor time of the walk on that machine, at its best. */
#define SLOWNESS_REFERENCE_US 8000
/* A bound is never more than twice as large. */
#define SLOWNESS_MAX 2.0

/* Returns how many times longer the work takes now, from 1 to SLOWNESS_MAX. The first call
 * allocates the cells, which stay. */
static inline double slowness(void)
{
	static uint32_t *cells;
	static uint32_t at;
	int64_t begin_us;
	double times;

	if (cells == NULL) {
		cells = malloc(SLOWNESS_CELLS * sizeof *cells);
		if (cells == NULL)
			abort();
		for (uint32_t i = 0; i < SLOWNESS_CELLS; i++)
			cells[i] = (i * UINT32_C(1664525) + UINT32_C(1013904223)) % SLOWNESS_CELLS;
	}
	begin_us = clock_thread_cpu_us();
	for (int i = 0; i < SLOWNESS_STEPS; i++)
		at = cells[at];
	times = (double)(clock_thread_cpu_us() - begin_us) / SLOWNESS_REFERENCE_US;
	return times < 1 ? 1 : times > SLOWNESS_MAX ? SLOWNESS_MAX : times;
}

#endif
