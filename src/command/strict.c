#include "command/strict.h"

#include <math.h>

#include "command/classic_int.h"
#include "command/permit.h"
#include "engine/view.h"

/* Seconds. The reference rounds the time of a run down to whole seconds, so shorter intervals would
 * make the same run again and again. */
#define INTERVAL_MIN 1

/* ---- single arguments ---- */

static int fail_empty(struct request *req, const char *argument)
{
	return request_fail(req, QLESS_EBADARG, "%s must not be empty", argument);
}

static inline int check_name(struct request *req, const char *argument, struct qless_str name)
{
	return name.len > 0 ? 0 : fail_empty(req, argument);
}

static int check_names(struct request *req, const char *argument, const struct qless_str *names,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].len == 0)
			return fail_empty(req, argument);
	}
	return 0;
}

/* The names in a JSON array. */
static int check_list(struct request *req, const char *argument, const struct qless_str *names,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].len == 0)
			return request_fail(req, QLESS_EBADARG, "%s must not contain an empty name",
					    argument);
	}
	return 0;
}

static inline int check_range(struct request *req, const char *argument, double number, double min)
{
	if (number >= min && number <= STRICT_NUMBER_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG, "%s must be a number from %g to %g; found \"%g\"",
			    argument, min, STRICT_NUMBER_MAX, number);
}

static int check_whole(struct request *req, const char *argument, double number)
{
	if (number == floor(number) && number >= 0 && number <= STRICT_NUMBER_MAX)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "%s must be a whole number from 0 to %g; found \"%g\"", argument,
			    STRICT_NUMBER_MAX, number);
}

static int check_circle(struct request *req, const struct qless_str *jids, size_t count,
			size_t stride, const struct qless_str *depends, size_t depend_count)
{
	const struct qless_circle circle = { jids, count, stride, depends, depend_count };
	const struct qless_error *error;
	int rc = depend_count > 0 ? qless_check_circle(req->engine, &circle) : 0;

	if (rc == 0 || permit_viewer(req) == NULL)
		return rc;
	/* The circle may lead over jobs that a limited user must not see. */
	error = qless_last_error(req->engine);
	if (error->reason != QLESS_WHY_CIRCLE)
		return rc;
	return request_fail(req, rc, "Job %S would wait for itself", error->jid);
}

/* ---- operations ---- */

/* Everything that the jobs of a put have in common. Not every client that puts a job is a worker,
 * so the name of the worker may be empty. */
static int check_common(struct request *req, const struct qless_put *put)
{
	int rc = check_name(req, "queue", put->queue);

	if (rc == 0)
		rc = check_range(req, "delay", put->delay, 0);
	if (rc == 0 && put->has_priority)
		rc = check_range(req, "priority", put->priority, -STRICT_NUMBER_MAX);
	if (rc == 0 && put->has_retries)
		rc = check_whole(req, "retries", put->retries);
	if (rc == 0 && put->has_tags)
		rc = check_list(req, "tags", put->tags, put->tag_count);
	if (rc == 0)
		rc = check_list(req, "depends", put->depends, put->depend_count);
	return rc;
}

/* Returns whether a put has nothing but names, which most puts have. */
static inline bool is_plain(const struct qless_put *put)
{
	return put->delay == 0 && put->depend_count == 0 &&
	       !(put->has_priority | put->has_retries | put->has_tags) && put->queue.len != 0 &&
	       put->jid.len != 0 && put->klass.len != 0;
}

int strict_put(struct request *req, const struct operation *op)
{
	const struct qless_put *put = &op->put;
	int rc;

	if (is_plain(put))
		return 0;
	rc = check_common(req, put);
	if (rc == 0)
		rc = check_name(req, "jid", put->jid);
	if (rc == 0)
		rc = check_name(req, "klass", put->klass);
	if (rc == 0)
		rc = check_circle(req, &put->jid, 1, 1, put->depends, put->depend_count);
	return rc;
}

int strict_put_many(struct request *req, const struct operation *op)
{
	const struct qless_put *common = &op->put_many.common;
	struct operation_names jobs = op->put_many.jobs;
	int rc = check_common(req, common);

	for (size_t i = 0; rc == 0 && i < jobs.count; i += CLASSIC_MULTIPUT_JOB_ARGS) {
		rc = check_name(req, "jid", jobs.items[i]);
		if (rc == 0)
			rc = check_name(req, "klass", jobs.items[i + 1]);
	}
	if (rc == 0)
		rc = check_circle(req, jobs.items, jobs.count / CLASSIC_MULTIPUT_JOB_ARGS,
				  CLASSIC_MULTIPUT_JOB_ARGS, common->depends, common->depend_count);
	return rc;
}

