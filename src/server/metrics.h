/*
 * The metrics page in the text format of Prometheus. It is made in portions, because it has
 * megabytes if there are thousands of queues.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

struct metrics;
struct server;

/* Begin a page. Figures of the server are read when their portion is made. Figures of all queues
 * are read now. */
struct metrics *metrics_new(struct server *s);
void metrics_free(struct metrics *m);

/* Append about `about_bytes` more. Returns false at the end of the page. */
bool metrics_append(struct metrics *m, struct buf *out, size_t about_bytes);

#endif
