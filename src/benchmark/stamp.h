/*
 * The times in requests, as text: seconds with six decimals, each later than the one before.
 *
 * A client library reads the clock for each call, so its calls have different times. This program
 * reads it once for all replies of a connection, and adds a microsecond for each request. That is
 * about the time of a request, and costs less than reading the clock. With the same time for a
 * whole batch, the server would have to order jobs by their jids, which no real client makes it do.
 */
#ifndef BENCHMARK_STAMP_H
#define BENCHMARK_STAMP_H

#include <stdint.h>

#include "benchmark/request.h"

/* A zeroed struct must be read first. */
struct stamp {
	int64_t us; /* the time in the text */
	char text[REQUEST_TIME_BYTES + 1];
};

/* Sets the time of the clock, unless that is already past. */
void stamp_read(struct stamp *stamp, int64_t now_us);

/* The time of the next request, valid until the next call. */
const char *stamp_next(struct stamp *stamp);

#endif
