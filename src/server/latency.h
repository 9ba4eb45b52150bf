/*
 * Events that took long: the last samples of each kind, for LATENCY.
 */
#ifndef SERVER_LATENCY_H
#define SERVER_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

#define LATENCY_SAMPLES 160
#define LATENCY_EVENTS	32 /* kinds of events; their names are literals of ours */

struct latency_sample {
	int64_t when_s;
	int64_t elapsed_ms;
};

struct latency_event {
	const char *name;
	int64_t max_ms;
	struct latency_sample samples[LATENCY_SAMPLES];
	unsigned next; /* where the next sample goes */
	unsigned count;
};

struct latency_monitor {
	struct latency_event *events[LATENCY_EVENTS];
	unsigned count;
};

struct latency_monitor *latency_new(void);
void latency_free(struct latency_monitor *m);

/* Borrows the name for ever. Of several samples within one second the longest is kept. */
void latency_add(struct latency_monitor *m, const char *event, int64_t when_s, int64_t elapsed_ms);
/* NULL if there is none. */
const struct latency_event *latency_find(const struct latency_monitor *m, struct qless_str name);
/* The sample `index` from the oldest, 0 .. count - 1. */
struct latency_sample latency_sample_at(const struct latency_event *e, unsigned index);
/* Forget the samples of one kind; false if there is no such kind. */
bool latency_reset(struct latency_monitor *m, struct qless_str name);
/* Forget everything; returns how many kinds there were. */
unsigned latency_reset_all(struct latency_monitor *m);

#endif
