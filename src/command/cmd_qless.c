/*
 * The queue commands: the native ones, which take their time from the server, and QLESS, which is
 * given one.
 */
#include "command/cmd_qless.h"

#include <assert.h>

#include "command/acl.h"
#include "command/databases.h"
#include "command/handlers.h"
#include "command/table.h"
#include "util/mem.h"

/* A native call has few arguments as a rule; those of a long one are copied to the heap. */
#define NATIVE_ARGS_ON_STACK 32

static void use_database(struct request *req)
{
	request_use_database(req, databases_get(req->env->databases, req->session->db));
}

/* Why nothing may be changed at the moment by a command with these arguments, or NULL. */
static const char *refusal(const struct request *req, const struct qless_str *args, size_t count)
{
	size_t bytes = count;

	if (req->env->refusal == NULL)
		return NULL;
	for (const struct qless_str *arg = args; arg != args + count; arg++)
		bytes += arg->len;
	return req->env->refusal(req->env->arg, bytes);
}

bool command_may_change(struct request *req)
{
	const char *error = refusal(req, req->args, req->nargs);

	if (error != NULL)
		reply_error_line(req->reply, str_from(error));
	return error == NULL;
}

/* What a user may not run natively it may not run in another form either. */
static bool is_permitted(struct request *req)
{
	if (acl_may_run(req->session->user, req->env->table, req->row))
		return true;
	if (req->form == REQUEST_SCRIPT)
		classic_write_store_error(req, STR("The user executing the script can't run this "
						   "command or subcommand"));
	else
		reply_errorf(req->reply, "NOPERM",
			     "this user has no permissions to run the '%s' command",
			     req->row->name);
	return false;
}

/* Whether the state may grow, if this is one of the commands by which it does. */
static bool has_memory(const struct request *req)
{
	const struct command_env *env = req->env;

	return (req->row->flags & CMD_DENYOOM) == 0 || env->is_out_of_memory == NULL ||
	       !env->is_out_of_memory(env->arg) || !command_grows(req->row, req->args, req->nargs);
}

/* A command that reads is always run. */
static bool may_change(struct request *req)
{
	const char *error;

	if ((req->row->flags & CMD_WRITE) == 0)
		return true;
	error = has_memory(req) ? refusal(req, req->args, req->nargs) : COMMAND_OOM_ERROR;
	if (error == NULL)
		return true;
	classic_write_refusal(req, str_from(error));
	return false;
}

/* Whether a command that moves what has come due before it reads has to leave it: it was sent as
 * one that only reads, or nothing may change at the moment. */
static bool has_to_hold_still(const struct request *req)
{
	if ((req->row->flags & CMD_MOVES_DUE) == 0)
		return false;
	return req->only_reads || (req->env->is_still != NULL && req->env->is_still(req->env->arg));
}

static void run(struct request *req)
{
	req->is_still = has_to_hold_still(req);
	classic_run(req);
}

void qless_run(struct request *req, const struct qless_str *argv, size_t argc)
{
	const struct command *row = NULL;

	if (argc > 0)
		row = command_table_find_queue(req->env->table, argv[0]);
	if (!classic_parse_script(req, row, argv, argc)) {
		classic_refuse_script(req, row, argv, argc);
		return;
	}
	if (req->only_reads && (row->flags & CMD_WRITE) != 0) {
		classic_write_store_error(
			req, STR("Write commands are not allowed from read-only scripts."));
		return;
	}
	if (!is_permitted(req) || !may_change(req))
		return;
	if (req->env->note_now != NULL)
		req->env->note_now(req->env->arg, req->session, req->now);
	run(req);
}

void cmd_qless(struct request *req)
{
	req->form = REQUEST_QLESS;
	use_database(req);
	qless_run(req, req->args, req->nargs);
}

static void run_native(struct request *req)
{
	assert(req->row->run != NULL && req->form == REQUEST_NATIVE);
	use_database(req);
	req->now = req->env->now(req->env->arg);
	if ((req->row->flags & CMD_WRITE) != 0 && !command_may_change(req))
		return;
	run(req);
	if (req->until > req->now)
		req->env->pass(req->env->arg, req->until);
}

void cmd_native(struct request *req)
{
	run_native(req);
}

/* Make a jid for each "*" among the arguments `first`, `first` + `step` and so on, and put it there
 * if `args` is not NULL. Returns how many there are. */
static size_t make_jids(struct request *req, size_t first, size_t step, struct qless_str *args,
			char (*jids)[COMMAND_JID_BYTES])
{
	size_t count = 0;

	for (size_t i = first; i < req->nargs; i += step) {
		if (!str_equal(req->args[i], STR("*")))
			continue;
		if (args != NULL) {
			req->env->make_jid(req->env->arg, jids[count]);
			args[i] = str_make(jids[count], COMMAND_JID_BYTES);
		}
		count++;
	}
	return count;
}

/* The same for a command that makes jobs: with "*" in place of a jid they get one from us. */
static void run_native_making(struct request *req, size_t first, size_t step)
{
	struct qless_str args_on_stack[NATIVE_ARGS_ON_STACK], *args = args_on_stack;
	char jid_on_stack[1][COMMAND_JID_BYTES], (*jids)[COMMAND_JID_BYTES] = jid_on_stack;
	size_t wanted = make_jids(req, first, step, NULL, NULL);

	if (wanted == 0) {
		run_native(req);
		return;
	}
	if (req->nargs > NATIVE_ARGS_ON_STACK)
		args = mem_realloc_array(NULL, req->nargs, sizeof *args);
	if (wanted > 1)
		jids = mem_realloc_array(NULL, wanted, sizeof *jids);
	memcpy(args, req->args, req->nargs * sizeof *args);
	make_jids(req, first, step, args, jids);
	req->args = args;
	run_native(req);
	if (jids != jid_on_stack)
		free(jids);
	if (args != args_on_stack)
		free(args);
}

void cmd_native_put(struct request *req)
{
	run_native_making(req, 2, req->nargs);
}

void cmd_native_recur(struct request *req)
{
	run_native_making(req, 1, req->nargs);
}

void cmd_native_multiput(struct request *req)
{
	run_native_making(req, classic_multiput_jobs(req->args, req->nargs),
			  CLASSIC_MULTIPUT_JOB_ARGS);
}
