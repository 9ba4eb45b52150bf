/*
 * Loading the state from the log when the server starts.
 */
#ifndef SERVER_LOADING_H
#define SERVER_LOADING_H

#include "journal/recover.h"

struct server;

/* The source of the state, if it is not the server's own directory. */
struct loading_origin {
	char *dir; /* of the log to read, which does not change; NULL: the server's own */
	struct recovery_limit limit;
};

/* Load the state. Clients are served during that time, but not with the state. Returns -1 if
 * loading failed, and logs the reason. */
int loading_run(struct server *s, const struct loading_origin *origin);

#endif
