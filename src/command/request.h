/*
 * A request: a command while it runs, and everything that its handler may use.
 *
 * Clients call the queue commands in three forms. The forms differ in the source of the time, and
 * in the spelling of errors and empty lists:
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
#include "util/json_flat.h"
#include "util/str.h"

struct acl;
struct attach_ops;
struct checking;
struct command_table;
struct request;
struct databases;
struct database;
struct dialect;
struct job_wait;
struct push_ops;
struct reply;
struct request;
struct rotations;
struct script;
struct scripts;
struct session;
struct user;
struct work;

enum request_form {
	REQUEST_NATIVE,
	REQUEST_QLESS,
	REQUEST_SCRIPT,
};

/* The envelope of errors of REQUEST_SCRIPT. In each of them clients find the message after
 * `user_script:<line>: `. */
enum script_envelope {
	SCRIPT_ENVELOPE_REDIS7,
	SCRIPT_ENVELOPE_REDIS6, /* that of Redis before 7, which some clients need */
};

/* Lists that a decoded operation borrows until the end of the request. */
struct decoded {
	bool is_used;
	struct json_strings tags;
	struct json_strings depends;
	struct json_strings limits;
	struct qless_recur_change *changes;
	struct qless_str *texts;
	struct qless_schedule schedule;
	struct qless_terms terms;
	char args_key[QLESS_ARGS_KEY_BYTES]; /* the unique key in the terms, if it is `args` */
	char (*args_keys)[QLESS_ARGS_KEY_BYTES];
	struct qless_str *keys; /* for put_many */
	struct qless_str raw;	/* data of a raw job that was sent in base64 */
	char **kept;		/* texts of request_keep() */
	size_t kept_count;
	size_t kept_cap;
	struct buf rule; /* of the zone of the schedule */
};

