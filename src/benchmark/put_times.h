/*
 * When the jobs were put that no worker has got yet.
 *
 * Jobs have consecutive numbers, and leave in about the order in which they were put. So the times
 * are a ring, which grows with the distance from the oldest job to the newest.
 */
#ifndef BENCHMARK_PUT_TIMES_H
#define BENCHMARK_PUT_TIMES_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. */
struct put_times {
	int64_t *ring; /* 0 for a job that has left */
	size_t cap;
	uint64_t oldest, next; /* numbers of jobs */
	uint64_t count;	       /* jobs that have not left */
};

void put_times_done(struct put_times *t);

/* Adds the next job. Its number is at least that of the first job, and one more than the last. */
void put_times_add(struct put_times *t, uint64_t number, int64_t now_ns);
/* Removes a job. Returns when it was put, or 0 if it is not there. */
int64_t put_times_take(struct put_times *t, uint64_t number);

#endif
