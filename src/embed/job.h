/*
 * Jobs as programs see them: the JSON of a job, and the worker that has it.
 */
#ifndef EMBED_JOB_H
#define EMBED_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "qless_store.h"
#include "util/buf.h"

struct qless_store_worker;

struct qless_store_job {
	struct qless_store_worker *worker; /* NULL: the job was only read */
	/* The JSON, and members of it: any bytes, and a NUL after them. */
	struct buf json, jid, klass, queue, state, data, worker_name;
	int64_t lock;
	int64_t retries_left;
	atomic_bool is_lost;

	/* Guarded by the mutex of the worker. */
	bool has_ended;	   /* the worker has completed, failed or retried it */
	bool is_forgotten; /* the program has freed it */
	TAILQ_ENTRY(qless_store_job) link;
};

TAILQ_HEAD(job_list, qless_store_job);

/* Makes a job of the JSON of one. Copies the text. Returns NULL if that is not JSON of a job. The
 * data of a raw job become the bytes that they stand for. */
struct qless_store_job *job_parse(struct qless_str json);
void job_destroy(struct qless_store_job *job);

#endif
