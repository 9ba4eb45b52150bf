/*
 * The HTTP port for monitoring: /metrics, /healthz and /readyz.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <stddef.h>

#include "util/buf.h"

struct http;
struct server;

/* Listen as http-port and http-bind say. With port 0 there is nothing to do. Returns -1 with a
 * line in `ret_error`. */
int http_open(struct server *s, struct buf *ret_error);
/* End all connections. libevent frees some of their memory with the event base. NULL is a no-op. */
void http_close(struct http *h);
/* Call this after the event base has been freed. */
void http_free(struct http *h);

/* Call this once a second: counts the connections. */
void http_cron(struct http *h);

/* Returns the number of connections, as of the last count. 0 for NULL. */
size_t http_connection_count(const struct http *h);

#endif
