/*
 * A job on its way to an endpoint: what is read of it, what is posted, and what is told of it.
 */
#ifndef SERVER_PUSH_JOB_H
#define SERVER_PUSH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "push/verdict.h"
#include "util/buf.h"
#include "util/str.h"

struct endpoint;
struct post_answer;

/* A job that BPOP has handed out. One block of memory has its texts. */
struct taken_job {
	char *memory;
	struct qless_str jid;
	struct qless_str klass;
	struct qless_str queue;
	struct qless_str data; /* text; that of a raw job is not kept */
	bool is_raw;
	bool has_backoff; /* of its own */
	uint64_t lock;
	double expires;	  /* seconds since 1970 */
	unsigned attempt; /* from 1 */
};

typedef void taken_job_fn(void *arg, struct taken_job *job);

/* Reads the reply of BPOP, an array of jobs in JSON, and calls `fn` with each. It takes the job.
 * Returns false if this is no such array. */
bool taken_jobs_read(struct qless_str json, taken_job_fn *fn, void *arg);
void taken_job_done(struct taken_job *job);

/* Appends the body of the request. Returns false if the data is no JSON. */
bool push_body_append(const struct taken_job *job, struct buf *out);

/* The headers of a request, each with a NUL at its end. */
struct push_headers {
	struct buf text;
	const char **lines;
	size_t count;
};

/* Makes the headers of a request. `job` is NULL for a test. */
void push_headers_init(struct push_headers *headers, const struct endpoint *endpoint,
		       const struct taken_job *job, struct qless_str body);
void push_headers_done(struct push_headers *headers);

/* The outcome that the worker tells of a job. */
struct push_outcome {
	enum verdict_kind kind;
	double delay_s;	  /* of a retry; negative: the backoff of the job */
	struct buf group; /* of a failure, or of the last retry */
	struct buf message;
	struct buf result; /* or the body that explains the failure */
};

struct push_bounds {
	size_t max_result; /* bytes */
	double max_retry_after_s;
	int64_t now_s; /* since 1970 */
};

void push_outcome_done(struct push_outcome *outcome);
/* Decides by an answer. */
void push_outcome_decide(struct push_outcome *outcome, const struct taken_job *job,
			 const struct post_answer *answer, const struct push_bounds *bounds);
/* The data is no JSON. */
void push_outcome_refuse(struct push_outcome *outcome);

/* The arguments of a command that tells the outcome: COMPLETE, RETRY or FAIL. */
#define PUSH_ARGS_MAX 10
struct push_command {
	struct qless_str argv[PUSH_ARGS_MAX];
	int argc;
	char lock[32];
	char delay[32];
};

void push_command_init(struct push_command *command, const struct taken_job *job,
		       struct qless_str worker, const struct push_outcome *outcome);

#endif
