/*
 * Samples of events that took long, for LATENCY.
 */
#ifndef SERVER_LATENCY_H
#define SERVER_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

#define LATENCY_SAMPLES 160
#define LATENCY_EVENTS	32 /* number of kinds of events; their names are literals */

struct latency_sample {
	int64_t when_s;
	int64_t elapsed_ms;
};

struct latency_event {
	const char *name;
	int64_t max_ms;
	struct latency_sample samples[LATENCY_SAMPLES];
	unsigned next; /* index of the next sample */
	unsigned count;
};

struct latency_monitor {
	struct latency_event *events[LATENCY_EVENTS];
	unsigned count;
};

struct latency_monitor *latency_new(void);
void latency_free(struct latency_monitor *m);

/* Add a sample. Borrows the name for ever. Of several samples in the same second, the longest is
 * kept. */
void latency_add(struct latency_monitor *m, const char *event, int64_t when_s, int64_t elapsed_ms);
/* Returns NULL if there are no samples of that name. */
const struct latency_event *latency_find(const struct latency_monitor *m, struct qless_str name);
/* Returns the sample `index`, counted from the oldest: 0 .. count - 1. */
struct latency_sample latency_sample_at(const struct latency_event *e, unsigned index);
/* Forget the samples of one kind. Returns false if there are none. */
bool latency_reset(struct latency_monitor *m, struct qless_str name);
/* Forget all samples. Returns how many kinds there were. */
unsigned latency_reset_all(struct latency_monitor *m);

#endif
