/*
 * The history of a job tells what people did to it in the console, with the name of the user: in an
 * entry as LOG makes it, such as `requeued by alice in the console`. It is in the same record of
 * the log as the change, so a crash keeps both or neither.
 *
 * A request of the console is one whose user came by the cookie of a session.
 */
#ifndef SERVER_HTTP_HISTORY_H
#define SERVER_HTTP_HISTORY_H

#include <stdbool.h>

#include "util/str.h"

struct conn;

/* Whether the client of the request is a browser that has logged in. */
bool http_history_is_kept(const struct conn *c);

/* Call this before such a request runs its command, and afterwards. `has_run`: the command has
 * ended without an error. */
void http_history_begin(struct conn *c);
void http_history_end(struct conn *c, const struct qless_str *argv, int argc, bool has_run);

#endif
