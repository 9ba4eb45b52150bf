/*
 * The web console: files that are part of the program, for browsers.
 *
 * They hold no data of the server. The scripts in them use the routes below /v1, which want a user.
 */
#ifndef SERVER_CONSOLE_H
#define SERVER_CONSOLE_H

#include <stdbool.h>

#include "http/request.h"

struct conn;

/* Returns whether a path belongs to the console: "/", and everything below "/console/". */
bool console_has(const struct http_target *target);

/* Answers a request for such a path. */
void console_run(struct conn *c, const struct http_request *r);

#endif
