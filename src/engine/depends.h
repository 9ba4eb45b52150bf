/*
 * Dependencies: jobs that wait until others complete.
 */
#ifndef ENGINE_DEPENDS_H
#define ENGINE_DEPENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"
#include "util/skiplist.h"

/* One direction of a dependency. Its twin is in the list of the other job. */
struct edge {
	struct edge *twin;
	struct qless_job *job; /* the other job */
	struct skipnode node;
};

/* Make `job` depend on each jid that is a job and is not complete. */
void depends_add(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		 size_t count);
bool depends_is_open(const struct qless_job *job);
/* Return the number of jobs that a job waits for. */
size_t depends_count(const struct qless_job *job);
/* Check that the jobs may get this many more dependents: `jobs` jobs, of which the first is `jid`.
 * Jobs that are already in the list do not count. Returns 0, or QLESS_ELIMIT with an error
 * recorded.
 */
int depends_check_more(struct qless *q, struct qless_str jid, const struct qless_str *jids,
		       size_t count, size_t jobs);
/* Remove the dependencies of `job` that are not in the list. */
void depends_keep_only(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		       size_t count);
void depends_drop_all(struct qless *q, struct qless_job *job);
/* Release the jobs that waited only for this one, which is complete or gone. */
void depends_satisfy(struct qless *q, struct qless_job *job, double now);
/* Remove the job from the dependencies of others, without releasing them. */
void depends_forget_dependents(struct qless *q, struct qless_job *job);

/* Repair the dependencies of a job. Returns the number of repairs. */
size_t depends_resolve(struct qless *q, struct qless_job *job);
/* Release the job if it waits for nothing; after depends_resolve() for all jobs. Returns the number
 * of repairs. */
size_t depends_settle(struct qless *q, struct qless_job *job);

#endif
