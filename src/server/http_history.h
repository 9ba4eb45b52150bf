/*
 * The history of a job tells what people did to it in the console, with the name of the user: in an
 * entry as LOG makes it, such as `requeued by alice in the console`.
 *
 * The entries of a command about few jobs are in the same record of the log as the change, so a
 * crash keeps both or neither. The jobs of a larger one get their entries in the turns that follow.
 * The next request of any session waits for them, so a browser never sees a part of them. A crash
 * before that loses the rest.
 *
 * A request of the console is one whose user came by the cookie of a session.
 */
#ifndef SERVER_HTTP_HISTORY_H
#define SERVER_HTTP_HISTORY_H

#include <stdbool.h>

#include "operation/operation.h"
#include "util/str.h"

struct client;
struct conn;
struct http_history;
struct server;

struct http_history *http_history_new(void);
/* NULL is a no-op. */
void http_history_free(struct http_history *h);

/* Whether the client of the request is a browser that has logged in. */
bool http_history_is_kept(const struct conn *c);

/* Call this before such a request runs its command, and afterwards. The first returns whether the
 * command leaves entries. `has_run`: the command has ended without an error. */
bool http_history_begin(struct conn *c, const struct qless_str *argv, int argc);
void http_history_end(struct conn *c, bool has_run);
/* Call this instead of the second one if the command goes on in later turns. If it only checks its
 * request until then, the turn in which it runs calls both functions above. */
void http_history_put_off(struct conn *c);
/* Whether the command of the client goes on, and will leave entries. */
bool http_history_is_put_off(const struct client *client);

/* Called with every operation that changed something, right after it ran. */
void http_history_note_change(struct server *s, const struct operation *op);

/* Whether jobs wait for their entries, so that no other command can leave entries. */
bool http_history_is_busy(const struct server *s);
/* Whether jobs wait for their entries, and may get them now. */
bool http_history_can_run(const struct server *s);
/* Writes the entries of some of them. Called in each turn. */
void http_history_go_on(struct server *s);
/* The server stops: writes the entries of all. */
void http_history_finish(struct server *s);

#endif
