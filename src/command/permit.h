/*
 * Decides whether a user may use the queues, jobs, keys and channels that a request names.
 *
 * A queue is judged by its name. A job is judged by the queue that it is in, or, once it is
 * complete, by the last queue that it was put into. A ql:* key is judged by its own name, and by
 * the queue or the job that it is about.
 *
 * A jid without a job is judged like the jid of a job in a queue that the user may not use. So the
 * answer never tells a limited user whether another queue has such a job. The one exception is a
 * command that makes a job: it cannot take a jid that another queue uses.
 */
#ifndef COMMAND_PERMIT_H
#define COMMAND_PERMIT_H

#include <stdbool.h>

#include "command/acl.h"
#include "command/objects.h"
#include "command/request.h"
#include "qless.h"

enum permit {
	PERMIT_YES,
	PERMIT_NO_KEY,	   /* not for this queue, job or key */
	PERMIT_NO_CHANNEL, /* not for this channel or pattern */
};

struct permit_query {
	const struct user *user;
	const struct qless *engine; /* NULL: the database is empty */
	/* Judge names of queues and channels alone: the command runs later, and the state may have
	 * changed by then. */
	bool names_only;
};

/* If the user may not use an object of the request, `ret_object` is replaced by its name. */
enum permit permit_request(const struct permit_query *query, const struct object_request *request,
			   struct buf *ret_object);

/* Whether the user may run the command at all: on some queue, key or channel. A command that can
 * change the state counts only if the user may change something with it. */
bool permit_command(const struct user *user, const struct command *row);

bool permit_job(const struct user *user, const struct qless *engine, const struct qless_job *job,
		unsigned access);
/* Returns false if there is no such job. */
bool permit_jid(const struct user *user, const struct qless *engine, struct qless_str jid,
		unsigned access);
bool permit_key(const struct user *user, const struct qless *engine, struct qless_str key,
		unsigned access);
/* An option of a queue needs access to the queue. Everybody may read the other options; changing
 * them needs access to the key ql:config. */
bool permit_option(const struct user *user, struct qless_str option, unsigned access);

/* The user, if it may not use all keys; NULL means that nothing is hidden from the request. A
 * session that has lost its user sees nothing. */
const struct user *permit_viewer(const struct request *req);

/* Whether a listing shows a job, a queue or an option to a viewer. */
static inline bool permit_shows_job(const struct user *viewer, const struct qless *engine,
				    const struct qless_job *job)
{
	return viewer == NULL || permit_job(viewer, engine, job, ACL_READ);
}

static inline bool permit_shows_queue(const struct user *viewer, struct qless_str queue)
{
	return viewer == NULL || acl_may_use_key(viewer, queue, ACL_READ);
}

static inline bool permit_shows_option(const struct user *viewer, struct qless_str option)
{
	return viewer == NULL || permit_option(viewer, option, ACL_READ);
}

#endif
