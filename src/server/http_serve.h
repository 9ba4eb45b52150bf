/*
 * The way of a request of HTTP: the checks of its head, and the part of the server that answers.
 */
#ifndef SERVER_HTTP_SERVE_H
#define SERVER_HTTP_SERVE_H

#include <stdbool.h>

#include "http/request.h"
#include "server/dispatch.h"

struct conn;

enum http_admission {
	HTTP_ADMITTED, /* the client may send the body */
	HTTP_REFUSED,  /* the client has its answer */
	HTTP_HELD,     /* nothing happened: call again when the reason in client.hold is gone */
};

/* Decides about a request when its head is there. */
enum http_admission http_serve_head(struct conn *c, const struct http_request *r);

/* Returns whether a body means anything to what answers the request. */
bool http_serve_takes_body(const struct http_request *r);

/* Carries out an admitted request. With DISPATCH_DONE the client has its answer. */
enum dispatch_result http_serve(struct conn *c, const struct http_request *r);

/* Answers the request whose command has ended after DISPATCH_WAIT. */
void http_serve_end(struct conn *c);

#endif
