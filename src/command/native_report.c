/*
 * JOB.START, JOB.PROGRESS and JOB.META: what workers report about a job.
 */
#include "command/classic_int.h"

#include "command/job_fields.h"
#include "command/options.h"
#include "util/num.h"

/* The largest number of a process. */
#define PID_MAX INT32_MAX

/* ---- JOB.START ---- */

static int parse_pid(struct request *req, struct qless_str text, int64_t *ret_pid)
{
	if (num_parse_i64(text, ret_pid) && *ret_pid > 0 && *ret_pid <= PID_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "PID must be a whole number from 1 to %g; found \"%S\"",
			    (double)PID_MAX, text);
}

/* The option LOCK has been taken from the arguments already; see fence_take(). */
int decode_job_start(struct request *req, struct operation *op)
{
	const struct qless_str *pid = NULL, *node = NULL;
	const struct option_slot slots[] = {
		{ STR_INIT("PID"), &pid, 1 },
		{ STR_INIT("NODE"), &node, 1 },
	};
	int rc = options_read(req, 2, req->nargs, slots, sizeof slots / sizeof *slots);

	op->kind = OPERATION_JOB_START;
	op->start = (struct qless_start){ .jid = req->args[0],
					  .worker = req->args[1],
					  .node = node != NULL ? *node : STR("") };
	if (rc == 0 && pid != NULL)
		rc = parse_pid(req, *pid, &op->start.pid);
	if (rc == 0 && node != NULL && node->len == 0)
		rc = request_fail(req, QLESS_EBADARG, "NODE must not be empty");
	return rc;
}

static int answer_job_start(struct request *req, const struct operation *op,
			    const struct operation_outcome *outcome)
{
	const struct qless_job *job = qless_get(req->engine, op->start.jid);
	struct qless_job_info info;

	(void)outcome;
	qless_job_read(job, &info);
	job_fields_write_data(req, &info);
	return 0;
}

int native_job_start(struct request *req)
{
	return request_operation(req, decode_job_start, answer_job_start);
}

/* ---- JOB.PROGRESS ---- */

int decode_job_progress(struct request *req, struct operation *op)
{
	op->kind = OPERATION_JOB_PROGRESS;
	op->progress =
		(struct qless_progress){ .jid = req->args[0],
					 .worker = req->args[1],
					 .note = request_has(req, 3) ? &req->args[3] : NULL };
	if (request_reads_number(req, req->args[2], &op->progress.percent) &&
	    op->progress.percent >= 0 && op->progress.percent <= 100)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "percent must be a number from 0 to 100; found \"%S\"", req->args[2]);
}

static int answer_ok(struct request *req, const struct operation *op,
		     const struct operation_outcome *outcome)
{
	(void)op;
	(void)outcome;
	reply_ok(req->reply);
	return 0;
}

int native_job_progress(struct request *req)
{
	return request_operation(req, decode_job_progress, answer_ok);
}

/* ---- JOB.META ---- */

static int check_fields(struct request *req, size_t step)
{
	for (size_t i = 2; i < req->nargs; i += step) {
		if (req->args[i].len == 0)
			return request_fail(req, QLESS_EBADARG, "field must not be empty");
	}
	return 0;
}

static int decode_set(struct request *req, struct operation *op)
{
	if (req->nargs < 4 || req->nargs % 2 != 0)
		return request_fail(req, QLESS_EBADARG,
				    "SET must have a value for each field; found %g arguments",
				    (double)(req->nargs - 2));
	op->meta.set = request_rest(req, 2);
	return check_fields(req, 2);
}

static int decode_remove(struct request *req, struct operation *op)
{
	if (req->nargs < 3)
		return request_fail(req, QLESS_EBADARG, "DEL must have a field");
	op->meta.removed = request_rest(req, 2);
	return check_fields(req, 1);
}

int decode_job_meta(struct request *req, struct operation *op)
{
	op->kind = OPERATION_JOB_META;
	op->meta.jid = req->args[0];
	op->meta.set = op->meta.removed = (struct operation_names){ NULL, 0 };
	if (str_equal_nocase(req->args[1], STR("SET")))
		return decode_set(req, op);
	if (str_equal_nocase(req->args[1], STR("DEL")))
		return decode_remove(req, op);
	return request_fail(req, QLESS_EBADARG,
			    "The action must be \"SET\", \"GET\" or \"DEL\"; found \"%S\"",
			    req->args[1]);
}

static int answer_count(struct request *req, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)op;
	return answer_integer(req, (double)outcome->count);
}

static void write_all_fields(struct request *req, const struct qless_job *job)
{
	struct reply_deferred map;
	struct qless_str field, value;
	size_t cursor = 0, count = 0;

	reply_deferred_begin(req->reply, &map, REPLY_MAP);
	for (; qless_job_next_meta(job, &cursor, &field, &value); count++) {
		reply_bulk(req->reply, field);
		reply_bulk(req->reply, value);
	}
	reply_deferred_end(req->reply, &map, count);
}

static int get_fields(struct request *req)
{
	const struct qless_job *job = qless_get(req->engine, req->args[0]);
	struct qless_str value;

	if (job == NULL)
		return answer_null(req);
	if (req->nargs == 2) {
		write_all_fields(req, job);
		return 0;
	}
	reply_array(req->reply, req->nargs - 2);
	for (size_t i = 2; i < req->nargs; i++) {
		if (qless_job_find_meta(job, req->args[i], &value))
			reply_bulk(req->reply, value);
		else
			reply_null(req->reply);
	}
	return 0;
}

int native_job_meta(struct request *req)
{
	if (str_equal_nocase(req->args[1], STR("GET")))
		return get_fields(req);
	return request_operation(req, decode_job_meta, answer_count);
}
