/*
 * Any text as the jobs that the server posts to an endpoint, and any answer.
 *
 * The input is two bytes of a status, and three texts with a NUL between them: an array of jobs in
 * JSON, the value of Retry-After, and the body of the answer.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "command/endpoints.h"
#include "server/push_client.h"
#include "server/push_job.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/utf8.h"

#define MAX_RESULT	100
#define MAX_RETRY_AFTER 3600
#define MAX_MESSAGE	400
#define JOB_MEMBERS	5 /* id, class, args or data, queue, and attempt */

static struct qless_str take(struct qless_str *rest)
{
	const char *end = rest->len != 0 ? memchr(rest->ptr, '\0', rest->len) : NULL;
	struct qless_str text = *rest;

	if (end == NULL) {
		*rest = str_make(rest->ptr + rest->len, 0);
		return text;
	}
	text.len = (size_t)(end - text.ptr);
	*rest = str_make(end + 1, rest->len - text.len - 1);
	return text;
}

static void check_member(yyjson_val *object, const char *name, struct qless_str text)
{
	yyjson_val *value = yyjson_obj_get(object, name);

	assert(yyjson_is_str(value));
	assert(str_equal(str_make(yyjson_get_str(value), yyjson_get_len(value)), text));
}

/* The request is JSON, and tells of this job. */
static void check_body(const struct taken_job *job, struct qless_str body)
{
	yyjson_doc *doc = yyjson_read(body.ptr, body.len, YYJSON_READ_NOFLAG);
	yyjson_val *object = yyjson_doc_get_root(doc), *args;

	assert(yyjson_obj_size(object) == JOB_MEMBERS);
	check_member(object, "id", job->jid);
	check_member(object, "class", job->klass);
	check_member(object, "queue", job->queue);
	args = yyjson_obj_get(object, "args");
	assert(args != NULL ? yyjson_is_arr(args) : yyjson_obj_get(object, "data") != NULL);
	yyjson_doc_free(doc);
}

/* No jid and no data can end a line. */
static void check_headers(const struct taken_job *job, struct qless_str body)
{
	struct endpoint_header header = { STR_INIT("X-A"), STR_INIT("b") };
	struct endpoint endpoint = { .secret = STR("secret"),
				     .header_count = 1,
				     .headers = &header };
	struct push_headers headers;

	push_headers_init(&headers, &endpoint, job, body);
	assert(headers.count == 6);
	for (size_t i = 0; i < headers.count; i++) {
		const char *line = headers.lines[i];

		assert(strstr(line, ": ") != NULL);
		for (size_t k = 0; line[k] != '\0'; k++)
			assert(line[k] >= ' ' && line[k] <= '~');
	}
	push_headers_done(&headers);
}

static void check_command(const struct taken_job *job, const struct push_outcome *outcome)
{
	struct push_command command;

	push_command_init(&command, job, STR("worker"), outcome);
	assert(command.argc > 0 && command.argc <= PUSH_ARGS_MAX);
	assert(str_equal(command.argv[1], job->jid));
	assert(str_equal(command.argv[command.argc - 2], STR("LOCK")));
	for (int i = 0; i < command.argc; i++)
		assert(utf8_is_valid(command.argv[i]));
}

struct input {
	struct post_answer answer;
	size_t count; /* of jobs */
};

static void check_outcome(const struct taken_job *job, const struct post_answer *answer)
{
	struct push_bounds bounds = {
		.max_result = MAX_RESULT,
		.max_retry_after_s = MAX_RETRY_AFTER,
		.now_s = 1700000000,
	};
	struct push_outcome outcome = { .group = BUF_INIT(BUF_NO_MAX),
					.message = BUF_INIT(BUF_NO_MAX),
					.result = BUF_INIT(BUF_NO_MAX) };

	push_outcome_decide(&outcome, job, answer, &bounds);
	assert(outcome.result.len <= MAX_RESULT && outcome.message.len <= MAX_MESSAGE);
	assert((outcome.kind == PUSH_COMPLETE) == (outcome.group.len == 0));
	assert(outcome.delay_s == -1 || (outcome.kind == PUSH_RETRY && outcome.delay_s >= 0 &&
					 outcome.delay_s <= MAX_RETRY_AFTER));
	check_command(job, &outcome);
	push_outcome_refuse(&outcome);
	check_command(job, &outcome);
	push_outcome_done(&outcome);
}

static void check_job(void *arg, struct taken_job *job)
{
	struct input *input = arg;
	struct buf body = BUF_INIT(BUF_NO_MAX);

	input->count++;
	assert(job->attempt != 0);
	if (push_body_append(job, &body)) {
		check_body(job, buf_str(&body));
		check_headers(job, buf_str(&body));
	} else {
		assert(body.len == 0);
	}
	check_outcome(job, &input->answer);
	buf_done(&body);
	taken_job_done(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { .answer = { .error = "no answer" } };
	struct qless_str rest, jobs;
	char *copy;

	if (size < 2)
		return 0;
	input.answer.status = data[0] + 256 * (data[1] % 4);
	/* A block of exactly that size, so that a sanitizer notices reads beyond the end. */
	copy = mem_alloc(size - 2 + (size == 2));
	if (size != 2)
		memcpy(copy, data + 2, size - 2);
	rest = str_make(copy, size - 2);
	jobs = take(&rest);
	input.answer.retry_after = take(&rest);
	input.answer.body = rest;
	if (!taken_jobs_read(jobs, check_job, &input))
		assert(input.count == 0);
	free(copy);
	return 0;
}
