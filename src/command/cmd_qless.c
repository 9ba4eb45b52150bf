/*
 * The queue commands: native ones, which take the time from the server, and QLESS, which takes it
 * from the client.
 */
#include "command/cmd_qless.h"

#include <assert.h>

#include "command/admission.h"
#include "command/classic_int.h"
#include "command/complete_args.h"
#include "command/databases.h"
#include "command/fence.h"
#include "command/handlers.h"
#include "command/table.h"
#include "util/mem.h"

/* Requests with more arguments than this are copied to the heap instead of the stack. */
#define NATIVE_ARGS_ON_STACK 32

static void use_database(struct request *req)
{
	request_use_database(req, databases_get(req->env->databases, req->session->db));
}

void qless_run(struct request *req, const struct qless_str *argv, size_t argc)
{
	const struct command *row = NULL;
	struct verdict verdict;

	if (argc > 0)
		row = command_table_find_queue(req->env->table, argv[0]);
	if (!classic_parse_script(req, row, argv, argc)) {
		classic_refuse_script(req, row, argv, argc);
		return;
	}
	verdict = admission_decide(req);
	if (verdict_is_refusal(&verdict)) {
		admission_refuse(req, &verdict);
		return;
	}
	if (req->reply->is_full && !command_changes(req->row, req->args, req->nargs)) {
		classic_write_limit(req, STR(REQUEST_NOT_RUN));
		return;
	}
	classic_run(req);
}

void cmd_qless(struct request *req)
{
	req->form = REQUEST_QLESS;
	use_database(req);
	qless_run(req, req->args, req->nargs);
}

static void run_in_database(struct request *req)
{
	assert(req->row->run != NULL && req->form == REQUEST_NATIVE);
	req->now = req->env->now(req->env->arg);
	classic_run(req);
	if (req->until > req->now)
		req->env->pass(req->env->arg, req->until);
}

static void run_native(struct request *req)
{
	use_database(req);
	run_in_database(req);
}

void cmd_native(struct request *req)
{
	run_native(req);
}

/* Runs a native command whose arguments may contain the option LOCK, see fence_take(). Without the
 * option, it has up to `max_args` arguments. */
static void run_native_fenced(struct request *req, enum qless_operation operation, size_t first,
			      int max_args)
{
	static const struct verdict arity = { .kind = VERDICT_ARITY };
	struct fence fence;

	/* Too few arguments for an option, as usual. */
	if (req->nargs < (size_t)req->row->min_args + 2) {
		run_native(req);
		return;
	}
	use_database(req);
	if (fence_take(&fence, req, first)) {
		if (max_args != COMMAND_ANY_ARGS && req->nargs > (size_t)max_args)
			admission_refuse(req, &arity);
		else if (!fence.is_set || fence_check(&fence, req, operation))
			run_in_database(req);
	}
	fence_done(&fence);
}

void cmd_native_complete(struct request *req)
{
	if (req->nargs <= COMPLETE_DATA_AT + 1) {
		run_native(req);
		return;
	}
	run_native_fenced(req, QLESS_OP_COMPLETE, complete_options_at(req->args, req->nargs),
			  COMMAND_ANY_ARGS);
}

void cmd_native_fail(struct request *req)
{
	if (req->nargs <= FAIL_DATA_AT + 1) {
		run_native(req);
		return;
	}
	run_native_fenced(req, QLESS_OP_FAIL, fail_options_at(req->args, req->nargs),
			  COMMAND_ANY_ARGS);
}

void cmd_native_start(struct request *req)
{
	run_native_fenced(req, QLESS_OP_JOB_START, 2, COMMAND_ANY_ARGS);
}

void cmd_native_progress(struct request *req)
{
	run_native_fenced(req, QLESS_OP_JOB_PROGRESS, 0, 4);
}

void cmd_native_heartbeat(struct request *req)
{
	run_native_fenced(req, QLESS_OP_HEARTBEAT, 0, 3);
}

void cmd_native_retry(struct request *req)
{
	run_native_fenced(req, QLESS_OP_RETRY, 0, 6);
}

static bool is_made(struct qless_str jid)
{
	return jid.len == 1 && (jid.ptr[0] == '*' || jid.ptr[0] == '+');
}

/* Makes an unpredictable jid, or the next number. */
static struct qless_str make_jid(struct request *req, struct qless_str wanted,
				 char to[COMMAND_JID_BYTES])
{
	static_assert(COMMAND_JID_BYTES >= NUM_MAX, "a number fits");
	if (wanted.ptr[0] == '*') {
		req->env->make_jid(req->env->arg, to);
		return str_make(to, COMMAND_JID_BYTES);
	}
	req->last_number = qless_next_number(req->engine, req->last_number);
	return str_make(to, num_format_u64(to, (uint64_t)req->last_number));
}

/* Counts the "*" and "+" among the arguments `first`, `first` + `step` and so on. If `args` is not
 * NULL, replaces each of them there by a new jid. */
static size_t make_jids(struct request *req, size_t first, size_t step, struct qless_str *args,
			char (*jids)[COMMAND_JID_BYTES])
{
	size_t count = 0;

	for (size_t i = first; i < req->nargs; i += step) {
		if (!is_made(req->args[i]))
			continue;
		if (args != NULL)
			args[i] = make_jid(req, req->args[i], jids[count]);
		count++;
	}
	return count;
}

/* Runs a native command that makes jobs, and replaces each "*" or "+" in place of a jid by a new
 * jid. */
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
	use_database(req);
	make_jids(req, first, step, args, jids);
	req->args = args;
	run_in_database(req);
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

/* The data is checked before jids are made: other commands may take the next numbers until then. */
void cmd_native_multiput(struct request *req)
{
	use_database(req);
	if (classic_check_multiput(req))
		return;
	run_native_making(req, classic_multiput_jobs(req->args, req->nargs, REQUEST_NATIVE),
			  CLASSIC_MULTIPUT_JOB_ARGS);
}
