/*
 * Commands that would write to keys. All are refused: keys are a view of queues and jobs. The error
 * names the commands that change what the key shows, or says what qlessd is if the key is another
 * one.
 */
#include "command/foreign.h"
#include "command/handlers.h"
#include "resp/reply.h"

/* The first prefix that matches decides. */
static const struct hint {
	const char *prefix;
	const char *to_delete;
	const char *to_change;
} hints[] = {
	{ "ql:j:", "CANCEL", "PUT, COMPLETE, PRIORITY, TAG, DEPENDS or LOG" },
	{ "ql:r:", "UNRECUR", "RECUR, RECUR.UPDATE, RECUR.TAG or RECUR.UNTAG" },
	{ "ql:q:", "CANCEL", "PUT, POP, COMPLETE, RETRY, PRIORITY or RECUR" },
	{ "ql:queues", "QUEUE.FORGET", "PUT or QUEUE.FORGET" },
	{ "ql:paused_queues", "UNPAUSE", "PAUSE or UNPAUSE" },
	{ "ql:workers", "WORKER.DEREGISTER", "POP or WORKER.DEREGISTER" },
	{ "ql:w:", "TIMEOUT", "POP, HEARTBEAT or TIMEOUT" },
	{ "ql:f", "UNFAIL or CANCEL", "FAIL, RETRY or UNFAIL" },
	{ "ql:completed", "CONFIG.SET jobs-history", "COMPLETE" },
	{ "ql:tracked", "TRACK", "TRACK" },
	{ "ql:t", "TAG", "TAG" },
	{ "ql:config", "CONFIG.UNSET", "CONFIG.SET or CONFIG.UNSET" },
	{ "ql:s:", "CONFIG.SET stats-history", "CONFIG.SET stats-history" },
};

#define HINTS (sizeof(hints) / sizeof(hints[0]))

/* Returns NULL if the key is none of those that show queues and jobs. */
static const struct hint *find_hint(struct qless_str key)
{
	for (size_t i = 0; i < HINTS; i++) {
		if (str_starts_with(key, str_from(hints[i].prefix)))
			return &hints[i];
	}
	return NULL;
}

/* Libraries that keep jobs in lists, sets and hashes of Redis write to keys of their own. */
static void refuse_foreign(struct request *req)
{
	const char *advice = foreign_advice(str_from(req->row->name));
	struct qless_str key = command_quote(req->args[0]);

	reply_errorf(req->reply, "ERR", "'%s' cannot write to '%.*s': " FOREIGN_IS "%s%s",
		     req->row->name, (int)key.len, key.ptr, advice != NULL ? "; " : "",
		     advice != NULL ? advice : "");
}

static void refuse(struct request *req, const char *instead)
{
	struct qless_str key = command_quote(req->args[0]);

	reply_errorf(req->reply, "ERR",
		     "'%s' cannot write to '%.*s': keys are a read-only view of queues and "
		     "jobs; use %s",
		     req->row->name, (int)key.len, key.ptr, instead);
}

void cmd_refuse_delete(struct request *req)
{
	const struct hint *hint = find_hint(req->args[0]);

	if (hint != NULL)
		refuse(req, hint->to_delete);
	else
		refuse_foreign(req);
}

void cmd_refuse_change(struct request *req)
{
	const struct hint *hint = find_hint(req->args[0]);

	if (hint != NULL)
		refuse(req, hint->to_change);
	else
		refuse_foreign(req);
}
