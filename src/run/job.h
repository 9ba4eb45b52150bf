/*
 * A job as the server hands it out: a JSON object, and what qless-run needs of it.
 */
#ifndef RUN_JOB_H
#define RUN_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

struct job {
	struct qless_str json; /* the object, byte for byte as the server wrote it */
	/* Decoded: any bytes. */
	struct buf jid, klass, queue, data, worker, state;
	struct qless_str tags; /* a JSON array in `json` */
	int64_t priority, retries, remaining;
	uint64_t lock;	  /* number of the hand-out */
	double runtime_s; /* maximum duration of a run; 0 if there is none */
	bool is_raw;	  /* the data is bytes, not JSON */
	bool has_backoff; /* the server knows how long the job waits before it is tried again */
};

/* Reads a job of a text that json_read_check() accepted, and copies it. Returns false, with nothing
 * to free, if it is not the object of a job. */
bool job_init(struct job *job, struct qless_str json);
void job_done(struct job *job);

/* 1 for the first run. */
int64_t job_attempt(const struct job *job);

#endif
