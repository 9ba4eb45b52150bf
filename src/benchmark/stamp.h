/*
 * The times that requests carry, as text: seconds with six decimals, each later than the one
 * before.
 *
 * A client library reads the clock for each call, so no two calls of a process have the same time.
 * We read it once for all that has come on a connection, and count on from there by a microsecond
 * for each request, which is about what one takes, and costs less than to ask. With the same time
 * for a batch the server would have to order jobs by their jids that nobody else would send as
 * equal.
 */
#ifndef BENCHMARK_STAMP_H
#define BENCHMARK_STAMP_H

#include <stdint.h>

#include "benchmark/request.h"

/* All zero is one that has to be read first. */
struct stamp {
	int64_t us; /* what the text says */
	char text[REQUEST_TIME_BYTES + 1];
};

/* What the clock says; it is not believed if that has gone by already. */
void stamp_read(struct stamp *stamp, int64_t now_us);

/* The time of the next request. Good until there is another one. */
const char *stamp_next(struct stamp *stamp);

#endif
