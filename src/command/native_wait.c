/*
 * JOB.WAIT and JOB.RESULT: how a job ended.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/job_outcome.h"
#include "command/job_wait.h"
#include "util/container.h"
#include "util/mem.h"

/* ---- ends ---- */

static bool has_ended(const struct qless_job *job)
{
	struct qless_job_info info;

	qless_job_read(job, &info);
	return info.state == QLESS_COMPLETE || info.state == QLESS_FAILED;
}

static void keep_outcome(struct job_end *end, const struct qless_job *job)
{
	struct qless_job_info info;
	struct qless_str value;

	qless_job_read(job, &info);
	end->state = info.state;
	value = job_outcome(job, &info);
	if (value.ptr != NULL)
		end->value = str_make(mem_dup(value.ptr, value.len), value.len);
}

void job_wait_note_end(struct job_wait *wait, size_t i, const struct qless_job *job)
{
	struct job_end *end = &wait->jobs[i];

	if (end->has_ended)
		return;
	end->has_ended = true;
	end->is_gone = job == NULL;
	wait->jobs_left--;
	if (job != NULL)
		keep_outcome(end, job);
}

bool job_wait_is_over(const struct job_wait *wait)
{
	return wait->jobs_left == 0 || (wait->waits_for_any && wait->jobs_left < wait->count);
}

size_t job_wait_memory(const struct job_wait *wait)
{
	size_t bytes = sizeof *wait + wait->count * sizeof wait->jobs[0];

	for (size_t i = 0; i < wait->count; i++)
		bytes += wait->jobs[i].value.len;
	return bytes;
}

/* ---- JOB.WAIT ---- */

static void look_at_jobs(struct job_wait *wait, const struct request *req)
{
	for (size_t i = 0; i < wait->count; i++) {
		const struct qless_job *job =
			qless_get(req->engine, req->args[JOB_WAIT_JIDS_AT + i]);

		if (job == NULL || has_ended(job))
			job_wait_note_end(wait, i, job);
	}
}

static void write_end(struct request *req, struct qless_str jid, const struct job_end *end)
{
	reply_array(req->reply, 3);
	reply_bulk(req->reply, jid);
	if (end->is_gone)
		reply_null(req->reply);
	else
		reply_bulk(req->reply, qless_state_text(end->state));
	if (end->value.ptr != NULL)
		reply_bulk(req->reply, end->value);
	else
		reply_null(req->reply);
}

static void write_ends(const struct job_wait *wait, struct request *req)
{
	reply_array(req->reply, wait->count - wait->jobs_left);
	for (size_t i = 0; i < wait->count; i++) {
		if (wait->jobs[i].has_ended)
			write_end(req, req->args[JOB_WAIT_JIDS_AT + i], &wait->jobs[i]);
	}
}

/* The first part runs with the command, and another one when the wait is over. */
static bool go_on(struct work *work, struct request *req)
{
	struct job_wait *wait = container_of(work, struct job_wait, work);
	const struct command_env *env = req->env;
	bool can_wait = req->parts_left == NULL && env->wait_for_ends != NULL;

	if (!wait->has_begun)
		look_at_jobs(wait, req);
	if (job_wait_is_over(wait)) {
		write_ends(wait, req);
		return false;
	}
	if (!can_wait) {
		reply_null_array(req->reply);
		return false;
	}
	if (!wait->has_begun)
		env->wait_for_ends(env->arg, req, wait);
	wait->has_begun = true;
	return true;
}

static void free_wait(struct work *work)
{
	struct job_wait *wait = container_of(work, struct job_wait, work);

	for (size_t i = 0; i < wait->count; i++)
		free((char *)(uintptr_t)wait->jobs[i].value.ptr);
	free(wait);
}

size_t job_wait_count_jids(const struct qless_str *args, size_t nargs, bool *ret_any)
{
	*ret_any = nargs > JOB_WAIT_JIDS_AT + 1 && str_equal_nocase(args[nargs - 1], STR("ANY"));
	return nargs - JOB_WAIT_JIDS_AT - (*ret_any ? 1 : 0);
}

/* Within a transaction, JOB.WAIT does not wait. */
int native_job_wait(struct request *req)
{
	static const struct work_ops ops = { go_on, free_wait };
	struct job_wait *wait;
	double timeout_s;
	size_t count;
	bool any;
	int rc = request_timeout(req, req->args[0], &timeout_s);

	if (rc < 0)
		return rc;
	count = job_wait_count_jids(req->args, req->nargs, &any);
	wait = mem_zalloc(sizeof *wait + count * sizeof wait->jobs[0]);
	wait->work.ops = &ops;
	wait->timeout_s = timeout_s;
	wait->waits_for_any = any;
	wait->count = wait->jobs_left = count;
	work_begin(req, &wait->work);
	return 0;
}

/* ---- JOB.RESULT ---- */

static void write_member(struct request *req, const char *name, struct qless_str text)
{
	reply_bulk(req->reply, str_from(name));
	if (text.ptr != NULL)
		reply_bulk(req->reply, text);
	else
		reply_null(req->reply);
}

int native_job_result(struct request *req)
{
	const struct qless_job *job = qless_get(req->engine, req->args[0]);
	struct qless_job_info info;
	bool is_failed, is_complete;

	if (job == NULL)
		return answer_null(req);
	qless_job_read(job, &info);
	is_failed = info.state == QLESS_FAILED;
	is_complete = info.state == QLESS_COMPLETE;
	reply_map(req->reply, is_failed ? 5 : is_complete ? 3 : 2);
	write_member(req, "jid", info.jid);
	write_member(req, "state", qless_state_text(info.state));
	if (is_complete)
		write_member(req, "result", job_outcome(job, &info));
	if (is_failed) {
		write_member(req, "group", info.failure.group);
		write_member(req, "message", info.failure.message);
		write_member(req, "error", job_outcome(job, &info));
	}
	return 0;
}
