#include "command/job_fields.h"

#include <math.h>

#include "command/classic_int.h"
#include "command/job_past.h"
#include "command/job_queue.h"
#include "command/job_states.h"
#include "engine/view.h"
#include "util/nearest.h"

/* A job while its fields are written. */
struct field_source {
	struct request *req;
	const struct qless_job *job;
	struct qless_job_info info;
	struct qless_account account; /* zeroed if the job has none */
};

/* ---- values ---- */

void job_fields_write_data(struct request *req, const struct qless_job_info *info)
{
	if (info->is_raw)
		reply_bytes(req->reply, info->data);
	else
		reply_json(req->reply, info->data);
}

static void write_text(const struct field_source *of, struct qless_str text)
{
	reply_bulk(of->req->reply, text);
}

/* Writes null for an empty text. */
static void write_name(const struct field_source *of, struct qless_str text)
{
	if (text.len != 0)
		write_text(of, text);
	else
		reply_null(of->req->reply);
}

static void write_number(const struct field_source *of, double number)
{
	if (isnan(number))
		reply_null(of->req->reply);
	else
		reply_short_double(of->req->reply, number);
}

static void write_jid(const struct field_source *of)
{
	write_text(of, of->info.jid);
}

static void write_state(const struct field_source *of)
{
	write_text(of, job_state_word(of->req, of->job, &of->info));
}

static void write_klass(const struct field_source *of)
{
	write_text(of, of->info.klass);
}

static void write_queue(const struct field_source *of)
{
	struct qless_str queue;

	if (job_queue_find(of->req->engine, of->job, &of->info, &queue))
		write_text(of, queue);
	else
		reply_null(of->req->reply);
}

static void write_data(const struct field_source *of)
{
	job_fields_write_data(of->req, &of->info);
}

static void write_priority(const struct field_source *of)
{
	write_number(of, of->info.priority);
}

static void write_retries(const struct field_source *of)
{
	write_number(of, of->info.retries);
}

static void write_remaining(const struct field_source *of)
{
	write_number(of, of->info.remaining);
}

static void write_tracked(const struct field_source *of)
{
	reply_boolean(of->req->reply, of->info.tracked);
}

static void write_since(const struct field_source *of)
{
	write_number(of, of->info.time);
}

static void write_due(const struct field_source *of)
{
	write_number(of, view_job_due(of->job));
}

/* ---- the past ---- */

static struct job_past past_of(const struct field_source *of)
{
	struct job_past past;

	job_past_read(of->job, &of->info, &past);
	return past;
}

static void write_created(const struct field_source *of)
{
	write_number(of, past_of(of).created);
}

static void write_updated(const struct field_source *of)
{
	write_number(of, past_of(of).updated);
}

static void write_attempts(const struct field_source *of)
{
	write_number(of, past_of(of).attempts);
}

/* ---- the run ---- */

static bool is_running(const struct field_source *of)
{
	return of->info.state == QLESS_RUNNING;
}

static void write_worker(const struct field_source *of)
{
	write_name(of, is_running(of) ? of->info.worker : STR(""));
}

static void write_expires(const struct field_source *of)
{
	write_number(of, is_running(of) ? of->info.expires : NAN);
}

static void write_lock(const struct field_source *of)
{
	if (is_running(of) && of->info.lock != 0)
		reply_integer(of->req->reply, (int64_t)of->info.lock);
	else
		reply_null(of->req->reply);
}

/* ---- the last failure ---- */

static void write_group(const struct field_source *of)
{
	write_name(of, of->info.has_failure ? of->info.failure.group : STR(""));
}

static void write_message(const struct field_source *of)
{
	if (of->info.has_failure)
		write_text(of, of->info.failure.message);
	else
		reply_null(of->req->reply);
}

static void write_failed_at(const struct field_source *of)
{
	write_number(of, of->info.has_failure ? of->info.failure.when : NAN);
}

/* ---- the account ---- */

/* Writes null for a text that is missing. */
static void write_optional(const struct field_source *of, struct qless_str text)
{
	if (text.ptr != NULL)
		write_text(of, text);
	else
		reply_null(of->req->reply);
}

static bool is_started(const struct field_source *of)
{
	return of->account.is_started && is_running(of);
}

static void write_started(const struct field_source *of)
{
	write_number(of, is_started(of) ? of->account.started : NAN);
}

