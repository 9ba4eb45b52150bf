/*
 * Waiting for observable conditions, with long timeouts because the machine may be busy.
 */
#ifndef TESTS_WAIT_H
#define TESTS_WAIT_H

#include <stdint.h>
#include <time.h>

#include "unit.h"

/* Milliseconds after which a test gives up. Shared machines stand still for many seconds. */
#define WAIT_MAX_MS 100000

static inline int64_t wait_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline void wait_ms(int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

/* Check a condition repeatedly until it holds. */
#define WAIT_UNTIL(condition)                                                         \
	do {                                                                          \
		int64_t until_ = wait_now_ms() + WAIT_MAX_MS;                         \
		while (!(condition)) {                                                \
			if (wait_now_ms() > until_)                                   \
				TEST_FAIL_MESSAGE("waited in vain for: " #condition); \
			wait_ms(2);                                                   \
		}                                                                     \
	} while (0)

#endif
