/*
 * Rewrites of the log.
 */
#ifndef SERVER_REWRITE_WATCH_H
#define SERVER_REWRITE_WATCH_H

struct server;

/* Call this once a second: begins a rewrite if the log has grown too far. */
void rewrite_watch_tick(struct server *s);

#endif
