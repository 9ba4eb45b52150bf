/*
 * The terms of a job: what the options of its put ask for, besides what every job has.
 */
#ifndef ENGINE_TERMS_H
#define ENGINE_TERMS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "qless.h"
#include "util/heap.h"

struct saver;
struct state_loader;

struct job_terms {
	struct qless_backoff backoff;
	double runtime; /* 0: that of the queue */
	double retain;	/* if has_retain: seconds; INFINITY: until it is deleted */
	bool has_retain;
	bool is_raw; /* the data is bytes, and not JSON */
	/* While the job is complete and retained: */
	struct retained *retained;
	/* While the job runs under a runtime: */
	struct heap_node run;  /* in qless.runs; key: when the run is over */
	struct qless_job *job; /* that has the terms */
	double allowed;	       /* seconds that the run may take; 0: any */
	double to_start; /* seconds within which JOB.START must come; 0: it came, or need not */
};

/* Whether terms are a unique key and nothing else, as in most puts that have terms. */
static inline bool terms_are_key(const struct qless_terms *terms)
{
	static const struct qless_terms key = { .has_unique = true };

	static_assert(offsetof(struct qless_terms, unique) == 8, "what the terms are comes first");
	return memcmp(terms, &key, offsetof(struct qless_terms, unique)) == 0;
}

struct job_terms *terms_new(void);
/* Whether nothing is in it, so that the job need not have it. */
bool terms_are_empty(const struct job_terms *terms);
void terms_free(struct qless *q, struct job_terms *terms);
/* Free it for qless_free_some(), without telling the engine. NULL is a no-op. */
void terms_discard(struct job_terms *terms);
size_t terms_bytes(const struct job_terms *terms);

/* Check what a caller gives; NULL is valid. Returns 0, or a code with the error recorded. */
int terms_check(struct qless *q, enum qless_operation operation, const struct qless_terms *terms);
/* Give a job that is put the terms of the put. Terms that are not given stay, but for is_raw, which
 * is about the data: see terms_apply_data(). */
void terms_apply(struct qless *q, struct qless_job *job, const struct qless_terms *terms);

/* Note what the data of a put is, which has these terms, or NULL. */
void terms_apply_data(struct qless *q, struct qless_job *job, const struct qless_terms *terms);

/* Whether the data of a job is bytes, and not JSON. */
bool job_is_raw(const struct qless_job *job);

/* The delay before the next attempt of a job, which has used up a retry for it; 0 if it has no
 * backoff. It depends on the jid and the attempt alone. */
double job_backoff(const struct qless_job *job);

/* Check the terms that take the place of others. An empty key takes the key away. */
int terms_check_change(struct qless *q, enum qless_operation operation,
		       const struct qless_terms *change);
/* The terms after the change, as terms_dup() returns them. `old` may be NULL. */
struct qless_terms *terms_change(const struct qless_terms *old, const struct qless_terms *change);

/* A copy of the terms that a job would have, for free(); NULL if it would have none. */
struct qless_terms *terms_dup(const struct qless_terms *from);

/* The terms of a job or a recurring job in a snapshot, see state.c. terms_load() returns false on
 * failure. */
void terms_save(struct saver *s, const struct qless_terms *terms);
bool terms_load(struct state_loader *l, struct qless_terms *ret_terms);

#endif
