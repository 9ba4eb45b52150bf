/*
 * From a request to a reply: which command it is, whether it may run, and running it.
 */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include "server/client.h"

struct verdict;

enum dispatch_result {
	DISPATCH_DONE, /* answered, one way or another */
	DISPATCH_HOLD, /* not touched: it has to wait until the pause is over */
};

/* Take a request of at least one argument. */
enum dispatch_result dispatch_request(struct client *c, struct qless_str *argv, int argc);

/* Make a request of arguments, of which the first `name_args` name the row. */
struct request dispatch_make_request(struct client *c, const struct command *row,
				     const struct qless_str *argv, int argc, int name_args);

/* Run a command that has been admitted, and account for it. */
void dispatch_run(struct request *req);

/* Reply with a refusal, and account for it. */
void dispatch_refuse(struct request *req, const struct verdict *verdict);

#endif
