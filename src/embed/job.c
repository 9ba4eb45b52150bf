#include "embed/job.h"

#include <math.h>
#include <stdlib.h>

#include "client/job_data.h"
#include "embed/failure.h"
#include "embed/store.h"
#include "util/json_read.h"
#include "util/mem.h"
#include "util/str.h"

/* Leaves the text empty if the member is missing or no string. */
static bool read_text(struct qless_str object, const char *name, struct buf *out)
{
	struct qless_str value;
	bool is_text = json_read_find(object, name, &value) &&
		       json_read_string(value, JSON_ESCAPES_BYTES, out);

	buf_cstr(out);
	return is_text;
}

/* Whole numbers up to 2^53 are exact. Others count as 0, and so does a member that is missing. */
static int64_t read_integer(struct qless_str object, const char *name)
{
	struct qless_str value;
	double number = 0;

	if (json_read_find(object, name, &value))
		json_read_number(value, &number);
	return fabs(number) <= 0x1p53 ? (int64_t)number : 0;
}

struct qless_store_job *job_parse(struct qless_str json)
{
	struct qless_store_job *job;
	struct qless_str object;
	bool is_raw;

	if (!json_read_check(json, &object))
		return NULL;
	job = mem_zalloc(sizeof *job);
	buf_init(&job->json, BUF_NO_MAX);
	buf_init(&job->jid, BUF_NO_MAX);
	buf_init(&job->klass, BUF_NO_MAX);
	buf_init(&job->queue, BUF_NO_MAX);
	buf_init(&job->state, BUF_NO_MAX);
	buf_init(&job->data, BUF_NO_MAX);
	buf_init(&job->worker_name, BUF_NO_MAX);
	buf_append_str(&job->json, json);
	buf_cstr(&job->json);
	if (!read_text(object, "jid", &job->jid) || !job_data_read(object, &job->data, &is_raw)) {
		job_destroy(job);
		return NULL;
	}
	buf_cstr(&job->data);
	read_text(object, "klass", &job->klass);
	read_text(object, "queue", &job->queue);
	read_text(object, "state", &job->state);
	read_text(object, "worker", &job->worker_name);
	job->lock = read_integer(object, "lock");
	job->retries_left = read_integer(object, "remaining");
	return job;
}

void job_destroy(struct qless_store_job *job)
{
	buf_done(&job->json);
	buf_done(&job->jid);
	buf_done(&job->klass);
	buf_done(&job->queue);
	buf_done(&job->state);
	buf_done(&job->data);
	buf_done(&job->worker_name);
	free(job);
}

struct qless_str qless_store_job_jid(const struct qless_store_job *job)
{
	return buf_str(&job->jid);
}

struct qless_str qless_store_job_queue(const struct qless_store_job *job)
{
	return buf_str(&job->queue);
}

struct qless_str qless_store_job_klass(const struct qless_store_job *job)
{
	return buf_str(&job->klass);
}

struct qless_str qless_store_job_state(const struct qless_store_job *job)
{
	return buf_str(&job->state);
}

struct qless_str qless_store_job_data(const struct qless_store_job *job)
{
	return buf_str(&job->data);
}

struct qless_str qless_store_job_json(const struct qless_store_job *job)
{
	return buf_str(&job->json);
}

int64_t qless_store_job_lock(const struct qless_store_job *job)
{
	return job->lock;
}

int64_t qless_store_job_retries_left(const struct qless_store_job *job)
{
	return job->retries_left;
}

int qless_store_get(struct qless_store *store, struct qless_str jid,
		    struct qless_store_job **ret_job, struct qless_store_error *error)
{
	const struct qless_str argv[] = { STR_INIT("GET"), jid };
	struct client_reply reply;
	int rc = store_check_owner(store, error);

	if (rc == 0)
		rc = store_insist(store, argv, 2, &reply, error);
	if (rc < 0)
		return rc;
	if (reply.type == CLIENT_REPLY_NULL)
		return failure_none(error, 0);
	*ret_job = job_parse(client_reply_str(&reply));
	client_reply_done(&reply);
	if (*ret_job != NULL)
		return failure_none(error, 1);
	return failure_set(error, QLESS_STORE_ELOST, "the reply to GET is not the JSON of a job");
}
