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
#include "engine/shelf.h"
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

/* File the lanes of a filing where they belong. Returns false if the search stops. */
static inline bool prepare(struct qless *q, struct filing *filing, struct lane_search *search)
{
	return bundles_renew(q, filing, search) && lanes_freshen(q, filing, search);
}

/* File the lanes of all filings where they belong. A search does that before anything else, also
 * with a shelf: a name with lanes that wait for it would look idle. */
static bool prepare_all(struct qless *q, struct queue *queue, struct lane_search *search)
{
	struct filing *filing;
	size_t at = 0;

	while ((filing = shelf_next_filing(queue, &at)) != NULL) {
		if (!prepare(q, filing, search))
			return false;
	}
	return true;
}

/* The best lane of a filing whose limits are all open, and whose best job precedes `rival`, which
 * may be NULL. Moves those that turn out to be shut. */
static inline __attribute__((always_inline)) struct lane *choose_lane(struct qless *q,
								      struct filing *filing,
								      double now,
								      const struct qless_job *rival,
								      struct lane_search *search)
{
	const struct besttree_node *node;

	while ((node = bundles_best_group(q, filing, now, search)) != NULL) {
		struct lane *lane = lane_group_best(node);
		struct named_limit *shut;

		if (rival != NULL && precedes(filing->queue, rival, lane->best))
			return NULL;
		if (!lane_search_look(q, search))
			return NULL;
		shut = lane_find_shut(lane->set, now);
		if (shut == NULL) {
			/* Only looks at shut lanes are limited: a call says how many jobs it takes.
			 */
			search->looks_left++;
			return lane;
		}
		if (bundle_opens(lane->seat->bundle) > now)
			bundle_update(q, lane->seat->bundle);
		else
			lane_move(q, lane, shut, now);
	}
	return NULL;
}

/* The best lane of all filings. Which filing it is in never decides which one it is. */
static struct lane *choose_of_all(struct qless *q, struct queue *queue, double now,
				  const struct qless_job *rival, struct lane_search *search)
{
	struct lane *best = NULL, *lane;
	struct filing *filing;
	size_t at = 0;

	while ((filing = shelf_next_filing(queue, &at)) != NULL) {
		lane = choose_lane(q, filing, now, rival, search);
		if (search->is_stopped)
			return NULL;
		if (lane == NULL)
			continue;
		best = lane;
		rival = lane->best;
	}
	return best;
}

/* Find the best lane of a queue with shelves. Not inlined, so that others pay one test. */
static __attribute__((noinline, cold)) struct lane *find_among_shelves(
	struct qless *q, struct queue *queue, struct shelf *shelf, double now,
	const struct qless_job *rival, struct lane_search *search)
{
	if (!prepare_all(q, queue, search))
		return NULL;
	return shelf != NULL ? choose_lane(q, shelf->filing, now, rival, search)
			     : choose_of_all(q, queue, now, rival, search);
}

/* Find the best lane; NULL if there is none, or if the search stops. */
static inline struct lane *find_best(struct qless *q, struct queue *queue, struct shelf *shelf,
				     double now, const struct qless_job *rival,
				     struct lane_search *search)
{
	if (__builtin_expect(queue->shelves != NULL, 0))
		return find_among_shelves(q, queue, shelf, now, rival, search);
	return prepare(q, queue->filing, search) ? choose_lane(q, queue->filing, now, rival, search)
						 : NULL;
}

struct qless_job *lane_choose(struct qless *q, struct queue *queue, struct shelf *shelf, double now,
			      const struct qless_job *rival, struct lane_search *search)
{
	struct qless_job *late;
	struct lane *lane;

	if (queue->filing == NULL)
		return NULL;
	while ((lane = find_best(q, queue, shelf, now, rival, search)) != NULL) {
		late = find_late_holder(lane->set);
		if (late == NULL || search->is_question)
			return lane->best;
		/* Other jobs may wait once the lock is treated, so the search begins anew. */
		if (!expire_late(q, queue, late, search, now))
			return NULL;
	}
	if (search->is_stopped)
		queue_wake(q, queue);
	return NULL;
}
