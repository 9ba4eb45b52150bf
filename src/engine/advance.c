/*
 * The only place that moves what has come due: scheduled jobs become waiting, recurring jobs make
 * jobs, and workers that are gone leave the list. Expired locks are left to a pop.
 */
#include "engine/advance.h"

#include <assert.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/run.h"
#include "engine/worker.h"
#include "util/container.h"

static int64_t promote(struct qless *q, struct queue *queue, double now, int64_t max)
{
	struct skipnode *node = skiplist_first_ge(&queue->scheduled, 0);
	int64_t moved = 0;

	for (; moved < max && node != NULL && node->score <= now; moved++) {
		struct qless_job *job = job_from_node(node);

		node = skiplist_next(node);
		job_leave(q, job);
		job_batch_as(q, job, QLESS_WAITING, job_work_score(job, now));
		engine_changed(q);
	}
	assert(q->batch.count <= (size_t)moved);
	if (q->batch.count > 0)
		job_place_batch(q, queue, QLESS_WAITING);
	return moved;
}

int64_t advance_for_pop(struct qless *q, struct queue *queue, double now, int64_t max)
{
	int64_t made = recur_spawn(q, queue, now, max);

	return made + promote(q, queue, now, max);
}

/* How many of `max` jobs are left when a pop has handed out the jobs with an expired lock. */
static int64_t leave_room(const struct queue *queue, double now, int64_t max)
{
	int64_t expired = skiplist_count_le(&queue->locks, now);

	return max > expired ? max - expired : 0;
}

static int64_t promote_known(struct qless *q, double now, int64_t max)
{
	struct skipnode *node = skiplist_first(&q->queues);
	int64_t moved = 0;

	for (; node != NULL && moved < max; node = skiplist_next(node))
		moved += promote(q, container_of(node, struct queue, node), now, max - moved);
	return moved;
}

int qless_advance(struct qless *q, double now, const struct qless_advance *advance,
		  uint64_t *ret_moved)
{
	struct queue *queue = NULL;
	int64_t moved = 0;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (advance->max < 0)
		return engine_fail_number(q, QLESS_OP_ADVANCE, QLESS_WHY_NEGATIVE, "max",
					  (double)advance->max);
	if (advance->kind == QLESS_ADVANCE_POP && limit_check_jobs(q, advance->max) < 0)
		return engine_fail_during(q, QLESS_OP_ADVANCE);
	if (advance->kind == QLESS_ADVANCE_POP || advance->kind == QLESS_ADVANCE_QUEUE)
		queue = queue_recall(q, advance->queue);
	switch (advance->kind) {
	case QLESS_ADVANCE_POP:
		if (queue != NULL)
			moved = advance_for_pop(q, queue, now,
						leave_room(queue, now, advance->max));
		break;
	case QLESS_ADVANCE_QUEUE:
		if (queue != NULL)
			moved = promote(q, queue, now, advance->max);
		break;
	case QLESS_ADVANCE_KNOWN:
		moved = promote_known(q, now, advance->max);
		break;
	case QLESS_ADVANCE_WORKERS:
		moved = worker_forget_old(q, now, advance->max);
		break;
	}
	assert(moved >= 0);
	*ret_moved = (uint64_t)moved;
	return 0;
}
