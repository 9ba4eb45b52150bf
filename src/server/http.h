/*
 * The HTTP port, for those who watch: /metrics, /healthz and /readyz. Everything else is refused.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <stddef.h>

#include "util/buf.h"

struct http;
struct server;

/* Listen where the directives http-port and http-bind say; with port 0 there is nothing to do. -1
 * with a line in `ret_error`. */
int http_open(struct server *s, struct buf *ret_error);
/* Ends all connections, of which libevent frees the rest with the event base. NULL is a no-op. */
void http_close(struct http *h);
/* After the event base is gone. */
void http_free(struct http *h);

/* Once a second: accept again when there are fewer connections. */
void http_cron(struct http *h);

/* As of about a second ago; 0 for NULL. */
size_t http_connection_count(const struct http *h);

#endif
