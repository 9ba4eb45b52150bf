/*
 * Jobs as programs see them: the JSON of a job, and the worker that has it.
 */
#ifndef EMBED_JOB_H
#define EMBED_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "qless_store.h"

struct qless_store_worker;
struct yyjson_doc;

struct qless_store_job {
	struct qless_store_worker *worker; /* NULL: the job was only read */
	struct yyjson_doc *doc;
	char *json; /* the text, with a NUL */
	size_t json_len;
	atomic_bool is_lost;

	/* Guarded by the mutex of the worker. */
	bool has_ended;	   /* the worker has completed, failed or retried it */
	bool is_forgotten; /* the program has freed it */
	TAILQ_ENTRY(qless_store_job) link;
};

TAILQ_HEAD(job_list, qless_store_job);

/* Makes a job of the JSON of one. Copies the text. Returns NULL if that is not JSON of a job. */
struct qless_store_job *job_parse(struct qless_str json);
void job_destroy(struct qless_store_job *job);

/* Returns a text of the job; empty if there is none of that name. */
struct qless_str job_text(const struct qless_store_job *job, const char *name);

#endif
