#include "run/job.h"

#include <math.h>
#include <stdlib.h>

#include "client/job_data.h"
#include "util/json_read.h"
#include "util/mem.h"

static bool read_text(struct qless_str object, const char *name, struct buf *out)
{
	struct qless_str value;

	return json_read_find(object, name, &value) &&
	       json_read_string(value, JSON_ESCAPES_BYTES, out);
}

/* Whole numbers up to 2^53 are exact. Others, and names that are missing, leave the result alone.
 */
static void read_number(struct qless_str object, const char *name, double *ret_number)
{
	struct qless_str value;

	if (json_read_find(object, name, &value))
		json_read_number(value, ret_number);
}

static int64_t read_integer(struct qless_str object, const char *name)
{
	double number = 0;

	read_number(object, name, &number);
	return fabs(number) <= 0x1p53 ? (int64_t)number : 0;
}

bool job_init(struct job *job, struct qless_str json)
{
	struct qless_str ignored;

	*job = (struct job){ .json = str_make(mem_dup(json.ptr, json.len), json.len) };
	buf_init(&job->jid, BUF_NO_MAX);
	buf_init(&job->klass, BUF_NO_MAX);
	buf_init(&job->queue, BUF_NO_MAX);
	buf_init(&job->data, BUF_NO_MAX);
	buf_init(&job->worker, BUF_NO_MAX);
	buf_init(&job->state, BUF_NO_MAX);
	if (!read_text(job->json, "jid", &job->jid) ||
	    !read_text(job->json, "klass", &job->klass) ||
	    !read_text(job->json, "queue", &job->queue) ||
	    !job_data_read(job->json, &job->data, &job->is_raw)) {
		job_done(job);
		return false;
	}
	read_text(job->json, "worker", &job->worker);
	read_text(job->json, "state", &job->state);
	if (!json_read_find(job->json, "tags", &job->tags))
		job->tags = STR("[]");
	job->priority = read_integer(job->json, "priority");
	job->retries = read_integer(job->json, "retries");
	job->remaining = read_integer(job->json, "remaining");
	job->lock = (uint64_t)read_integer(job->json, "lock");
	read_number(job->json, "runtime", &job->runtime_s);
	job->has_backoff = json_read_find(job->json, "backoff", &ignored);
	return true;
}

void job_done(struct job *job)
{
	free((void *)(uintptr_t)job->json.ptr);
	buf_done(&job->jid);
	buf_done(&job->klass);
	buf_done(&job->queue);
	buf_done(&job->data);
	buf_done(&job->worker);
	buf_done(&job->state);
}

int64_t job_attempt(const struct job *job)
{
	return job->retries > job->remaining ? job->retries - job->remaining + 1 : 1;
}
