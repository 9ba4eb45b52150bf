/*
 * Filing all lanes anew, freeing them, and checking where they are filed.
 */
#include <stdlib.h>

#include "engine/bundle.h"
#include "engine/engine_int.h"
#include "engine/fair.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/shelf.h"
#include "util/container.h"

/* ---- the end ---- */

bool lanes_discard_one(struct qless *q)
{
	struct hash_node *node = hash_take(&q->lanes);

	if (node != NULL) {
		free(container_of(node, struct lane, hash));
		return true;
	}
	node = hash_take(&q->lane_groups);
	if (node != NULL) {
		free(container_of(node, struct lane_group, hash));
		return true;
	}
	return bundles_discard_one(q);
}

/* ---- repairs ---- */

static void forget_lanes(struct queue *queue, void *arg)
{
	struct filing *filing;
	size_t at = 0;

	(void)arg;
	while ((filing = shelf_next_filing(queue, &at)) != NULL)
		bundles_forget(filing);
	if (queue->fair != NULL)
		fair_forget_lanes(queue->fair);
}

static void enter_all(struct queue *queue, void *arg)
{
	struct skipnode *node = skiplist_first(&queue->limited);

	for (; node != NULL; node = skiplist_next(node))
		lane_enter(arg, job_from_node(node));
}

void lanes_rebuild(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	while (lanes_discard_one(q))
		continue;
	queue_each(q, forget_lanes, NULL);
	HASH_FOREACH(node, &it, &q->limit_sets)
		container_of(node, struct limit_set, hash)->lane = NULL;
	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		struct named_limit *limit = intern_from_node(node)->user;

		if (limit != NULL) {
			limit->groups = NULL;
			limit->bundles = NULL;
			limit->waiting = 0;
		}
	}
	q->are_lanes_moving = true;
	queue_each(q, enter_all, q);
	q->are_lanes_moving = false;
}

/* ---- checks ---- */

static bool contains(const struct limit_set *set, const struct named_limit *limit)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->limits[i] == limit)
			return true;
	}
	return false;
}

/* A key that is too late keeps jobs from running. */
static bool is_group_sound(const struct lane_group *group)
{
	return besttree_count(&group->lanes) > 0 && besttree_is_ordered(&group->lanes) &&
	       (lane_group_is_stale(group) || group->node.key <= named_limit_opens(group->limit)) &&
	       besttree_has(&group->node);
}

static bool are_stale_groups_sound(const struct filing *filing)
{
	const struct lane_group *group, *last = NULL;

	for (group = filing->stale; group != NULL; last = group, group = group->next_stale) {
		if (group->prev_stale != last || group->seat->bundle->filing != filing)
			return false;
	}
	return true;
}

static bool are_filings_sound(const struct queue *queue)
{
	const struct filing *filing;
	size_t at = 0;

	while ((filing = shelf_next_filing(queue, &at)) != NULL) {
		if (filing->queue != queue || !bundles_are_sound(filing) ||
		    !are_stale_groups_sound(filing))
			return false;
	}
	return true;
}

/* Whether the lane takes turns by its first name if its queue has fair order. */
static bool is_seat_sound(const struct lane *lane)
{
	const struct seat *seat = lane->seat;

	if (seat == NULL || seat->bundle->filing != lane->filing || lane->group->seat != seat)
		return false;
	for (uint32_t i = 0; i < seat->bundle->count; i++) {
		if (!contains(lane->set, seat->bundle->limits[i]))
			return false;
	}
	if (bundle_is_outdated(seat->bundle))
		return true;
	if (lane->filing->queue->fair == NULL)
		return seat->turn == NULL;
	return seat->turn != NULL && seat->turn->name == lane->set->limits[0]->name;
}

bool lanes_are_sound(const struct qless *q)
{
	uint64_t in_lanes = 0, in_lists = 0;
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->lane_groups) {
		if (!is_group_sound(container_of(node, struct lane_group, hash)))
			return false;
	}
	HASH_FOREACH(node, &it, &q->lanes) {
		const struct lane *lane = container_of(node, struct lane, hash);
		size_t jobs = lane_count_jobs(lane);

		if (jobs == SIZE_MAX || jobs == 0 || lane->group == NULL ||
		    !contains(lane->set, lane->group->limit) || !is_seat_sound(lane))
			return false;
		in_lanes += jobs;
	}
	for (size_t i = 0; i < q->all_queues.count; i++) {
		const struct queue *queue = q->all_queues.items[i];

		if (!are_filings_sound(queue) || !shelves_are_sound(q, queue) ||
		    (queue->fair != NULL && !fair_is_sound(queue->fair)))
			return false;
		in_lists += skiplist_count(&queue->limited);
	}
	return in_lanes == in_lists;
}
