/*
 * The queue commands: the native ones, which take their time from the server, and QLESS, which is
 * given one.
 */
#include <assert.h>

#include "command/databases.h"
#include "command/handlers.h"
#include "util/mem.h"

/* A native call has few arguments as a rule; those of a long one are copied to the heap. */
#define NATIVE_ARGS_ON_STACK 32

static struct classic *classic_of(struct call *call)
{
	return databases_get(call->env->databases, call->session->db);
}

void cmd_qless(struct call *call)
{
	classic_run_script(classic_of(call), CLASSIC_EXPLICIT, call->args, (size_t)call->nargs,
			   call->reply);
}

static void run_native(struct call *call, const struct qless_str *args)
{
	const struct classic_command *command = classic_find(str_from(call->cmd->name));

	assert(command != NULL);
	classic_run(classic_of(call), command, CLASSIC_NATIVE, call->env->now(call->env->arg), args,
		    (size_t)call->nargs, call->reply);
}

void cmd_native(struct call *call)
{
	run_native(call, call->args);
}

/* The same for a command that makes a job: with "*" in place of the jid it gets one from us. */
static void run_native_making(struct call *call, int jid_at)
{
	struct qless_str stack[NATIVE_ARGS_ON_STACK], *args = stack;
	char jid[COMMAND_JID_BYTES];

	if (!str_equal(call->args[jid_at], STR("*"))) {
		run_native(call, call->args);
		return;
	}
	call->env->make_jid(call->env->arg, jid);
	if (call->nargs > NATIVE_ARGS_ON_STACK)
		args = mem_realloc_array(NULL, (size_t)call->nargs, sizeof *args);
	memcpy(args, call->args, (size_t)call->nargs * sizeof *args);
	args[jid_at] = str_make(jid, sizeof jid);
	run_native(call, args);
	if (args != stack)
		free(args);
}

void cmd_native_put(struct call *call)
{
	run_native_making(call, 2);
}

void cmd_native_recur(struct call *call)
{
	run_native_making(call, 1);
}
