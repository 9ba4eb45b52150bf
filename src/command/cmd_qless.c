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

static struct classic *classic_of(struct call *call)
{
	return databases_get(call->env->databases, call->session->db);
}

/* Why nothing may be changed at the moment by a command with these arguments, or NULL. */
static const char *refusal(const struct call *call, const struct qless_str *args, size_t count)
{
	size_t bytes = count;

	if (call->env->refusal == NULL)
		return NULL;
	for (const struct qless_str *arg = args; arg != args + count; arg++)
		bytes += arg->len;
	return call->env->refusal(call->env->arg, bytes);
}

bool command_may_change(struct call *call)
{
	const char *error = refusal(call, call->args, (size_t)call->nargs);

	if (error != NULL)
		reply_error_line(call->reply, str_from(error));
	return error == NULL;
}

/* What a user may not run natively it may not run in another form either. */
static bool is_permitted(struct call *call, struct classic *c, enum classic_form form,
			 const struct command *row)
{
	if (acl_may_run(call->session->user, call->env->table, row))
		return true;
	if (form == CLASSIC_SCRIPT)
		classic_write_store_error(c, form,
					  STR("The user executing the script can't run this "
					      "command or subcommand"),
					  call->reply);
	else
		reply_errorf(call->reply, "NOPERM",
			     "this user has no permissions to run the '%s' command", row->name);
	return false;
}

/* Whether the state may grow, if this is one of the commands by which it does. */
static bool has_memory(const struct call *call, const struct command *row,
		       const struct qless_str *args, size_t count)
{
	const struct command_env *env = call->env;

	return (row->flags & CMD_DENYOOM) == 0 || env->is_out_of_memory == NULL ||
	       !env->is_out_of_memory(env->arg) || !command_grows(row, args, count);
}

/* A command that reads is always run. */
static bool may_change(struct call *call, struct classic *c, enum classic_form form,
		       const struct command *row, const struct classic_command *command,
		       const struct qless_str *args, size_t count)
{
	const char *error;

	if ((command->flags & CLASSIC_WRITE) == 0)
		return true;
	error = has_memory(call, row, args, count) ? refusal(call, args, count) : COMMAND_OOM_ERROR;
	if (error == NULL)
		return true;
	classic_write_refusal(c, form, str_from(error), call->reply);
	return false;
}

/* Whether a command that moves what has come due before it reads has to leave it: it was sent as
 * one that only reads, or nothing may change at the moment. */
static bool has_to_hold_still(const struct call *call, const struct classic_command *command,
			      unsigned allowed)
{
	if ((command->flags & CLASSIC_MOVES_DUE) == 0)
		return false;
	return (allowed & CLASSIC_WRITE) == 0 ||
	       (call->env->is_still != NULL && call->env->is_still(call->env->arg));
}

static void run(struct call *call, struct classic *c, const struct classic_command *command,
		enum classic_form form, unsigned allowed, double now, const struct qless_str *args,
		size_t count)
{
	c->is_still = has_to_hold_still(call, command, allowed);
	classic_run(c, command, form, now, args, count, call->reply);
	c->is_still = false;
}

void qless_run(struct call *call, struct classic *c, enum classic_form form, unsigned allowed,
	       const struct qless_str *argv, size_t argc)
{
	const struct classic_command *command = NULL;
	const struct command *row;
	double now;

	if (argc > 0)
		command = command_table_find_classic(call->env->table, argv[0], &row);
	if (!classic_parse_script(form, command, argv, argc, &now)) {
		classic_refuse_script(c, form, command, argv, argc, call->reply);
		return;
	}
	if ((command->flags & CLASSIC_WRITE & ~allowed) != 0) {
		classic_write_store_error(
			c, form, STR("Write commands are not allowed from read-only scripts."),
			call->reply);
		return;
	}
	if (!is_permitted(call, c, form, row) ||
	    !may_change(call, c, form, row, command, argv + 2, argc - 2))
		return;
	if (call->env->note_now != NULL)
		call->env->note_now(call->env->arg, call->session, now);
	run(call, c, command, form, allowed, now, argv + 2, argc - 2);
}

void cmd_qless(struct call *call)
{
	qless_run(call, classic_of(call), CLASSIC_EXPLICIT, CLASSIC_WRITE, call->args,
		  (size_t)call->nargs);
}

static void run_native(struct call *call, const struct qless_str *args)
{
	const struct classic_command *command = command_table_classic(call->env->table, call->cmd);
	struct classic *classic = classic_of(call);
	double now = call->env->now(call->env->arg);

	assert(command != NULL);
	if ((call->cmd->flags & CMD_WRITE) != 0 && !command_may_change(call))
		return;
	run(call, classic, command, CLASSIC_NATIVE, CLASSIC_WRITE, now, args, (size_t)call->nargs);
	if (classic->until > now)
		call->env->pass(call->env->arg, classic->until);
}

void cmd_native(struct call *call)
{
	run_native(call, call->args);
}

/* Make a jid for each "*" among the arguments `first`, `first` + `step` and so on, and put it there
 * if `args` is not NULL. Returns how many there are. */
static size_t make_jids(struct call *call, size_t first, size_t step, struct qless_str *args,
			char (*jids)[COMMAND_JID_BYTES])
{
	size_t count = 0;

	for (size_t i = first; i < (size_t)call->nargs; i += step) {
		if (!str_equal(call->args[i], STR("*")))
			continue;
		if (args != NULL) {
			call->env->make_jid(call->env->arg, jids[count]);
			args[i] = str_make(jids[count], COMMAND_JID_BYTES);
		}
		count++;
	}
	return count;
}

/* The same for a command that makes jobs: with "*" in place of a jid they get one from us. */
static void run_native_making(struct call *call, size_t first, size_t step)
{
	struct qless_str args_on_stack[NATIVE_ARGS_ON_STACK], *args = args_on_stack;
	char jid_on_stack[1][COMMAND_JID_BYTES], (*jids)[COMMAND_JID_BYTES] = jid_on_stack;
	size_t wanted = make_jids(call, first, step, NULL, NULL);

	if (wanted == 0) {
		run_native(call, call->args);
		return;
	}
	if (call->nargs > NATIVE_ARGS_ON_STACK)
		args = mem_realloc_array(NULL, (size_t)call->nargs, sizeof *args);
	if (wanted > 1)
		jids = mem_realloc_array(NULL, wanted, sizeof *jids);
	memcpy(args, call->args, (size_t)call->nargs * sizeof *args);
	make_jids(call, first, step, args, jids);
	run_native(call, args);
	if (jids != jid_on_stack)
		free(jids);
	if (args != args_on_stack)
		free(args);
}

void cmd_native_put(struct call *call)
{
	run_native_making(call, 2, (size_t)call->nargs);
}

void cmd_native_recur(struct call *call)
{
	run_native_making(call, 1, (size_t)call->nargs);
}

void cmd_native_multiput(struct call *call)
{
	run_native_making(call, classic_multiput_jobs(call->args, (size_t)call->nargs),
			  CLASSIC_MULTIPUT_JOB_ARGS);
}
