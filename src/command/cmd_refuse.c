/*
 * Commands that would write to keys. All are refused: keys are a view of queues and jobs. The error
 * names the commands that change what the key shows.
 */
#include <assert.h>

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
	{ "", "CANCEL", "PUT" },
};

#define HINTS (sizeof(hints) / sizeof(hints[0]))

static const struct hint *find_hint(struct qless_str key)
{
	for (size_t i = 0; i < HINTS; i++) {
		if (str_starts_with(key, str_from(hints[i].prefix)))
			return &hints[i];
	}
	assert(0);
	return NULL;
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
	refuse(req, find_hint(req->args[0])->to_delete);
}

void cmd_refuse_change(struct request *req)
{
	refuse(req, find_hint(req->args[0])->to_change);
}
