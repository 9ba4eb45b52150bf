/*
 * JOB.ABORT and JOB.DELETE: others end a job for its worker, and delete jobs that have ended.
 */
#include "command/classic_int.h"

#include "command/acl.h"
#include "command/attach.h"
#include "command/links.h"

/* ---- JOB.ABORT ---- */

int decode_job_abort(struct request *req, struct operation *op)
{
	op->kind = OPERATION_JOB_ABORT;
	op->abort = (struct qless_abort){ .jid = req->args[0],
					  .supervisor = req->args[1],
					  .group = req->args[2],
					  .message = req->args[3] };
	if (op->abort.supervisor.len == 0)
		return request_fail(req, QLESS_EBADARG, "supervisor must not be empty");
	if (op->abort.group.len == 0)
		return request_fail(req, QLESS_EBADARG, "group must not be empty");
	return 0;
}

static struct qless_str node_of_worker(const struct request *req, struct qless_str worker)
{
	const struct command_env *env = req->env;
	struct worker_view view;

	if (env->presence == NULL ||
	    !env->presence->find(env->arg, req->database->index, worker, &view))
		return STR("");
	return view.node;
}

/* The node where a job runs: that of JOB.START, or that of its attached worker. */
static struct qless_str node_of_job(const struct request *req, struct qless_str jid)
{
	const struct qless_job *job = qless_get(req->engine, jid);
	struct qless_account account;
	struct qless_job_info info;

	if (job == NULL)
		return STR("");
	if (qless_job_account(job, &account) && account.node.ptr != NULL)
		return account.node;
	qless_job_read(job, &info);
	return node_of_worker(req, info.worker);
}

static bool is_on_node(const struct request *req, struct qless_str supervisor,
		       struct qless_str node)
{
	const struct command_env *env = req->env;

	return node.len != 0 && env->presence != NULL &&
	       env->presence->is_attached_here(env->arg, req, supervisor) &&
	       str_equal(node_of_worker(req, supervisor), node);
}

static bool may_abort(const struct request *req)
{
	if (req->session->user != NULL && acl_may_supervise(req->session->user))
		return true;
	return is_on_node(req, req->args[1], node_of_job(req, req->args[0]));
}

/* Checks the job first, so that the error about a job that does not run is the usual one. */
static int check_abort(struct request *req, const struct operation *op)
{
	const struct qless_job *job = qless_get(req->engine, op->abort.jid);
	struct qless_job_info info;

	if (job == NULL)
		return 0;
	qless_job_read(job, &info);
	if (info.state != QLESS_RUNNING || may_abort(req))
		return 0;
	reply_error(req->reply, "NOPERM",
		    STR("The supervisor must be attached to this connection with the NODE on which "
			"the job runs, or the user needs +@supervise"));
	return 1;
}

int native_job_abort(struct request *req)
{
	struct operation_outcome outcome;
	struct operation op;
	int rc = decode_job_abort(req, &op);

	if (rc < 0)
		return rc;
	if (check_abort(req, &op) != 0)
		return 0;
	rc = request_run(req, &op, &outcome);
	return rc < 0 ? rc : answer_bulk(req, op.abort.jid);
}

/* ---- JOB.DELETE ---- */

int decode_job_delete(struct request *req, struct operation *op)
{
	int rc = request_check_jobs(req, req->nargs);

	op->kind = OPERATION_JOB_DELETE;
	op->names = request_rest(req, 0);
	return rc < 0 ? rc : links_check_call(req);
}

static int answer_job_delete(struct request *req, const struct operation *op,
			     const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(req, (double)outcome->count);
}

int native_job_delete(struct request *req)
{
	return request_operation(req, decode_job_delete, answer_job_delete);
}
