#include "engine/carried.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account.h"
#include "engine/terms.h"
#include "util/mem.h"

/* The extra part moves after the struct. */
struct job_carried *job_make_carried(struct qless_job *job, size_t more)
{
	struct job_carried *carried = mem_alloc(sizeof *carried + sizeof(struct job_extra) + more);
	struct job_extra *extra, *moved;

	assert(!(job->flags & JOB_CARRIES));
	*carried = (struct job_carried){ .terms = NULL };
	moved = (struct job_extra *)(void *)(carried + 1);
	job->flags |= JOB_CARRIES;
	if (job->parts == NULL) {
		*moved = (struct job_extra){ .due = NAN };
		job->parts = moved;
		return carried;
	}
	extra = job_extra(job);
	if (extra != NULL) {
		*moved = *extra;
		free(extra);
	} else {
		*moved = (struct job_extra){ .due = NAN };
	}
	job_set_extra(job, moved);
	return carried;
}

struct job_carried *job_need_carried(struct qless_job *job)
{
	return job->flags & JOB_CARRIES ? job_carried(job) : job_make_carried(job, 0);
}

void job_free_carried(struct job_carried *carried)
{
	if (!unique_keep_key(&carried->unique))
		free(carried);
}

bool job_carries_nothing(const struct qless_job *job)
{
	const struct job_carried *carried = job_carried(job);

	return carried->unique.key == NULL && carried->terms == NULL && carried->account == NULL;
}

void job_release_carried(struct qless_job *job)
{
	struct job_carried *carried = job_carried(job);
	struct job_extra *extra;

	if (!job_carries_nothing(job))
		return;
	extra = mem_alloc(sizeof *extra);
	memcpy(extra, job_extra(job), sizeof *extra);
	job_free_carried(carried);
	job_set_extra(job, extra);
	job->flags &= (uint8_t)~JOB_CARRIES;
	job_release_extra(job);
}

struct job_terms *job_need_terms(struct qless_job *job)
{
	struct job_carried *carried = job_need_carried(job);

	if (carried->terms == NULL)
		carried->terms = terms_new();
	return carried->terms;
}

struct job_account *job_need_account(struct qless_job *job)
{
	struct job_carried *carried = job_need_carried(job);

	if (carried->account == NULL)
		carried->account = account_new();
	return carried->account;
}

void job_release_terms(struct qless *q, struct qless_job *job)
{
	struct job_terms *terms = job_terms(job);

	if (terms == NULL || !terms_are_empty(terms))
		return;
	terms_free(q, terms);
	job_carried(job)->terms = NULL;
	job_release_carried(job);
}

void job_release_account(struct qless *q, struct qless_job *job)
{
	struct job_account *account = job_account(job);

	if (account == NULL || !account_is_empty(account))
		return;
	account_free(q, account);
	job_carried(job)->account = NULL;
	job_release_carried(job);
}

void job_drop_carried(struct qless *q, struct qless_job *job)
{
	struct job_carried *carried;

	if (!(job->flags & JOB_CARRIES))
		return;
	carried = job_carried(job);
	unique_release(q, job, &carried->unique);
	if (carried->terms != NULL)
		terms_free(q, carried->terms);
	if (carried->account != NULL)
		account_free(q, carried->account);
	carried->terms = NULL;
	carried->account = NULL;
	job_release_carried(job);
}

void job_discard_carried(struct qless_job *job)
{
	struct job_carried *carried;

	if (!(job->flags & JOB_CARRIES))
		return;
	carried = job_carried(job);
	terms_discard(carried->terms);
	account_discard(carried->account);
}

size_t job_carried_bytes(const struct qless_job *job)
{
	size_t bytes = 0;

	if (!(job->flags & JOB_CARRIES))
		return 0;
	if (job_terms(job) != NULL)
		bytes += terms_bytes(job_terms(job));
	if (job_account(job) != NULL)
		bytes += account_bytes(job_account(job));
	return sizeof(struct job_carried) + unique_claim_bytes(&job_carried(job)->unique) + bytes;
}