/* Whether the engine will complete the job, as far as the job decides that. */
static bool is_owned(const struct qless *engine, const struct qless_complete *complete)
{
	const struct qless_job *job = qless_get(engine, complete->jid);
	struct qless_job_info info;

	if (job == NULL)
		return false;
	qless_job_read(job, &info);
	return info.state == QLESS_RUNNING && str_equal(info.worker, complete->worker) &&
	       str_equal(info.queue, complete->queue);
}

int strict_complete(struct request *req, const struct operation *op)
{
	const struct qless_complete *complete = &op->complete;
	int rc;

	if (complete->next == NULL)
		return 0;
	rc = check_name(req, "next", *complete->next);
	if (rc == 0)
		rc = check_range(req, "delay", complete->delay, 0);
	if (rc == 0)
		rc = check_list(req, "depends", complete->depends, complete->depend_count);
	/* An error of the job comes before errors of its dependencies. */
	if (rc == 0 && complete->depend_count > 0 && is_owned(req->engine, complete))
		rc = check_circle(req, &complete->jid, 1, 1, complete->depends,
				  complete->depend_count);
	return rc;
}

int strict_retry(struct request *req, const struct operation *op)
{
	const struct qless_retry *retry = &op->retry;
	int rc = check_name(req, "queue", retry->queue);

	if (rc == 0)
		rc = check_range(req, "delay", retry->delay, 0);
	if (rc == 0 && retry->group != NULL)
		rc = check_name(req, "group", *retry->group);
	return rc;
}

int strict_recur(struct request *req, const struct operation *op)
{
	const struct qless_recur_put *put = &op->recur;
	int rc = check_name(req, "queue", put->queue);

	if (rc == 0)
		rc = check_name(req, "jid", put->jid);
	if (rc == 0)
		rc = check_name(req, "klass", put->klass);
	if (rc == 0 && put->schedule == NULL)
		rc = check_range(req, "interval", put->interval, INTERVAL_MIN);
	/* The first run may have been an interval ago, so that a job is made at once. An earlier
	 * one would make a job for each interval since then. */
	if (rc == 0)
		rc = check_range(req, "offset", put->offset, -put->interval);
	if (rc == 0)
		rc = check_range(req, "priority", put->priority, -STRICT_NUMBER_MAX);
	if (rc == 0)
		rc = check_whole(req, "retries", put->retries);
	if (rc == 0)
		rc = check_whole(req, "backlog", put->backlog);
	if (rc == 0)
		rc = check_list(req, "tags", put->tags, put->tag_count);
	return rc;
}

static int check_change(struct request *req, const struct qless_recur_change *change)
{
	switch (change->field) {
	case QLESS_RECUR_PRIORITY:
		return check_range(req, "priority", change->number, -STRICT_NUMBER_MAX);
	case QLESS_RECUR_INTERVAL:
		return check_range(req, "interval", change->number, INTERVAL_MIN);
	case QLESS_RECUR_RETRIES:
		return check_whole(req, "retries", change->number);
	case QLESS_RECUR_BACKLOG:
		return check_whole(req, "backlog", change->number);
	case QLESS_RECUR_DATA:
	case QLESS_RECUR_LIMITS:
	case QLESS_RECUR_CRON:
	case QLESS_RECUR_ZONE:
	case QLESS_RECUR_RULE:
	case QLESS_RECUR_MISSED:
	case QLESS_RECUR_OVERLAP:
	case QLESS_RECUR_UNIQUE:
	case QLESS_RECUR_TERMS:
	case QLESS_RECUR_RAW:
		break;
	case QLESS_RECUR_KLASS:
		return check_name(req, "klass", change->text);
	case QLESS_RECUR_QUEUE:
		return check_name(req, "queue", change->text);
	}
	return 0;
}

static bool has_change(const struct operation *op, enum qless_recur_field first,
		       enum qless_recur_field last)
{
	for (size_t i = 0; i < op->recur_update.count; i++) {
		enum qless_recur_field field = op->recur_update.changes[i].field;

		if (field >= first && field <= last)
			return true;
	}
	return false;
}

/* Check that the changes fit what the job recurs by, now and after them. */
static int check_kind(struct request *req, const struct operation *op)
{
	const struct qless_recur *recur = qless_recur_get(req->engine, op->recur_update.jid);
	bool gets_interval = has_change(op, QLESS_RECUR_INTERVAL, QLESS_RECUR_INTERVAL);
	bool gets_cron = has_change(op, QLESS_RECUR_CRON, QLESS_RECUR_CRON);
	struct qless_recur_info info;

	if (recur == NULL)
		return 0;
	qless_recur_read(recur, &info);
	if (gets_interval && has_change(op, QLESS_RECUR_CRON, QLESS_RECUR_OVERLAP))
		return request_fail(
			req, QLESS_EBADARG,
			"A recurring job has an interval or a cron expression, not both");
	if (!gets_cron && !info.has_schedule &&
	    has_change(op, QLESS_RECUR_ZONE, QLESS_RECUR_OVERLAP))
		return request_fail(req, QLESS_EBADARG,
				    "tz, missed and overlap need a cron expression, and recurring "
				    "job %S has an interval",
				    info.jid);
	if ((gets_cron || (info.has_schedule && !gets_interval)) &&
	    has_change(op, QLESS_RECUR_BACKLOG, QLESS_RECUR_BACKLOG))
		return request_fail(req, QLESS_EBADARG,
				    "backlog needs an interval; a cron expression has \"missed\"");
	return 0;
}

