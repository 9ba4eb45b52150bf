/*
 * Choosing the next job with limits.
 */
#include <assert.h>

#include "engine/bundle.h"
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

bool lane_search_look(struct qless *q, struct lane_search *search)
{
	q->lanes_tried++;
	if (search->looks_left == 0)
		search->is_stopped = true;
	else
		search->looks_left--;
	return !search->is_stopped;
}

bool lane_search_step(struct lane_search *search)
{
	assert(search->steps_left > 0 && !search->is_stopped);
	search->steps++;
	search->is_stopped = --search->steps_left == 0;
	return !search->is_stopped;
}

/* Treat the expired lock of a holder, unless the call has treated enough of them. Then the queue
 * wakes, and the next call goes on. Returns whether the search goes on. */
static bool expire_late(struct qless *q, struct queue *queue, struct qless_job *late,
			struct lane_search *search, double now)
{
	if (search->late_left == 0) {
		queue_wake(q, queue);
		return false;
	}
	search->late_left--;
	lock_expire_holder(q, late, now);
	return lane_search_step(search);
}

struct qless_job *lane_choose(struct qless *q, struct queue *queue, double now,
			      const struct qless_job *rival, struct lane_search *search)
{
	const struct besttree_node *node;

	if (queue->filing == NULL)
		return NULL;
	while (bundles_renew(q, queue, search) && lanes_freshen(q, queue->filing, search) &&
	       (node = bundles_best_group(q, queue, now, search)) != NULL) {
		struct lane *lane = lane_group_best(node);
		struct named_limit *shut;
		struct qless_job *late;

		if (rival != NULL && precedes(queue, rival, lane->best))
			return NULL;
		if (!lane_search_look(q, search))
			break;
		shut = lane_find_shut(lane->set, now);
		if (shut != NULL && bundle_opens(lane->seat->bundle) > now) {
			bundle_update(q, lane->seat->bundle);
			continue;
		}
		if (shut != NULL) {
			lane_move(q, lane, shut, now);
			continue;
		}
		late = find_late_holder(lane->set);
		if (late == NULL || search->is_question) {
			/* Only looks at shut lanes are limited: a call says how many jobs it takes.
			 */
			search->looks_left++;
			return lane->best;
		}
		/* Other jobs may wait once the lock is treated, so the search begins anew. */
		if (!expire_late(q, queue, late, search, now))
			return NULL;
	}
	if (search->is_stopped)
		queue_wake(q, queue);
	return NULL;
}
