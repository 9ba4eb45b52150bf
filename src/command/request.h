/*
 * A request: one command while it runs, and everything its handler may reach.
 *
 * The queue commands are called in three forms, which differ in where the time comes from and in
 * how errors and empty lists are spelled:
 *
 *	native	put <worker> ...		now is the server's; `NOJOB text`; []
 *	QLESS	QLESS put <now> <worker> ...	now is an argument; `ERR text`; []
 *	script	EVALSHA ... put <now> ...	as the Lua script answers, with the position in
 *						errors; {} is an empty list
 *
 * All other commands are native.
 */
#ifndef COMMAND_REQUEST_H
#define COMMAND_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "command/command.h"
#include "command/json.h"
#include "util/buf.h"
#include "util/str.h"

struct acl;
struct command_table;
struct databases;
struct database;
struct dialect;
struct reply;
struct script;
struct scripts;
struct session;
struct user;

enum request_form {
	REQUEST_NATIVE,
	REQUEST_QLESS,
	REQUEST_SCRIPT,
};

/* How the errors of REQUEST_SCRIPT are wrapped: clients find the message after
 * `user_script:<line>: ` in both. */
enum script_envelope {
	SCRIPT_ENVELOPE_REDIS7,
	SCRIPT_ENVELOPE_REDIS6, /* as in all Redis before 7: some clients need it */
};

/* Lists that a decoded operation borrows until the end of the request. */
struct decoded {
	bool is_used;
	struct json_strings tags;
	struct json_strings depends;
	struct qless_recur_change *changes;
	struct qless_str *texts;
};

/* Room that requests use one after the other. The owner of the environment has one. */
struct scratch {
	struct buf json;  /* a reply in JSON */
	struct buf error; /* the text of an error */
	struct buf line;  /* an error in its envelope */
	struct decoded decoded;
};

void scratch_init(struct scratch *scratch);
void scratch_done(struct scratch *scratch);
/* Free what scratch_forget_decoded() does. */
void scratch_free_decoded(struct scratch *scratch);

/* Free the lists of the last operation that was decoded. */
static inline void scratch_forget_decoded(struct scratch *scratch)
{
	if (scratch->decoded.is_used)
		scratch_free_decoded(scratch);
}

/* A user of the server: the part of a client that commands see. */
struct session {
	uint64_t id;
	const struct user *user; /* NULL until it has authenticated */
	unsigned db;
	int proto;	       /* 2 or 3 */
	bool subscribed;       /* to any channel or pattern */
	struct qless_str peer; /* its address, for messages */
};

/* What CLIENT PAUSE holds back. Each mode holds back more than the one before it. */
enum pause_mode {
	PAUSE_NONE,
	PAUSE_WRITE,
	PAUSE_ALL,
};

/* The state of the server as far as admission depends on it. */
struct conditions {
	enum pause_mode pause;
	bool loading; /* the state is not complete yet */
	bool is_full; /* maxmemory is exceeded */
};

/* The commands that a client has queued since MULTI. */
struct transaction {
	bool writes;	/* a command may write */
	bool grows;	/* a command makes the state grow */
	bool is_logged; /* a command needs the log */
	size_t bytes;	/* of all commands */
};

/* What handlers of this layer may reach besides the session. */
struct command_env {
	const struct command_table *table;
	struct acl *acl;
	/* Called before a user is deleted: no session may refer to the user any more when this
	 * returns, and those that did are to be ended. May be NULL. */
	void (*user_gone)(void *arg, const struct user *user);
	/* Called when a user was set to something else, or deleted. May be NULL. */
	void (*user_changed)(void *arg, struct qless_str name);
	void *user_gone_arg; /* of both */
	struct databases *databases;
	struct scripts *scripts; /* that clients have loaded */
	struct scratch *scratch;
	enum script_envelope envelope;
	/* The time of a native command, in seconds: later than that of any before. */
	double (*now)(void *arg);
	/* A command has used times up to this one: be later from now on. */
	void (*pass)(void *arg, double now);
	/* Called with the time that a client gave with a command. May be NULL. */
	void (*note_now)(void *arg, struct session *session, double now);
	/* Called with a line that the operator of the server should read. May be NULL. */
	void (*warn)(void *arg, struct qless_str line);
	/* Tells the state of the server that admission depends on. NULL: it is always ready. */
	void (*conditions)(void *arg, struct conditions *ret);
	/* Returns why the log cannot take a change now, as the line of an error reply; NULL if it
	 * can. `bytes` is the size of the arguments. May be NULL. */
	const char *(*log_refusal)(void *arg, size_t bytes);
	/* An id for a new job that nobody can guess and no job has had. */
	void (*make_jid)(void *arg, char to[COMMAND_JID_BYTES]);
	/* Nothing anybody could foresee. */
	uint64_t (*random)(void *arg);
	void *arg; /* of the functions from `now` on */
};

struct request {
	const struct command *row;
	const struct qless_str *argv; /* as sent, the name at 0 */
	int argc;
	const struct qless_str *args; /* of the command: after its name, and after `now` */
	size_t nargs;
	struct reply *reply;
	struct session *session;
	const struct transaction *txn; /* NULL unless the client is between MULTI and EXEC */
	const struct command_env *env;

	/* Of queue commands alone. */
	enum request_form form;
	double now;
	struct database *database;
	struct qless *engine; /* of that database */
	const struct dialect *dialect;
	const struct json_style *style; /* how the form spells JSON */
	const struct script *script;	/* NULL in other forms */
	struct qless_str sha;		/* of the script; empty in other forms */
	struct scratch *scratch;	/* that of the environment */
	bool only_reads;		/* a script that was sent as one that only reads */
	bool is_still;			/* nothing may change: listings leave what has come due */
	bool is_said;  /* the error is in scratch->error; otherwise it is the engine's */
	bool is_store; /* the error is one that the store raised under the script */
	double until;  /* the latest time that was used: `now`, or later */
};

/* Make it a request for queues: choose the database and the buffers. */
void request_use_database(struct request *req, struct database *database);

#endif
