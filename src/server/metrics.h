/*
 * Everything the server tells about itself in the text format of Prometheus, made in portions: with
 * thousands of queues it is megabytes.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

struct metrics;
struct server;

/* Each figure is told as it is when its portion is made, those of queues as they all are at one
 * moment. */
struct metrics *metrics_new(struct server *s);
void metrics_free(struct metrics *m);

/* Append something more, about so many bytes. False if that was the end. */
bool metrics_append(struct metrics *m, struct buf *out, size_t about_bytes);

#endif