/* Buffers that requests use one after the other. The owner of the environment has one set. */
struct scratch {
	struct buf json;   /* a reply in JSON */
	struct buf error;  /* the text of an error */
	struct buf line;   /* an error in its envelope */
	struct buf denied; /* the queue, job, key or channel that the user may not use */
	struct decoded decoded;
	struct qless_args_room *args_room; /* NULL before its first use */
	struct json_flat flat;		   /* of flat_text */
	struct qless_str flat_text;	   /* the last text that request_json_text() checked, if it
					    * is a flat object; otherwise the pointer is NULL */
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

/* The part of a client that commands may use. */
struct session {
	uint64_t id;
	const struct user *user; /* NULL until it has authenticated */
	unsigned db;
	int proto;	       /* 2 or 3 */
	bool subscribed;       /* to any channel or pattern */
	bool is_idempotent;    /* the unique key of this request stands for an Idempotency-Key */
	bool reads_copies;     /* READONLY: reads run on a node that follows, too */
	struct qless_str peer; /* its address, for messages */
};

/* Permissions that a user may lack. */
enum denial {
	DENIAL_COMMAND,
	DENIAL_KEY, /* a queue, a job, or a key */
	DENIAL_CHANNEL,
};

/* Modes of CLIENT PAUSE. Each mode holds back more commands than the one before it. */
enum pause_mode {
	PAUSE_NONE,
	PAUSE_WRITE,
	PAUSE_ALL,
};

/* The reasons to hold a command back, and try it again later. */
enum hold_reason {
	HOLD_NONE,
	HOLD_PAUSE,   /* CLIENT PAUSE has not ended */
	HOLD_LOGIN,   /* logins from its address are delayed */
	HOLD_SYNC,    /* earlier changes have been unsynced for too long */
	HOLD_COMMAND, /* its last command has not ended */
	HOLD_OUTPUT,  /* it has not read the answers to its last requests */
};

/* The state of the server that admission depends on. */
struct conditions {
	enum pause_mode pause;
	bool loading;	  /* the state is not complete yet */
	bool is_full;	  /* maxmemory is exceeded */
	bool is_unsynced; /* earlier changes have been unsynced for too long: later ones wait */
	/* NULL: this server has the state. Otherwise the line of an error reply that says which
	 * one has. */
	const char *elsewhere;
	bool is_copy; /* but this server has a copy of the state, which may be read */
};

/* Properties of the commands that a client has queued since MULTI. */
struct transaction {
	bool writes;	/* a command may write */
	bool grows;	/* a command makes the state grow */
	bool is_logged; /* a command changes what the log records */
	size_t bytes;	/* size of all commands */
};

/* Limits of what one command may be given, so that no command takes long. 0 is no limit. */
struct call_limits {
	size_t names;		 /* arguments of a command with CMD_NAMES [max-names-per-call] */
	size_t links;		 /* of all jobs together, see links.h [max-links-per-call] */
	size_t change_bytes;	 /* arguments of a command that the log records [max-call-size] */
	size_t script_bytes;	 /* text of a script [max-script-size] */
	size_t pattern_bytes;	 /* a glob [max-pattern-length] */
	size_t endpoints;	 /* of a database [max-endpoints] */
	size_t endpoint_bytes;	 /* arguments of ENDPOINT.SET [max-endpoint-size] */
	size_t endpoint_headers; /* [max-endpoint-headers] */
	size_t endpoint_concurrency; /* [max-endpoint-concurrency] */
};

/* Runs in a child process: appends what it finds. The request is that of the work. */
typedef void child_work_fn(const struct request *req, struct buf *output);

/* The environment of commands: everything that handlers of this layer may use besides the session.
 */
struct command_env {
	const struct command_table *table;
	struct acl *acl;
	/* Called before a user is deleted: ends the sessions of the user, and makes sure that no
	 * session refers to the user any more. May be NULL. */
	void (*user_gone)(void *arg, const struct user *user);
	/* Called after a user was changed or deleted. May be NULL. */
	void (*user_changed)(void *arg, struct qless_str name);
	/* Called after a command was refused, or a part of it, because the user lacks a permission.
	 * May be NULL. */
	void (*denied)(void *arg, const struct request *req, enum denial reason,
		       struct qless_str object);
	void *user_gone_arg; /* argument of these three */
	/* Handles ACL LOG. NULL: there is no such log. */
	void (*show_denials)(struct request *req);
	struct databases *databases;
	struct scripts *scripts; /* scripts that clients have loaded */
	/* Where pops from several queues in turn continue. NULL: each begins with its first queue.
	 */
	struct rotations *rotations;
	struct scratch *scratch;
	enum script_envelope envelope;
	struct call_limits limits;
	/* Returns the time of a native command in seconds, later than that of any earlier command.
	 */
	double (*now)(void *arg);
	/* Called when a command has used times up to `now`: later commands get later times. */
	void (*pass)(void *arg, double now);
	/* Returns why the time that a client sent with a command cannot be used, as the line of an
	 * error reply; NULL if it can. May be NULL: every time can. */
	const char *(*now_refusal)(void *arg, struct session *session, double now);
	/* Called when worker and queue of a native command have probably changed places; see
	 * swapped.h. May be NULL. */
	void (*swapped)(void *arg, const struct request *req, struct qless_str worker,
			struct qless_str queue);
	/* Writes a line to the log of the server, as a warning. May be NULL. */
	void (*warn)(void *arg, struct qless_str line);
	/* Gets the state of the server for admission. NULL: the server is always ready. */
	void (*conditions)(void *arg, struct conditions *ret);
	/* Returns why the log cannot take a change now, as the line of an error reply; NULL if it
	 * can. `bytes` is the size of the arguments. May be NULL. */
	const char *(*log_refusal)(void *arg, size_t bytes);
	/* Does work over several turns; see work.h. NULL: all of it at once. */
	void (*spread)(void *arg, struct request *req, struct work *work);
	/* Work calls this last in a part: has a child process run `fn`. The next part comes when
	 * the child has ended, with its output in the request. Returns NULL, or why there is no
	 * child. NULL: work does without a child. */
	const char *(*start_child)(void *arg, const struct request *req, child_work_fn *fn);
	/* The operations that are recorded between these two calls happen as a whole or not at all,
	 * even if the server crashes. May be NULL. */
	void (*begin_group)(void *arg);
	void (*end_group)(void *arg);
	/* Whether the client of the request may pop from the queue now: nobody began to wait for
	 * the queue before. `klass` is the class that it asks for, NULL for any. NULL: always. */
	bool (*is_next)(void *arg, const struct request *req, struct qless_str queue,
			const struct qless_str *klass);
	/* Work calls this last in a part, once: the parts after it come when one of the queues may
	 * have a job for the client. After `timeout_s` seconds the reply is a null array instead; 0
	 * is no timeout. NULL: no command waits. */
	void (*wait_for_jobs)(void *arg, const struct request *req, struct qless_str worker,
			      const struct qless_str *queues, size_t count,
			      const struct qless_str *klass, double timeout_s);
	/* Work calls this last in a part, once: the part after it comes when the wait is over, see
	 * job_wait.h. NULL: no command waits. */
	void (*wait_for_ends)(void *arg, const struct request *req, struct job_wait *wait);
	/* Attached workers. NULL: no worker can attach. */
	const struct attach_ops *presence;
	/* Posts jobs to endpoints. NULL: endpoints are only kept. */
	const struct push_ops *push;
	/* Makes a unique, unpredictable jid. */
	void (*make_jid)(void *arg, char to[COMMAND_JID_BYTES]);
	/* Appends the POSIX rule of a time zone, which is a zone_is_name(). Returns false, with a
	 * phrase in `ret_error` that says what is wrong, if the zone has none for times after
	 * `now`. NULL: there are no zones. */
	bool (*find_zone)(void *arg, struct qless_str name, double now, struct buf *ret_rule,
			  struct buf *ret_error);
	/* Returns an unpredictable number. */
	uint64_t (*random)(void *arg);
	void *arg; /* argument of the functions from `now` on */
};

struct request {
	const struct command *row;
	const struct qless_str *argv; /* as the client sent it; the name has index 0 */
	int argc;
	const struct qless_str *args; /* the arguments after the name, and after `now` */
	size_t nargs;
	struct reply *reply;
	struct session *session;
	const struct transaction *txn; /* NULL unless the client is between MULTI and EXEC */
	/* EXEC runs the command: it cannot go on in later turns. These are the parts of work that
	 * all commands of the transaction may still do. NULL: EXEC does not run it. */
	unsigned *parts_left;
	size_t *purges_left;  /* the same for purges of old completed jobs, see purging.h */
	size_t *slots_left;   /* and for slots of limits, see popping.h */
	uint64_t *looks_left; /* and for looks at jobs with shut limits */
	const struct command_env *env;

