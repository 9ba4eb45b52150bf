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

/* Whether that is the lock of a job and has expired. */
bool lock_is_expired(const struct skipnode *node, double now);
/* Fails if a job whose lock is about to be taken away has a fractional number of retries. */
int lock_check_expired(struct qless *q, struct queue *queue, double now, int64_t max);
/* Warn of expired locks and take away those that were warned of before. Jobs to hand out again are
 * appended to `ret_jobs`. */
void lock_expire(struct qless *q, struct queue *queue, double now, int64_t max,
		 struct job_vec *ret_jobs);
/* remaining - 1 if that is an integer. */
bool retries_are_whole(const struct qless_job *job);

#endif
