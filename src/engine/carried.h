/*
 * Parts that few jobs carry: the claim to a unique key, the terms of their put, and the account
 * that their workers gave.
 *
 * A job that carries something has the flag JOB_CARRIES. Its extra part then has a struct
 * job_carried before it, in the same allocation:
 *
 *	struct job_carried | struct job_extra
 *	                     ▲ job_extra(job)
 *
 * The claim is in it, because most jobs that carry something carry just that. A key that is new may
 * follow in the same allocation, see unique.c. A job that carries nothing has none of them, and
 * takes no byte more.
 */
#ifndef ENGINE_CARRIED_H
#define ENGINE_CARRIED_H

#include <assert.h>
#include <stdbool.h>

#include "engine/job.h"
#include "engine/unique.h"

struct job_account;
struct job_terms;

/* At least one of them is not NULL, or the claim has a key. */
struct job_carried {
	struct unique_claim unique;
	struct job_terms *terms;
	struct job_account *account;
};

/* The struct of a job with the flag JOB_CARRIES. */
static inline struct job_carried *job_carried(const struct qless_job *job)
{
	char *extra = (char *)job_extra(job);

	assert((job->flags & JOB_CARRIES) && extra != NULL);
	return (struct job_carried *)(void *)(extra - sizeof(struct job_carried));
}

/* Both return NULL if the job has none. */
static inline struct job_terms *job_terms(const struct qless_job *job)
{
	if (!(job->flags & JOB_CARRIES))
		return NULL;
	return job_carried(job)->terms;
}

static inline struct job_account *job_account(const struct qless_job *job)
{
	if (!(job->flags & JOB_CARRIES))
		return NULL;
	return job_carried(job)->account;
}

/* Make the struct, with nothing in it, unless the job has one. */
struct job_carried *job_need_carried(struct qless_job *job);
/* Make the struct of a job that has none, with room for `more` bytes after its extra part. */
struct job_carried *job_make_carried(struct qless_job *job, size_t more);
/* Free its memory and that of the extra part, without what they point to. */
void job_free_carried(struct job_carried *carried);
/* Whether nothing is in it. */
bool job_carries_nothing(const struct qless_job *job);
/* Give it back if nothing is in it. */
void job_release_carried(struct qless_job *job);
/* Make the terms or the account, with nothing in it, unless the job has one. */
struct job_terms *job_need_terms(struct qless_job *job);
struct job_account *job_need_account(struct qless_job *job);
/* Free the terms or the account of the job if nothing is in it. */
void job_release_terms(struct qless *q, struct qless_job *job);
void job_release_account(struct qless *q, struct qless_job *job);
/* Free all that the job carries, because it is deleted. */
void job_drop_carried(struct qless *q, struct qless_job *job);
/* Free what the job carries, for qless_free_some(): nothing else of the engine is kept up to date.
 */
void job_discard_carried(struct qless_job *job);

/* Bytes that the job takes for what it carries. */
size_t job_carried_bytes(const struct qless_job *job);

#endif
