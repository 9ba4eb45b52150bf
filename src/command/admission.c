#include "command/admission.h"

#include <assert.h>
#include <stdio.h>

#include "command/acl.h"
#include "command/classic.h"
#include "command/databases.h"
#include "command/inner.h"
#include "command/permit.h"
#include "command/table.h"
#include "resp/reply.h"

static const struct verdict run = { .kind = VERDICT_RUN };

static struct verdict verdict_of(enum verdict_kind kind)
{
	return (struct verdict){ .kind = kind };
}

/* The command that QLESS or a script names is not asked about: its client's own command was. Only
 * what it needs memory for, and what it moves, depends on the server. */
static inline struct conditions conditions_of(const struct request *req)
{
	struct conditions now = { .pause = PAUSE_NONE };
	bool matter = req->form == REQUEST_NATIVE ||
		      (req->row->flags & (CMD_DENYOOM | CMD_MOVES_DUE)) != 0;

	if (matter && req->env->conditions != NULL)
		req->env->conditions(req->env->arg, &now);
	return now;
}

/* Returns whether CLIENT PAUSE holds the command back. A command that is only queued changes
 * nothing, so a pause of writes holds EXEC instead. */
static inline bool is_held(const struct request *req, enum pause_mode pause)
{
	unsigned flags = req->row->flags;

	if (pause == PAUSE_NONE || req->form != REQUEST_NATIVE)
		return false;
	if (pause == PAUSE_ALL)
		return (flags & CMD_NO_PAUSE) == 0;
	if (req->txn != NULL)
		return (flags & CMD_EXEC) != 0 && req->txn->writes;
	return command_changes(req->row, req->args, req->nargs);
}

/* Returns whether the command needs memory. Queued commands use memory themselves, so none is
 * queued while maxmemory is exceeded. EXEC needs memory if a queued command makes the state grow.
 */
static bool needs_memory(const struct request *req)
{
	if (req->txn == NULL)
		return command_grows(req->row, req->args, req->nargs);
	if ((req->row->flags & CMD_EXEC) != 0)
		return req->txn->grows;
	return (req->row->flags & CMD_TXN) == 0;
}

/* The size of the arguments. Each counts a byte more, so that a million empty ones have a size. */
static size_t argument_bytes(const struct request *req)
{
	size_t bytes = req->nargs;

	for (const struct qless_str *arg = req->args; arg != req->args + req->nargs; arg++)
		bytes += arg->len;
	return bytes;
}

/* Returns whether the command lists more names than it may. */
static inline bool has_too_many_names(const struct request *req)
{
	size_t max = req->env->limits.names;

	return req->nargs > max && (req->row->flags & CMD_NAMES) != 0 && max != 0;
}

/* Adds up the arguments. Returns false if they are larger than max-call-size. Most commands have a
 * few arguments, for which adding one after the other is faster than vectors. */
static inline bool add_arguments(const struct request *req, size_t *ret_bytes)
{
	size_t limit = req->env->limits.change_bytes, max = limit != 0 ? limit : SIZE_MAX;
	size_t bytes = req->nargs;

	for (const struct qless_str *arg = req->args; arg != req->args + req->nargs; arg++) {
		bytes += arg->len;
		if (bytes > max)
			return false;
	}
	*ret_bytes = bytes;
	return true;
}

static struct verdict ask_log(const struct request *req, size_t bytes)
{
	const char *line = req->env->log_refusal(req->env->arg, bytes);

	return line != NULL ? (struct verdict){ .kind = VERDICT_LOG, .line = line } : run;
}

/* Checks the time that the client sent, in the forms that have one. */
static struct verdict ask_clock(const struct request *req)
{
	const char *line = NULL;

	if (req->env->now_refusal != NULL)
		line = req->env->now_refusal(req->env->arg, req->session, req->now);
	return line != NULL ? (struct verdict){ .kind = VERDICT_TIME, .line = line } : run;
}

static inline bool has_log(const struct request *req)
{
	return req->env->log_refusal != NULL;
}

/* Returns whether a listing must not move jobs that have come due: its script only reads, clients
 * are paused, or the log cannot be written or synced. */
static bool has_to_be_still(const struct request *req, const struct conditions *now)
{
	return req->only_reads || now->pause != PAUSE_NONE || now->is_unsynced ||
	       (has_log(req) && ask_log(req, 0).kind != VERDICT_RUN);
}

/* Returns whether the log would record what the command, or the queue command that it names,
 * changes. */
