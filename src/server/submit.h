/*
 * Commands of internal clients: parts of the server that have no connection, such as an HTTP
 * request or a worker inside the server.
 *
 * A submitted command runs like one of a connection: the same dispatch with its permissions, pauses
 * and limits, the same statistics, the same log. Its reply is handed to a callback at the end of a
 * turn, once everything is durable that was recorded by the end of the turn in which it ran.
 *
 * server_submit() only queues: commands run in the next step of the loop that runs commands. So it
 * may be called from anywhere, from a callback of its own as well as from a handler of a command.
 *
 *	QUEUED --> ANSWERED --> WAITING --> DUE --> (the callback is called; freed)
 *	  ^ paused     |   waits at the gate ^
 *	  +---+        +---------------------+  nothing to wait for
 */
#ifndef SERVER_SUBMIT_H
#define SERVER_SUBMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "server/client.h"
#include "util/chain.h"
#include "util/str.h"

struct submission;
struct user;

TAILQ_HEAD(submission_list, submission);
TAILQ_HEAD(submitter_list, submitter);

enum submit_outcome {
	SUBMIT_ANSWERED, /* it ran, and what the reply tells of is durable */
	SUBMIT_LOST,	 /* it ran, but the log failed before its records were durable */
	SUBMIT_CLOSED,	 /* it did not run: QUIT came before it, or the server stops */
};

/* Called once for each submission, in their order for each submitter. `reply` is in the protocol of
 * the client's writer, and empty unless the outcome is SUBMIT_ANSWERED; it is valid until the
 * callback returns. The callback may submit more, and may free its submitter. */
typedef void submit_fn(void *arg, enum submit_outcome outcome, const struct chain *reply);

/* An internal client. Its owner may embed it. */
struct submitter {
	struct client client;
	struct submission_list submissions; /* that have not been handed over, oldest first */
	bool is_closed;
	bool is_held; /* the oldest one that is queued waits for the end of a pause */
	TAILQ_ENTRY(submitter) all;
};

/* All submissions, of all submitters. */
struct submissions {
	struct submitter_list submitters;
	struct submission_list queued;
	struct submission_list answered; /* in this turn */
	struct submission_list due;
	size_t count;
	bool can_run; /* one may be queued that no pause holds back: the loop must not wait */
};

void submissions_init(struct server *s);
/* There are no submitters any more. */
void submissions_done(struct server *s);

/* Begin a client with the rights of `user`, which may be NULL. `name` is shown by MONITOR and the
 * slow log in place of an address. */
void submitter_init(struct submitter *by, struct server *s, const char *name,
		    const struct user *user);
/* End the client. Submissions that have not been handed over are forgotten without a call; those
 * that have not run never do. */
void submitter_done(struct submitter *by);

/* Run a command for a submitter. Copies the arguments, of which there is at least one. `fn` may be
 * NULL. Nothing is called from in here. */
void server_submit(struct server *s, struct submitter *by, const struct qless_str *argv, int argc,
		   submit_fn *fn, void *arg);

/*
 * For the loop
 */

/* Run what is queued. */
void submissions_run(struct server *s);
/* The pause is over. */
void submissions_release(struct server *s);
/* The server stops: run nothing more. */
void submissions_stop(struct server *s);
/* The log failed: what was answered in this turn is lost. */
void submissions_lose_turn(struct server *s);
/* At the end of a turn, after the log was written: hand over what is due. */
void submissions_end_turn(struct server *s);
/* A user is about to be deleted: submitters lose the rights. */
void submissions_forget_user(struct server *s, const struct user *user);

#endif
