/*
 * Dispatch: finds the command of a request, asks admission, and runs or refuses it.
 */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include "server/client.h"

struct verdict;

enum dispatch_result {
	DISPATCH_DONE, /* the client has its reply */
	DISPATCH_HOLD, /* nothing happened: call again when the reason in client->hold is gone */
	DISPATCH_WAIT, /* the command goes on: see client->waiting */
	DISPATCH_NEXT, /* only of HTTP: nothing happened, call again in the next turn */
};

/* Handles a request of at least one argument. */
enum dispatch_result dispatch_request(struct client *c, struct qless_str *argv, int argc);

/* Makes a request. The first `name_args` arguments are the name of the row. */
struct request dispatch_make_request(struct client *c, const struct command *row,
				     const struct qless_str *argv, int argc, int name_args);

/* Runs an admitted command, and counts it. */
void dispatch_run(struct request *req);

/* Replies with an error in place of a reply that was too large. */
void dispatch_replace_reply(struct request *req, struct client *c);

/* Counts a command that ran: `row` is what the client sent, `longest_ns` the most of its time that
 * one turn took. */
void dispatch_account(struct client *c, const struct request *req, const struct command *row,
		      int64_t elapsed_ns, int64_t longest_ns, uint64_t errors);

/* Replies with a refusal, and counts it. */
void dispatch_refuse(struct request *req, const struct verdict *verdict);

#endif
