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
 *	  ^ | paused ^ |   waits at the gate ^
 *	  +-+        | +---------------------+  nothing to wait for
 *	  |          |
 *	  +--> RUNNING  the command goes on in later turns
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
	SUBMIT_ANSWERED, /* it ran, and its records are durable */
	SUBMIT_LOST,	 /* it ran, but the log failed first; its records may be lost */
	SUBMIT_CLOSED, /* it did not run, or not to its end: QUIT came before it, the server stops,
			* or its user was deleted */
};

/* Called once for each submission, in order for each submitter. `reply` is in the protocol of
 * the client's writer, and valid until the callback returns. It is empty unless the outcome is
 * SUBMIT_ANSWERED. The callback may submit more, and may end its submitter. */
typedef void submit_fn(void *arg, enum submit_outcome outcome, const struct chain *reply);

/* An internal client. Its owner may embed it. */
struct submitter {
	struct client client;
	struct submission_list submissions; /* whose callbacks have not been called, oldest first */
	bool is_closed;
	TAILQ_ENTRY(submitter) all;
};

/* All submissions, of all submitters. */
struct submissions {
	struct submitter_list submitters;
	struct submission_list queued;
	struct submission_list answered; /* in this turn */
	struct submission_list due;
	size_t count;
	bool can_run; /* a queued command may be able to run: the loop must not wait */
};

void submissions_init(struct server *s);
/* Call this after all submitters have ended. */
void submissions_done(struct server *s);

/* Begin a client with the rights of `user`, which may be NULL. MONITOR and the slow log show
 * `name` in place of an address. */
void submitter_init(struct submitter *by, struct server *s, const char *name,
		    const struct user *user);
/* End the client. Queued commands do not run, and no callbacks are called. */
void submitter_done(struct submitter *by);

/* Queue a command, with at least one argument. Copies the arguments. `fn` may be NULL. Calls no
 * callbacks. */
void server_submit(struct server *s, struct submitter *by, const struct qless_str *argv, int argc,
		   submit_fn *fn, void *arg);

/*
 * For the loop
 */

/* Run the queued commands. Call this if `can_run` is set. */
void submissions_run(struct server *s);
/* The pause is over. */
void submissions_release(struct server *s);
/* The server stops: run nothing more. */
void submissions_stop(struct server *s);
/* The log failed: the answers of this turn are lost. */
void submissions_lose_turn(struct server *s);
/* Call this at the end of a turn, after the log was written, if there are submissions: calls the
 * callbacks that are due. */
void submissions_end_turn(struct server *s);
/* A user is about to be deleted: take its rights from submitters. */
void submissions_forget_user(struct server *s, const struct user *user);

#endif
