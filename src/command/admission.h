/*
 * Admission: whether a command may run now.
 *
 * One function decides, for a command of a client, for the command that QLESS or a script names,
 * and for a command of a transaction. It writes nothing: the verdict is data. One function writes
 * refusals, in the envelope of the form.
 *
 * The checks follow each other in the order of Redis, because the first that fails decides which
 * error the client reads.
 */
#ifndef COMMAND_ADMISSION_H
#define COMMAND_ADMISSION_H

#include "command/request.h"

enum verdict_kind {
	VERDICT_RUN,
	VERDICT_QUEUE, /* keep it for EXEC */
	VERDICT_HOLD,  /* try again later: `hold` is the reason */
	/* The refusals, each with its reason: */
	VERDICT_UNKNOWN,	     /* the command or subcommand is unknown */
	VERDICT_ARITY,		     /* the number of arguments is wrong */
	VERDICT_NAMES,		     /* there are more names than max-names-per-call */
	VERDICT_CALL_SIZE,	     /* the arguments are larger than max-call-size */
	VERDICT_NOT_AUTHENTICATED,   /* the client has not authenticated */
	VERDICT_NOT_PERMITTED,	     /* the user may not run the command */
	VERDICT_NO_LONGER_PERMITTED, /* the user lost the permission after the command was queued */
	VERDICT_NO_KEY,		     /* the user may not use a queue, job or key that it names */
	VERDICT_NO_CHANNEL,	     /* the user may not use a channel that it names */
	VERDICT_READ_ONLY,	     /* the command writes, but its script only reads */
	VERDICT_MEMORY,		     /* the command needs memory, and maxmemory is exceeded */
	VERDICT_SUBSCRIBED,	     /* a subscribed client may not run it */
	VERDICT_LOADING,	     /* the state is not complete yet */
	VERDICT_ELSEWHERE,	     /* another server has the state: `line` is the error */
	VERDICT_IN_TRANSACTION,	     /* the command cannot be queued */
	VERDICT_TIME,		     /* the client's time is too far ahead: `line` is the error */
	VERDICT_LOG,		     /* the log cannot record the change: `line` is the error */
};

struct verdict {
	enum verdict_kind kind;
	enum hold_reason hold; /* HOLD_NONE unless the kind is VERDICT_HOLD */
	const char *line;
};

static inline bool verdict_is_refusal(const struct verdict *verdict)
{
	return verdict->kind >= VERDICT_UNKNOWN;
}

/*
 * Decides about a request that has its row (NULL: unknown), form, arguments, session, transaction
 * and environment. Sets `is_still` of a listing: while nothing may change, a listing runs, but does
 * not move jobs that have come due.
 */
struct verdict admission_decide(struct request *req);

/* Decides about a queued command when EXEC runs it: permissions may have changed. Sets `is_still`,
 * too. */
struct verdict admission_decide_queued(struct request *req);

/* Decides whether the log can record all of a transaction that EXEC is about to run. */
struct verdict admission_decide_exec(const struct request *req);

/* Replies with a refusal. */
void admission_refuse(struct request *req, const struct verdict *verdict);

/* Whether a command that answers for each of its jids may use a job. Otherwise writes the refusal
 * as the answer for that jid. The viewer is that of permit_viewer(). */
bool admission_check_jid(struct request *req, const struct user *viewer, struct qless_str jid,
			 unsigned access);

#endif
