/*
 * Metrics of limits: those under which most jobs wait or run, up to http-max-limits.
 *
 * There may be a million limits, so a portion of the page looks at some of them, and keeps the
 * largest so far. Their figures are those of the moment when they were looked at.
 */
#ifndef SERVER_LIMIT_METRICS_H
#define SERVER_LIMIT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

struct limit_row;
struct server;

struct limit_metrics {
	struct server *server;
	size_t max;
	/* The walk over the limits of all databases. */
	unsigned db;
	uint32_t cursor;
	/* The largest so far. Once there are `max`, they are a heap with the smallest on top. */
	struct limit_row *rows;
	size_t count, cap;
	uint64_t left_out;
	/* Where the page is, after the walk. */
	bool has_begun;
	size_t family;
	size_t row;
};

void limit_metrics_begin(struct limit_metrics *m, struct server *s);
void limit_metrics_done(struct limit_metrics *m);

/* Append up to about `max_len` bytes of text in `out`, or look at some more limits. Returns false
 * at the end. */
bool limit_metrics_append(struct limit_metrics *m, struct buf *out, size_t max_len);

#endif