static void write_pid(const struct field_source *of)
{
	if (is_started(of) && of->account.pid != 0)
		reply_integer(of->req->reply, of->account.pid);
	else
		reply_null(of->req->reply);
}

static void write_node(const struct field_source *of)
{
	write_optional(of, is_started(of) ? of->account.node : str_make(NULL, 0));
}

static void write_progress(const struct field_source *of)
{
	write_number(of, of->account.has_progress ? of->account.percent : NAN);
}

static void write_note(const struct field_source *of)
{
	write_optional(of, of->account.note);
}

static void write_result(const struct field_source *of)
{
	write_optional(of, of->account.result);
}

static void write_error(const struct field_source *of)
{
	write_optional(of, of->account.error);
}

static void write_job(const struct field_source *of)
{
	struct buf *json = &of->req->scratch->json;

	buf_clear(json);
	json_append_job(json, of->job, of->req->style, of->req->now);
	write_text(of, buf_str(json));
}

/* ---- all fields ---- */

struct job_field {
	struct qless_str name;
	void (*write)(const struct field_source *of);
};

static const struct job_field all_fields[] = {
	{ STR_INIT("jid"), write_jid },		{ STR_INIT("state"), write_state },
	{ STR_INIT("klass"), write_klass },	{ STR_INIT("queue"), write_queue },
	{ STR_INIT("data"), write_data },	{ STR_INIT("priority"), write_priority },
	{ STR_INIT("retries"), write_retries }, { STR_INIT("remaining"), write_remaining },
	{ STR_INIT("worker"), write_worker },	{ STR_INIT("expires"), write_expires },
	{ STR_INIT("lock"), write_lock },	{ STR_INIT("since"), write_since },
	{ STR_INIT("due"), write_due },		{ STR_INIT("created"), write_created },
	{ STR_INIT("updated"), write_updated }, { STR_INIT("attempts"), write_attempts },
	{ STR_INIT("tracked"), write_tracked }, { STR_INIT("group"), write_group },
	{ STR_INIT("message"), write_message }, { STR_INIT("failed-at"), write_failed_at },
	{ STR_INIT("started"), write_started }, { STR_INIT("pid"), write_pid },
	{ STR_INIT("node"), write_node },	{ STR_INIT("progress"), write_progress },
	{ STR_INIT("note"), write_note },	{ STR_INIT("result"), write_result },
	{ STR_INIT("error"), write_error },	{ STR_INIT("job"), write_job },
};

#define FIELD_COUNT (sizeof all_fields / sizeof *all_fields)

static_assert(FIELD_COUNT <= JOB_FIELDS_MAX, "a selection has room for all fields");

static int fail_unknown(struct request *req, struct qless_str name)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		nearest_try(&nearest, all_fields[i].name);
	if (nearest.found.ptr == NULL)
		return request_fail(req, QLESS_EBADARG,
				    "WITH must name fields of a job, such as \"jid\" and "
				    "\"worker\"; found \"%S\"",
				    name);
	return request_fail(req, QLESS_EBADARG,
			    "WITH must name fields of a job; found \"%S\", did you mean \"%S\"?",
			    name, nearest.found);
}

int job_fields_add(struct request *req, struct job_fields *fields, struct qless_str name)
{
	size_t i = 0;

	while (i < FIELD_COUNT && !str_equal_nocase(all_fields[i].name, name))
		i++;
	if (i == FIELD_COUNT)
		return fail_unknown(req, name);
	for (size_t k = 0; k < fields->count; k++) {
		if (fields->items[k] == i)
			return request_fail(req, QLESS_EBADARG, "WITH names field \"%S\" twice",
					    name);
	}
	fields->items[fields->count++] = (unsigned char)i;
	return 0;
}

void job_fields_write(struct request *req, const struct job_fields *fields,
		      const struct qless_job *job)
{
	struct field_source of = { .req = req, .job = job };

	qless_job_read(job, &of.info);
	if (!qless_job_account(job, &of.account))
		of.account = (struct qless_account){ .is_started = false };
	reply_map(req->reply, fields->count);
	for (size_t i = 0; i < fields->count; i++) {
		const struct job_field *field = &all_fields[fields->items[i]];

		reply_bulk(req->reply, field->name);
		field->write(&of);
	}
}
