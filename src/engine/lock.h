/*
 * Locks: what happens when they expire.
 */
#ifndef ENGINE_LOCK_H
#define ENGINE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "qless.h"

struct job_vec;
struct queue;
struct skipnode;

/* Whether the node is the lock of a job and has expired. `node` may be NULL. */
bool lock_is_expired(const struct skipnode *node, double now);
/* Warn the workers of up to `max` expired locks, and end the runs of workers that were warned
 * before. Appends the jobs to be handed out again to `ret_jobs`; those that name limits wait
 * instead. Jobs without retries left, or with retries that cannot be counted down, fail. */
void lock_expire(struct qless *q, struct queue *queue, double now, int64_t max,
		 struct job_vec *ret_jobs);
/* Treat the expired lock of a job as lock_expire() does. A job that loses its lock waits in its own
 * queue: another pop decides whether its limits are open, or whether it has the right class. */
void lock_expire_holder(struct qless *q, struct qless_job *job, double now);
/* Treat up to `max` expired locks of a queue in that way. Returns whether none is left. */
bool lock_expire_any(struct qless *q, struct queue *queue, double now, int64_t max);
/* Let the lock of a running job expire at another time. Its worker is not warned any more. */
void lock_renew(struct qless *q, struct qless_job *job, double expires);
/* Whether Redis would decrement this number of retries left: it prints as an integer. */
bool retries_are_whole(double retries);

#endif
