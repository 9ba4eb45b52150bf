/*
 * Failures: groups of failed jobs.
 */
#ifndef ENGINE_FAIL_H
#define ENGINE_FAIL_H

#include "qless.h"
#include "util/heap.h"
#include "util/intern.h"
#include "util/skiplist.h"

struct group {
	struct intern *name;
	struct skiplist jobs;
	struct heap_node oldest; /* in qless.failures, see failed_history.h */
};

struct group *group_find(const struct qless *q, struct qless_str name);
/* Returns the group, a new one if there was none. */
struct group *group_need(struct qless *q, struct intern *name);
/* Fail a job whose run has ended because it used up its retries. `group` and `message` may be NULL:
 * then the group is failed-retries-<queue>, and the message says so. */
void job_exhaust(struct qless *q, struct qless_job *job, const struct qless_str *group,
		 const struct qless_str *message);
/* Fail a job whose run has ended because its retries cannot be counted down. The group is
 * invalid-retries-<queue>. */
void job_fail_invalid(struct qless *q, struct qless_job *job);
/* Count one failed job less, before the job leaves its group. */
void job_forgive(struct qless *q, struct qless_job *job);
void group_release(struct qless *q, struct group *group);

#endif
