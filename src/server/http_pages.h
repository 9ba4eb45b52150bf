/*
 * The pages for monitoring: /metrics, /healthz and /readyz. They need no user.
 */
#ifndef SERVER_HTTP_PAGES_H
#define SERVER_HTTP_PAGES_H

#include <stdbool.h>

#include "http/request.h"
#include "server/dispatch.h"

struct conn;
struct http_pages;
struct server;

struct http_pages *http_pages_new(void);
/* Call this after all connections have ended. NULL is a no-op. */
void http_pages_free(struct http_pages *p);

/* Returns whether the path is that of a page. */
bool http_pages_have(const struct http_target *target);
/* Answers a request for a page. Returns false if there is no page at the path. */
bool http_pages_run(struct conn *c, const struct http_request *r, enum dispatch_result *ret_result);

/* Returns whether a page can go on. */
bool http_pages_can_run(const struct server *s);
/* Goes on with a page that is sent in portions. Once in each turn. */
void http_pages_go_on(struct server *s);

#endif