int strict_recur_update(struct request *req, const struct operation *op)
{
	int rc = check_kind(req, op);

	for (size_t i = 0; rc == 0 && i < op->recur_update.count; i++)
		rc = check_change(req, &op->recur_update.changes[i]);
	return rc;
}

/* Whether the value of an option is a time that jobs of a queue may take, which 0 turns off. */
static bool is_allowance(struct qless_str name)
{
	struct qless_str queue;

	return str_strip_suffix(name, STR("-runtime"), &queue) ||
	       str_strip_suffix(name, STR("-start-timeout"), &queue);
}

/* The engine accepts any text as the value of such an option, because old logs may have it. */
static bool is_lenient(struct qless_str name)
{
	struct qless_str queue;

	return is_allowance(name) || str_strip_suffix(name, STR("-retain"), &queue) ||
	       str_equal(name, STR("failed-history")) ||
	       str_equal(name, STR("failed-history-count"));
}

/* The engine refuses a value of other options that is no number, so that is not checked here. */
int strict_config_set(struct request *req, const struct operation *op)
{
	struct qless_str name = op->config.name, value = op->config.value, queue;
	double number = NAN, min, max;
	bool is_text, is_off, is_retain;

	if (name.len == 0)
		return fail_empty(req, "option");
	if (str_strip_suffix(name, STR("-order"), &queue) && !str_equal(value, STR("fair")) &&
	    !str_equal(value, STR("priority")))
		return request_fail(req, QLESS_EBADARG,
				    "The value of \"%S\" must be priority or fair; found \"%S\"",
				    name, value);
	is_retain = str_strip_suffix(name, STR("-retain"), &queue);
	if (is_retain && str_equal(value, STR("ack")))
		return 0;
	is_text = !text_is_number(value, &number) && !is_lenient(name);
	if (!qless_option_range(name, &min, &max) || is_text)
		return 0;
	is_off = is_allowance(name) && num_parse_decimal(value, &number) && number == 0;
	if (is_off)
		return 0;
	if (num_parse_decimal(value, &number) && number >= min && number <= max) {
		if (!str_equal(name, STR("failed-history-count")) || number == floor(number))
			return 0;
		return request_fail(req, QLESS_EBADARG,
				    "The value of \"%S\" must be a whole number; found \"%S\"",
				    name, value);
	}
	return request_fail(req, QLESS_EBADARG,
			    "The value of \"%S\" must be %sfrom %g to %g; found \"%S\"", name,
			    is_allowance(name) ? "0 or "
			    : is_retain	       ? "ack or "
					       : "",
			    min, max, value);
}

/* A client of the reference may have put jobs into a queue without a name. */
int strict_pop(struct request *req, const struct operation *op)
{
	if (op->pop.queue.len == 0 && view_queue(req->engine, STR(""), QUEUE_WORK) == NULL)
		return fail_empty(req, "queue");
	return check_name(req, "worker", op->pop.worker);
}

int strict_fail(struct request *req, const struct operation *op)
{
	return check_name(req, "group", op->fail.group);
}

int strict_depends(struct request *req, const struct operation *op)
{
	const struct operation_names *on = &op->job.names;
	int rc;

	if (op->kind != OPERATION_DEPENDS_ON)
		return 0;
	/* An error of the job comes before errors of its dependencies. */
	rc = qless_depends_on(req->engine, req->now, op->job.jid, NULL, 0);
	if (rc == 0)
		rc = check_names(req, "jid", on->items, on->count);
	return rc < 0 ? rc : check_circle(req, &op->job.jid, 1, 1, on->items, on->count);
}

int strict_priority(struct request *req, const struct operation *op)
{
	return check_range(req, "priority", op->priority.priority, -STRICT_NUMBER_MAX);
}

int strict_unfail(struct request *req, const struct operation *op)
{
	return check_name(req, "queue", op->unfail.queue);
}

int strict_pause(struct request *req, const struct operation *op)
{
	return check_names(req, "queue", op->names.items, op->names.count);
}

/* Only a tag that is added must have a name. */
int strict_tag(struct request *req, const struct operation *op)
{
	if (op->kind == OPERATION_UNTAG)
		return 0;
	return check_names(req, "tag", op->job.names.items, op->job.names.count);
}

int strict_date(struct request *req, double date)
{
	return check_range(req, "date", date, 0);
}