static bool is_recorded(const struct request *req)
{
	struct inner_command inner = inner_find(req);

	return inner.row != NULL && command_is_logged(inner.row) &&
	       !command_is_listing(inner.row, inner.args, inner.count);
}

/* Returns whether the command has to wait while earlier changes are unsynced for too long. */
static bool waits_for_sync(const struct request *req)
{
	if (req->form != REQUEST_NATIVE)
		return false;
	if (req->txn != NULL)
		return (req->row->flags & CMD_EXEC) != 0 && req->txn->is_logged;
	return is_recorded(req);
}

/* Checks the queues, jobs, keys and channels that the request names. A command that is only queued
 * may name jobs that the commands before it make. EXEC checks those. */
static __attribute__((noinline)) enum verdict_kind decide_objects(const struct request *req)
{
	const struct object_request request = { req->row, req->form, req->args, req->nargs };
	struct permit_query query = { .user = req->session->user, .engine = req->engine };

	if (has_too_many_names(req))
		return VERDICT_NAMES;
	query.names_only =
		req->txn != NULL && req->form == REQUEST_NATIVE && (req->row->flags & CMD_TXN) == 0;
	if (query.engine == NULL && req->env->databases != NULL)
		query.engine = databases_peek(req->env->databases, req->session->db);
	switch (permit_request(&query, &request, &req->env->scratch->denied)) {
	case PERMIT_YES:
		break;
	case PERMIT_NO_KEY:
		return VERDICT_NO_KEY;
	case PERMIT_NO_CHANNEL:
		return VERDICT_NO_CHANNEL;
	}
	return VERDICT_RUN;
}

/* Checks the user. */
static inline enum verdict_kind decide_user(const struct request *req)
{
	unsigned flags = req->row->flags;

	if ((flags & CMD_NO_AUTH) != 0)
		return VERDICT_RUN;
	if (req->session->user == NULL)
		return VERDICT_NOT_AUTHENTICATED;
	switch (acl_judge(req->session->user, req->env->table, req->row)) {
	case ACL_NO:
		return VERDICT_NOT_PERMITTED;
	case ACL_YES:
		return VERDICT_RUN;
	case ACL_LIMITED:
		break;
	}
	return decide_objects(req);
}

/* Returns whether a command runs although another server has the state: it does not concern the
 * state, or the client reads copies. Nothing that a copy is asked for may change it or wait for a
 * change. */
static bool runs_anywhere(const struct request *req, const struct conditions *now)
{
	struct inner_command inner = inner_find(req);

	if ((req->row->flags & (CMD_LOADING | CMD_SUBSCRIBED)) != 0)
		return true;
	if (!now->is_copy || !req->session->reads_copies || inner.row == NULL ||
	    (inner.row->flags & (CMD_LATER | CMD_BLOCKING | CMD_ADMIN)) != 0)
		return false;
	return command_is_listing(inner.row, inner.args, inner.count) ||
	       (inner.row->flags & (CMD_READ | CMD_WRITE)) == CMD_READ;
}

/* Checks the state of the client and of the server. This concerns the client's own commands, not
 * those that QLESS and scripts name. */
static inline enum verdict_kind decide_context(const struct request *req,
					       const struct conditions *now)
{
	unsigned flags = req->row->flags;

	if (req->session->subscribed && req->session->proto == 2 && (flags & CMD_SUBSCRIBED) == 0)
		return VERDICT_SUBSCRIBED;
	if (now->loading && (flags & CMD_LOADING) == 0)
		return VERDICT_LOADING;
	if (now->elsewhere != NULL && !runs_anywhere(req, now))
		return VERDICT_ELSEWHERE;
	if (req->txn == NULL)
		return VERDICT_RUN;
	if ((flags & CMD_NO_MULTI) != 0)
		return VERDICT_IN_TRANSACTION;
	return (flags & CMD_TXN) == 0 ? VERDICT_QUEUE : VERDICT_RUN;
}

/* Returns whether no check of decide() but that of the user can fail: the server is ready for
 * everything, and the client is in its usual state. Nearly all commands are sent like this. */
static inline bool is_usual(const struct request *req, const struct conditions *now)
{
	const struct session *session = req->session;
	bool is_server_unusual =
		now->pause != PAUSE_NONE || now->loading || now->is_full || now->elsewhere != NULL;

	return !is_server_unusual && session->user != NULL && !session->subscribed &&
	       req->txn == NULL && !req->only_reads;
}

