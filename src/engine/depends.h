/*
 * Dependencies: jobs that wait for others to be complete.
 */
#ifndef ENGINE_DEPENDS_H
#define ENGINE_DEPENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"
#include "util/skiplist.h"

/* One direction of a dependency. The twin is in the other job's list, and leads back. */
struct edge {
	struct edge *twin;
	struct qless_job *job; /* the other job */
	struct skipnode node;
};

/* Make `job` depend on those of the jids that are jobs not yet complete. */
void depends_add(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		 size_t count);
bool depends_is_open(const struct qless_job *job);
/* Remove every dependency of `job` that is not in the list. */
void depends_keep_only(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		       size_t count);
void depends_drop_all(struct qless *q, struct qless_job *job);
/* The job is complete or gone: those that waited for nothing else go on. */
void depends_satisfy(struct qless *q, struct qless_job *job, double now);
/* Forget what depends on the job, without letting it go on. */
void depends_forget_dependents(struct qless *q, struct qless_job *job);

/* Repair the dependencies of a job; returns how many repairs were made. */
size_t depends_resolve(struct qless *q, struct qless_job *job);
/* When that has been done for all jobs: go on with those that wait for nothing. */
size_t depends_settle(struct qless *q, struct qless_job *job);

#endif
