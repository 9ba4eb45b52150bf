/*
 * Logging in and out of the console: POST /v1/login and /v1/logout, and GET /v1/me.
 */
#ifndef SERVER_HTTP_USER_H
#define SERVER_HTTP_USER_H

#include <stdbool.h>

#include "http/request.h"
#include "server/dispatch.h"

struct conn;

bool http_user_has(const struct http_target *target);
/* Answers a request for one of these paths. The client of a login has no user yet. */
enum dispatch_result http_user_run(struct conn *c, const struct http_request *r);

#endif
