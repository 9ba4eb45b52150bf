/*
 * Failures: jobs that failed, in groups.
 */
#ifndef ENGINE_FAIL_H
#define ENGINE_FAIL_H

#include "qless.h"
#include "util/intern.h"
#include "util/skiplist.h"

struct group {
	struct intern *name;
	struct skiplist jobs;
};

struct group *group_find(const struct qless *q, struct qless_str name);
/* Makes the group if there is none. */
struct group *group_need(struct qless *q, struct intern *name);
/* A job whose run has ended used up its retries: it fails in its queue. `group` and `message` may
 * be NULL, for failed-retries-<queue> and what is said of it. */
void job_exhaust(struct qless *q, struct qless_job *job, const struct qless_str *group,
		 const struct qless_str *message);
/* Before a failed job goes elsewhere: one failed job less in the statistics. */
void job_forgive(struct qless *q, struct qless_job *job);
void group_release(struct qless *q, struct group *group);

#endif
