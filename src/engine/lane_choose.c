/*
 * Choosing the next job with limits.
 */
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fair.h"
#include "engine/lane.h"
#include "engine/lock.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "util/container.h"

/* The holder of a full limit, all of whose slots are taken, whose lock has expired; NULL if all
 * limits have a free slot. */
static struct qless_job *find_late_holder(const struct limit_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct named_limit *limit = set->limits[i];

		if (named_limit_is_full(limit))
			return container_of(skiplist_first(&limit->slots), struct slot, node)->job;
	}
	return NULL;
}

/* Whether `a` is handed out before `b`, if both may run. */
static bool precedes(const struct queue *queue, const struct qless_job *a,
		     const struct qless_job *b)
{
	return queue->fair != NULL ? fair_precedes(queue->fair, a, b) : lane_job_precedes(a, b);
}

/* Treat the expired lock of a holder, unless the call has treated enough of them. Then the queue
 * wakes, and the next call goes on. Returns whether the lock was treated. */
static bool expire_late(struct qless *q, struct queue *queue, struct qless_job *late,
			unsigned *late_left, double now)
{
	if (*late_left == 0) {
		queue_wake(q, queue);
		return false;
	}
	--*late_left;
	lock_expire_holder(q, late, now);
	return true;
}

/* The group with the best job of those whose limits open at `now` or before; NULL if all of them
 * are shut. */
static const struct besttree_node *best_group(struct qless *q, struct queue *queue, double now)
{
	return queue->fair != NULL ? fair_best_group(q, queue, now)
				   : besttree_best_le(&queue->groups, now);
}

struct qless_job *lane_choose(struct qless *q, struct queue *queue, double now,
			      const struct qless_job *rival, unsigned *late_left)
{
	const struct besttree_node *node;

	while ((node = best_group(q, queue, now)) != NULL) {
		struct lane *lane = lane_group_best(node);
		struct named_limit *shut;
		struct qless_job *late;

		q->lanes_tried++;
		if (rival != NULL && precedes(queue, rival, lane->best))
			return NULL;
		shut = lane_find_shut(lane->set, now);
		if (shut != NULL) {
			lane_move(q, lane, shut, now);
			continue;
		}
		late = find_late_holder(lane->set);
		if (late == NULL || late_left == NULL)
			return lane->best;
		/* Other jobs may wait once the lock is treated, so the search begins anew. */
		if (!expire_late(q, queue, late, late_left, now))
			return NULL;
	}
	return NULL;
}
