/*
 * Figures of the classes of all databases, for INFO and /metrics. There are none while the state is
 * loaded.
 */
#ifndef SERVER_CLASSES_H
#define SERVER_CLASSES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/view.h"
#include "util/buf.h"

struct server;

/* Number of classes that have a line in INFO: those whose jobs were put and popped most often. */
#define CLASSES_INFO_MAX 100

/* Append a line for each class, the busiest first. */
void classes_append_info(struct server *s, struct buf *out);

/* The metrics of classes, as they were when the first portion was made. */
struct class_metrics {
	struct server *server;
	struct class_row *rows;
	size_t count, cap;
	/* Where the page is. */
	bool has_begun;
	size_t family;
	size_t row;
};

void class_metrics_begin(struct class_metrics *m, struct server *s);
void class_metrics_done(struct class_metrics *m);

/* Append up to about `max_len` bytes of text in `out`. Returns false at the end. */
bool class_metrics_append(struct class_metrics *m, struct buf *out, size_t max_len);

#endif
