#include "embed/job.h"

#include <stdlib.h>
#include <yyjson.h>

#include "embed/failure.h"
#include "embed/store.h"
#include "util/mem.h"
#include "util/str.h"

struct qless_store_job *job_parse(struct qless_str json)
{
	yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
	struct qless_store_job *job;

	if (doc == NULL)
		return NULL;
	if (!yyjson_is_str(yyjson_obj_get(yyjson_doc_get_root(doc), "jid"))) {
		yyjson_doc_free(doc);
		return NULL;
	}
	job = mem_zalloc(sizeof *job);
	job->doc = doc;
	job->json = mem_dup(json.ptr, json.len);
	job->json_len = json.len;
	return job;
}

void job_destroy(struct qless_store_job *job)
{
	yyjson_doc_free(job->doc);
	free(job->json);
	free(job);
}

struct qless_str job_text(const struct qless_store_job *job, const char *name)
{
	yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(job->doc), name);

	if (!yyjson_is_str(value))
		return STR("");
	return str_make(yyjson_get_str(value), yyjson_get_len(value));
}

static int64_t read_integer(const struct qless_store_job *job, const char *name)
{
	return yyjson_get_sint(yyjson_obj_get(yyjson_doc_get_root(job->doc), name));
}

struct qless_str qless_store_job_jid(const struct qless_store_job *job)
{
	return job_text(job, "jid");
}

struct qless_str qless_store_job_queue(const struct qless_store_job *job)
{
	return job_text(job, "queue");
}

struct qless_str qless_store_job_klass(const struct qless_store_job *job)
{
	return job_text(job, "klass");
}

struct qless_str qless_store_job_state(const struct qless_store_job *job)
{
	return job_text(job, "state");
}

struct qless_str qless_store_job_data(const struct qless_store_job *job)
{
	return job_text(job, "data");
}

struct qless_str qless_store_job_json(const struct qless_store_job *job)
{
	return str_make(job->json, job->json_len);
}

int64_t qless_store_job_lock(const struct qless_store_job *job)
{
	return read_integer(job, "lock");
}

int64_t qless_store_job_retries_left(const struct qless_store_job *job)
{
	return read_integer(job, "remaining");
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
