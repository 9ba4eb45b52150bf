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

/* The best job of a tree with limits that are all open, and that precedes `rival`; NULL if there is
 * none. *ret_has_moved is whether the lock of a holder was treated instead. Then other jobs may
 * wait now, and the search begins anew. */
static struct qless_job *choose_in(struct qless *q, struct besttree *groups, double now,
				   const struct qless_job *rival, unsigned *late_left,
				   bool *ret_has_moved)
{
	struct besttree_node *node;

	while ((node = besttree_best_le(groups, now)) != NULL) {
		struct lane *lane = lane_group_best(node);
		struct named_limit *shut;
		struct qless_job *late;

		q->lanes_tried++;
		if (rival != NULL && precedes(lane->queue, rival, lane->best))
			return NULL;
		shut = lane_find_shut(lane->set, now);
		if (shut != NULL) {
			lane_move(q, lane, shut, now);
			continue;
		}
		late = find_late_holder(lane->set);
		if (late == NULL || late_left == NULL)
			return lane->best;
		*ret_has_moved = expire_late(q, lane->queue, late, late_left, now);
		return NULL;
	}
	return NULL;
}

/* The best job of a queue with fair order. The best job of a name may be shut, so the first name
 * may have a worse one than the next name: names are left out of the tree of names until no other
 * can be better. */
static struct qless_job *choose_fair(struct qless *q, struct queue *queue, double now,
				     const struct qless_job *rival, unsigned *late_left,
				     bool *ret_has_moved)
{
	struct fair *fair = queue->fair;
	const struct qless_job *best = rival;
	struct turn *aside = NULL, *turn;
	struct qless_job *late;

	while ((turn = fair_best_turn(fair, now)) != NULL) {
		const struct qless_job *job;

		if (best != NULL && fair_precedes(fair, best, lane_tree_best(&turn->groups)))
			break;
		job = choose_in(q, &turn->groups, now, best, NULL, ret_has_moved);
		if (job != NULL)
			best = job;
		/* If all its limits are shut, all keys of the name are later now. */
		if (besttree_has(&turn->node) && turn->node.key <= now)
			turn_put_aside(q, turn, &aside);
	}
	turns_put_back(q, aside);
	if (best == rival)
		return NULL;
	late = late_left != NULL ? find_late_holder(job_limits(best)) : NULL;
	if (late == NULL)
		return (struct qless_job *)(uintptr_t)best;
	*ret_has_moved = expire_late(q, queue, late, late_left, now);
	return NULL;
}

struct qless_job *lane_choose(struct qless *q, struct queue *queue, double now,
			      const struct qless_job *rival, unsigned *late_left)
{
	struct qless_job *job;
	bool has_moved;

	do {
		has_moved = false;
		if (queue->fair != NULL)
			job = choose_fair(q, queue, now, rival, late_left, &has_moved);
		else
			job = choose_in(q, &queue->groups, now, rival, late_left, &has_moved);
	} while (has_moved);
	return job;
}