/* Makes the checks from the pause to those before the limits of what a command may name. */
static __attribute__((noinline)) struct verdict decide(const struct request *req,
						       const struct conditions *now)
{
	bool is_native = req->form == REQUEST_NATIVE;
	enum verdict_kind kind;

	if (is_held(req, now->pause))
		return (struct verdict){ .kind = VERDICT_HOLD, .hold = HOLD_PAUSE };
	if (req->only_reads && !is_native && command_changes(req->row, req->args, req->nargs))
		return verdict_of(VERDICT_READ_ONLY);
	kind = decide_user(req);
	/* Before authentication only commands with CMD_NO_AUTH get here. */
	if (kind != VERDICT_RUN || req->session->user == NULL)
		return verdict_of(kind);
	if (now->is_full && needs_memory(req))
		return verdict_of(VERDICT_MEMORY);
	if (!is_native)
		return run;
	kind = decide_context(req, now);
	return (struct verdict){ .kind = kind,
				 .line = kind == VERDICT_ELSEWHERE ? now->elsewhere : NULL };
}

struct verdict admission_decide(struct request *req)
{
	struct verdict verdict = run;
	struct conditions now;
	size_t bytes = 0;

	if (req->row == NULL)
		return verdict_of(VERDICT_UNKNOWN);
	if (req->form == REQUEST_NATIVE && !command_takes(req->row, (int)req->nargs))
		return verdict_of(VERDICT_ARITY);
	now = conditions_of(req);
	if (!is_usual(req, &now) ||
	    acl_judge(req->session->user, req->env->table, req->row) != ACL_YES) {
		verdict = decide(req, &now);
		if (verdict.kind != VERDICT_RUN && verdict.kind != VERDICT_QUEUE)
			return verdict;
	}
	if (has_too_many_names(req))
		return verdict_of(VERDICT_NAMES);
	if (command_is_logged(req->row) && !add_arguments(req, &bytes))
		return verdict_of(VERDICT_CALL_SIZE);
	if (verdict.kind == VERDICT_QUEUE)
		return verdict;
	if (now.is_unsynced && waits_for_sync(req))
		return (struct verdict){ .kind = VERDICT_HOLD, .hold = HOLD_SYNC };
	if (req->form != REQUEST_NATIVE) {
		verdict = ask_clock(req);
		if (verdict.kind != VERDICT_RUN)
			return verdict;
	}
	if ((req->row->flags & CMD_MOVES_DUE) != 0)
		req->is_still = has_to_be_still(req, &now);
	if (!has_log(req) || !command_is_logged(req->row))
		return run;
	verdict = ask_log(req, bytes);
	/* The form of the command matters only if the log refuses. */
	if (verdict.kind != VERDICT_RUN && command_is_listing(req->row, req->args, req->nargs))
		return run;
	return verdict;
}

struct verdict admission_decide_queued(struct request *req)
{
	struct conditions now;

	if ((req->row->flags & CMD_MOVES_DUE) != 0) {
		now = conditions_of(req);
		req->is_still = has_to_be_still(req, &now);
	}
	if (req->session->user == NULL)
		return verdict_of(VERDICT_NO_LONGER_PERMITTED);
	switch (acl_judge(req->session->user, req->env->table, req->row)) {
	case ACL_NO:
		return verdict_of(VERDICT_NO_LONGER_PERMITTED);
	case ACL_YES:
		return run;
	case ACL_LIMITED:
		break;
	}
	return verdict_of(decide_objects(req));
}

struct verdict admission_decide_exec(const struct request *req)
{
	assert(req->txn != NULL);
	return req->txn->is_logged && has_log(req) ? ask_log(req, req->txn->bytes) : run;
}

/* ---- refusals ---- */

#define NO_KEY "NOPERM No permissions to access a key"

static void report_denial(const struct request *req, enum denial reason, struct qless_str object)
{
	if (req->env->denied != NULL)
		req->env->denied(req->env->user_gone_arg, req, reason, object);
}

static void report_refusal(const struct request *req, const struct verdict *verdict)
{
	switch (verdict->kind) {
	case VERDICT_NOT_PERMITTED:
	case VERDICT_NO_LONGER_PERMITTED:
		report_denial(req, DENIAL_COMMAND, str_from(req->row->name));
		break;
	case VERDICT_NO_KEY:
		report_denial(req, DENIAL_KEY, buf_str(&req->env->scratch->denied));
		break;
	case VERDICT_NO_CHANNEL:
		report_denial(req, DENIAL_CHANNEL, buf_str(&req->env->scratch->denied));
		break;
	default:
		break;
	}
}

