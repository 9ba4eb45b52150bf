/*
 * Loading the state from the log when the server starts.
 */
#ifndef SERVER_LOADING_H
#define SERVER_LOADING_H

#include <stdbool.h>
#include <stdint.h>

struct server;

/* The source of the state, if it is not the server's own directory. */
struct loading_origin {
	char *dir;	   /* of the log to read, which does not change; NULL: the server's own */
	uint64_t sequence; /* the last record to load */
	int64_t wall_us;
};

/* Parse the argument of --recover-to: a sequence number, @seconds since 1970, or a time such as
 * 2026-11-18T14:00:00 (UTC). Returns false if it is invalid. */
bool loading_parse_limit(const char *text, struct loading_origin *origin);

/* Load the state. Clients are served during that time, but not with the state. Returns -1 if
 * loading failed, and logs the reason. */
int loading_run(struct server *s, const struct loading_origin *origin);

#endif
