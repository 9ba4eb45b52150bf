/*
 * Metrics of the endpoints to which the server posts jobs.
 */
#ifndef SERVER_PUSH_METRICS_H
#define SERVER_PUSH_METRICS_H

struct buf;
struct server;

/* Append the samples of all endpoints; nothing if there are none. */
void push_metrics_append(struct server *s, struct buf *out);

#endif
