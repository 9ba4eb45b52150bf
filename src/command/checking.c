#include "command/checking.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "command/classic_int.h"
#include "command/term_options.h"
#include "command/work.h"
#include "util/container.h"
#include "util/mem.h"

/* The result of request_json_text() for a text. */
struct checked_text {
	int rc;
	enum json_kind kind;
	size_t error_at; /* of its message among all; there is one if rc is negative */
	size_t error_len;
};

struct checking {
	struct work work;
	struct checking_jobs jobs;
	size_t count;
	size_t checked;
	bool has_failed;
	struct checked_text *texts;
	struct buf errors;
	char (*keys)[QLESS_ARGS_KEY_BYTES]; /* NULL unless the jobs need keys */
};

bool checking_is_needed(const struct request *req, size_t first, size_t step)
{
	size_t bytes = 0;

	if (req->checking != NULL || req->parts_left != NULL || req->env->spread == NULL)
		return false;
	for (size_t i = first + step - 1; i < req->nargs; i += step)
		bytes += req->args[i].len;
	return bytes > CHECKING_BYTES;
}

/* ---- the parts ---- */

static const struct qless_str *job_args(const struct checking *c, const struct request *req,
					size_t i)
{
	return req->args + c->jobs.first + i * c->jobs.step;
}

static void check_text(struct checking *c, struct request *req, struct qless_str data, size_t i)
{
	struct checked_text *text = &c->texts[i];
	const struct buf *error = &req->scratch->error;

	text->rc = request_json_text(req, "data", data, &text->kind);
	if (text->rc == 0)
		return;
	c->has_failed = true;
	text->error_at = c->errors.len;
	text->error_len = error->len;
	buf_append_str(&c->errors, buf_str(error));
	req->is_said = false;
}

static void check_job(struct checking *c, struct request *req, size_t i)
{
	const struct qless_str *args = job_args(c, req, i);
	struct qless_str data = args[c->jobs.step - 1], key;

	if (!c->jobs.is_raw)
		check_text(c, req, data, i);
	if (!c->jobs.makes_keys || c->texts[i].rc < 0)
		return;
	key = term_unique_make(req, args[c->jobs.step - 2], data, c->jobs.is_raw);
	memcpy(c->keys[i], key.ptr, sizeof c->keys[i]);
}

/* Checks the jobs of a part. */
static void check_some(struct checking *c, struct request *req)
{
	size_t bytes = 0;

	while (c->checked < c->count && bytes < WORK_PART_BYTES) {
		bytes += job_args(c, req, c->checked)[c->jobs.step - 1].len;
		check_job(c, req, c->checked++);
		if (c->has_failed && c->jobs.ends_with_error)
			c->count = c->checked;
	}
}

/* The handler may replace the arguments of its request. */
static void run_command(const struct checking *c, const struct request *req)
{
	struct request again = *req;

	again.checking = c;
	if (again.form == REQUEST_NATIVE)
		again.row->handler(&again);
	else
		classic_run(&again);
}

static bool go_on(struct work *work, struct request *req)
{
	struct checking *c = container_of(work, struct checking, work);

	if (c->work.needs_admission) {
		run_command(c, req);
		return false;
	}
	check_some(c, req);
	c->work.needs_admission = c->checked == c->count;
	return true;
}

static void free_checking(struct work *work)
{
	struct checking *c = container_of(work, struct checking, work);

	free(c->texts);
	free(c->keys);
	buf_done(&c->errors);
	free(c);
}

void checking_begin(struct request *req, const struct checking_jobs *jobs)
{
	static const struct work_ops ops = { go_on, free_checking };
	struct checking *c = mem_zalloc(sizeof *c);

	assert(jobs->step >= 2 && (req->nargs - jobs->first) % jobs->step == 0);
	c->work.ops = &ops;
	c->jobs = *jobs;
	c->count = (req->nargs - jobs->first) / jobs->step;
	c->texts = mem_zalloc(c->count * sizeof *c->texts);
	buf_init(&c->errors, BUF_NO_MAX);
	if (jobs->makes_keys)
		c->keys = mem_realloc_array(NULL, c->count, sizeof *c->keys);
	work_begin(req, &c->work);
}

/* ---- the results ---- */

int checking_recall(struct request *req, size_t i, enum json_kind *ret_kind)
{
	const struct checking *c = req->checking;
	const struct checked_text *text = &c->texts[i];
	struct buf *error = &req->scratch->error;

	assert(i < c->checked);
	req->scratch->flat_text.ptr = NULL;
	*ret_kind = text->kind;
	if (text->rc < 0) {
		buf_clear(error);
		buf_append(error, buf_data(&c->errors) + text->error_at, text->error_len);
		req->is_said = true;
	}
	return text->rc;
}

struct qless_str checking_key(const struct request *req, size_t i)
{
	const struct checking *c = req->checking;

	assert(i < c->checked && c->keys != NULL);
	return str_make(c->keys[i], sizeof c->keys[i]);
}