/* Appends the error line: a code, and a sentence. */
static void describe(const struct request *req, const struct verdict *verdict, struct buf *line)
{
	const char *name = req->row != NULL ? req->row->name : "";

	switch (verdict->kind) {
	case VERDICT_UNKNOWN:
		command_table_describe_unknown(req->env->table, req->argv, req->argc, line);
		return;
	case VERDICT_ARITY:
		buf_printf(line, "ERR wrong number of arguments for '%s' command", name);
		command_append_expected(req->row, line);
		return;
	case VERDICT_NAMES:
		buf_printf(line, "LIMIT '%s' lists %zu names, and max-names-per-call allows %zu",
			   name, req->nargs, req->env->limits.names);
		return;
	case VERDICT_CALL_SIZE:
		buf_printf(line,
			   "LIMIT The arguments of '%s' have %zu bytes, and max-call-size allows "
			   "%zu",
			   name, argument_bytes(req), req->env->limits.change_bytes);
		return;
	case VERDICT_NOT_AUTHENTICATED:
		buf_printf(line, "NOAUTH Authentication required.");
		return;
	case VERDICT_NOT_PERMITTED:
		buf_printf(line, "NOPERM this user has no permissions to run the '%s' command",
			   name);
		return;
	case VERDICT_NO_LONGER_PERMITTED:
		buf_printf(line,
			   "NOPERM ACLs rules changed between the moment the transaction was "
			   "accumulated and the EXEC call. No permission to run '%s'",
			   name);
		return;
	case VERDICT_NO_KEY:
		buf_printf(line, NO_KEY);
		return;
	case VERDICT_NO_CHANNEL:
		buf_printf(line, "NOPERM No permissions to access a channel");
		return;
	case VERDICT_READ_ONLY:
		buf_printf(line, "ERR Write commands are not allowed from read-only scripts.");
		return;
	case VERDICT_MEMORY:
		buf_printf(line, "OOM command not allowed when used memory > 'maxmemory'.");
		return;
	case VERDICT_SUBSCRIBED:
		buf_printf(
			line,
			"ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
			"QUIT / RESET are allowed in this context",
			name);
		return;
	case VERDICT_LOADING:
		buf_printf(line, "LOADING qlessd is loading the dataset in memory");
		return;
	case VERDICT_IN_TRANSACTION:
		buf_printf(line, "ERR Command not allowed inside a transaction");
		return;
	case VERDICT_ELSEWHERE:
	case VERDICT_TIME:
	case VERDICT_LOG:
		buf_append_str(line, str_from(verdict->line));
		return;
	case VERDICT_RUN:
	case VERDICT_QUEUE:
	case VERDICT_HOLD:
		break;
	}
	assert(0);
}

/* Returns the line without the code ERR, because EXECABORT replaces it. */
static struct qless_str without_code(struct qless_str line)
{
	struct qless_str code = STR("ERR ");

	return str_starts_with(line, code) ? str_make(line.ptr + code.len, line.len - code.len)
					   : line;
}

/* In scripts some refusals have other texts, as in Redis. */
static void refuse_in_script(struct request *req, const struct verdict *verdict,
			     struct qless_str line)
{
	if (verdict->kind == VERDICT_NOT_PERMITTED)
		classic_write_store_error(req, STR("The user executing the script can't run this "
						   "command or subcommand"));
	else if (verdict->kind == VERDICT_NO_KEY)
		classic_write_store_error(req, STR("The user executing the script can't access at "
						   "least one of the keys mentioned in the "
						   "command"));
	else if (verdict->kind == VERDICT_READ_ONLY)
		classic_write_store_error(req, without_code(line));
	else
		classic_write_refusal(req, line);
}

void admission_refuse(struct request *req, const struct verdict *verdict)
{
	struct buf *error = &req->env->scratch->error;
	struct qless_str line;

	assert(verdict_is_refusal(verdict));
	report_refusal(req, verdict);
	buf_clear(error);
	describe(req, verdict, error);
	line = buf_str(error);
	if (req->form == REQUEST_SCRIPT) {
		refuse_in_script(req, verdict, line);
	} else if (req->row != NULL && (req->row->flags & CMD_EXEC) != 0 && req->txn != NULL) {
		line = without_code(line);
		reply_errorf(req->reply, "EXECABORT", "Transaction discarded because of: %.*s",
			     (int)line.len, line.ptr);
	} else {
		reply_error_line(req->reply, line);
	}
}

bool admission_check_jid(struct request *req, const struct user *viewer, struct qless_str jid,
			 unsigned access)
{
	if (viewer == NULL || permit_jid(viewer, req->engine, jid, access))
		return true;
	report_denial(req, DENIAL_KEY, jid);
	classic_write_refusal(req, STR(NO_KEY));
	return false;
}