	/* The fields of queue commands. */
	enum request_form form;
	double now;
	double last_number; /* of the jobs that the server numbers for it; 0: none */
	struct database *database;
	struct qless *engine; /* the engine of that database */
	const struct dialect *dialect;
	const struct json_style *style; /* how the form spells JSON */
	const struct script *script;	/* NULL unless the form is REQUEST_SCRIPT */
	struct qless_str sha;		/* SHA-1 of the script, or empty */
	struct scratch *scratch;	/* the scratch of the environment */
	bool only_reads;		/* EVAL_RO and EVALSHA_RO: the command must not write */
	bool is_still;			/* listings do not move jobs that have come due */
	bool is_said;			/* the error is in scratch->error, not in the engine */
	bool is_store;			/* the store raised the error, not the script */
	const struct buf *output;	/* of the child of the work; empty memory if it failed */
	double until;			/* the latest time that the command used: `now`, or later */
	/* The results of the check in parts, see checking.h. NULL: there was none. */
	const struct checking *checking;
};

/* The error of a command that only reads, after a reply of its transaction became too large. */
#define REQUEST_NOT_RUN                                                     \
	"Not run, because the replies of this transaction are larger than " \
	"max-transaction-reply-size"

/* Makes this a request on the queues of a database. */
void request_use_database(struct request *req, struct database *database);

/* Finds the engine of the database again, after other commands have run. */
void request_use_database_again(struct request *req);

/* Replaces a reply that became larger than a limit by an error, which names the limit and says
 * whether the command has changed something. */
void request_refuse_large(struct request *req, const char *limit, size_t max_bytes);

/* Whether a glob is within the limit of its length. Otherwise writes an error. */
bool request_check_pattern(struct request *req, struct qless_str pattern);

#endif
