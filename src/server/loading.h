/*
 * Loading the state from the log when the server starts.
 */
#ifndef SERVER_LOADING_H
#define SERVER_LOADING_H

#include "journal/recover.h"
#include "server/member.h"

struct server;

/* The source of the state, if it is not the server's own directory. */
struct loading_origin {
	char *dir; /* of the log to read, which does not change; NULL: the server's own */
	struct recovery_limit limit;
	struct member_birth birth;
};

/* Load the state. Clients are served during that time, but not with the state. Returns -1 if
 * loading failed, and logs the reason. */
int loading_run(struct server *s, const struct loading_origin *origin);

/* For a node of a group: throw the state away, and load it again from the log that is in use. */
void loading_repeat(struct server *s);

#endif
