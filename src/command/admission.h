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
	VERDICT_HOLD,  /* try again later: `hold` says when */
	/* Refused, because: */
	VERDICT_UNKNOWN,	     /* there is no such command or subcommand */
	VERDICT_ARITY,		     /* the number of arguments is wrong */
	VERDICT_NOT_AUTHENTICATED,   /* nobody has logged in */
	VERDICT_NOT_PERMITTED,	     /* the user may not run the command */
	VERDICT_NO_LONGER_PERMITTED, /* the user might when the command was queued */
	VERDICT_READ_ONLY,	     /* it changes something, but its script must not */
	VERDICT_MEMORY,		     /* it needs memory beyond maxmemory */
	VERDICT_SUBSCRIBED,	     /* the client only listens */
	VERDICT_LOADING,	     /* the state is not complete yet */
	VERDICT_IN_TRANSACTION,	     /* it cannot be queued */
	VERDICT_LOG,		     /* the log cannot take it: `line` is the error */
};

enum hold_reason {
	HOLD_PAUSE, /* until CLIENT PAUSE ends */
};

struct verdict {
	enum verdict_kind kind;
	enum hold_reason hold;
	const char *line;
};

static inline bool verdict_is_refusal(const struct verdict *verdict)
{
	return verdict->kind >= VERDICT_UNKNOWN;
}

/*
 * Decide about a request that has its row (NULL: unknown), form, arguments, session, transaction
 * and environment. A command that moves what has come due before it reads may always run: its
 * request is told in `is_still` whether it has to leave it.
 */
struct verdict admission_decide(struct request *req);

/* Decide about a queued command when EXEC runs it: permissions may have changed. */
struct verdict admission_decide_queued(struct request *req);

/* Decide about the log: whether EXEC may run its transaction to the end. */
struct verdict admission_decide_exec(const struct request *req);

/* Reply with a refusal. */
void admission_refuse(struct request *req, const struct verdict *verdict);

#endif
