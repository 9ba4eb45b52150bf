/*
 * From a request to a reply: which command it is, whether it may run, and running it.
 */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include "server/client.h"

enum dispatch_result {
	DISPATCH_DONE, /* answered, one way or another */
	DISPATCH_HOLD, /* not touched: it has to wait until the pause is over */
};

/* Take a request of at least one argument. */
enum dispatch_result dispatch_request(struct client *c, struct qless_str *argv, int argc);

/* Run a command that has passed all checks, and account for it. */
void dispatch_run(struct client *c, const struct command *cmd, const struct qless_str *argv,
		  int argc, int name_args);

#endif
