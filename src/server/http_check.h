/*
 * Checks against web pages of others.
 *
 * A browser sends requests for any page that a person visits. So a request must name a host that is
 * ours, which a page cannot arrange by changing its name in the DNS. It must not come from a page
 * of another origin, unless http-cors-origins has that. And what changes something has a type that
 * no form of a page can send.
 */
#ifndef SERVER_HTTP_CHECK_H
#define SERVER_HTTP_CHECK_H

#include <stdbool.h>

#include "http/request.h"
#include "server/http_serve.h"
#include "util/str.h"

struct conn;
struct server;

/* Returns whether a browser may have sent the request. A page that makes a browser send one cannot
 * leave out Accept-Language. */
bool http_may_be_of_browser(const struct http_request *r);

/* Returns whether the value of Host names this server. */
bool http_host_is_ours(const struct server *s, struct qless_str host);

/* Refuses a request with the name of another host. */
enum http_admission http_check_host(struct conn *c, const struct http_request *r);
/* Refuses a request of a page of another origin, and answers the question of a browser whether such
 * a page may send one. A browser may show a page of ours from a link elsewhere, if `is_page`. */
enum http_admission http_check_origin(struct conn *c, const struct http_request *r, bool is_page);
/* Refuses a body that does not say that it is JSON. */
enum http_admission http_check_type(struct conn *c, const struct http_request *r);

#endif
