/*
 * Loading the state from the log when the server starts.
 */
#ifndef SERVER_LOADING_H
#define SERVER_LOADING_H

#include <stdbool.h>
#include <stdint.h>

struct server;

/* Where the state comes from, if not from the server's own directory. */
struct loading_origin {
	char *dir;	   /* of the log to be read, which is left as it is; NULL: our own */
	uint64_t sequence; /* how far to go in it */
	int64_t wall_us;
};

/* Understand the argument of --recover-to: a sequence number, @seconds since 1970, or a time such
 * as 2026-11-18T14:00:00 (UTC). */
bool loading_parse_limit(const char *text, struct loading_origin *origin);

/* Load the state. Clients are served meanwhile, but not with it. Returns -1 if that failed; the
 * log of the server says why. */
int loading_run(struct server *s, const struct loading_origin *origin);

#endif
