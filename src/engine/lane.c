/*
 * Filing lanes under limits.
 */
#include "engine/lane.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/bundle.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fair.h"
#include "engine/job.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/shelf.h"
#include "util/container.h"
#include "util/mem.h"

/* ---- finding lanes and groups ---- */

static_assert(offsetof(struct lane, set) == offsetof(struct lane, filing) + sizeof(void *),
	      "filing and set are the key");
static_assert(offsetof(struct lane_group, limit) ==
		      offsetof(struct lane_group, seat) + sizeof(void *),
	      "seat and limit are the key");

struct qless_str lane_key(const struct hash_node *node)
{
	const struct lane *lane = container_of(node, const struct lane, hash);

	return str_make((const char *)&lane->filing, 2 * sizeof(void *));
}

struct qless_str lane_group_key(const struct hash_node *node)
{
	const struct lane_group *group = container_of(node, const struct lane_group, hash);

	return str_make((const char *)&group->seat, 2 * sizeof(void *));
}

static struct lane *lane_of(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct lane, node);
}

struct lane_group *lane_group_of(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct lane_group, node);
}

static struct lane *find_lane(struct qless *q, struct filing *filing, struct limit_set *set)
{
	struct lane key = { .filing = filing, .set = set };
	struct hash_node *node;

	if (set->lane != NULL && set->lane->filing == filing)
		return set->lane;
	node = hash_find(&q->lanes, lane_key(&key.hash));
	if (node == NULL)
		return NULL;
	set->lane = container_of(node, struct lane, hash);
	return set->lane;
}

static struct lane_group *find_group(const struct qless *q, struct seat *seat,
				     struct named_limit *limit)
{
	struct lane_group key = { .seat = seat, .limit = limit };
	struct hash_node *node;

	if (limit->groups == NULL)
		return NULL;
	if (limit->groups->seat == seat)
		return limit->groups;
	node = hash_find(&q->lane_groups, lane_group_key(&key.hash));
	return node != NULL ? container_of(node, struct lane_group, hash) : NULL;
}

/* ---- groups ---- */

static bool lane_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	return lane_job_precedes(lane_of(a)->best, lane_of(b)->best);
}

struct lane *lane_group_best(const struct besttree_node *node)
{
	return lane_of(besttree_best(&lane_group_of(node)->lanes));
}

bool lane_group_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	return lane_job_precedes(lane_group_best(a)->best, lane_group_best(b)->best);
}

/* The key of the groups of a limit. */
static double key_of(const struct named_limit *limit, double now)
{
	double opens = named_limit_opens(limit);

	return opens > now ? opens : -INFINITY;
}

/* The score of its best job is the value of a lane, and of a group. */
static void value_lane(struct lane *lane)
{
	lane->node.value = lane->best->node.score;
}

static void value_group(struct lane_group *group)
{
	group->node.value = besttree_best(&group->lanes)->value;
}

/* Note that the best job of a group has changed. */
static void update_group(struct qless *q, struct lane_group *group)
{
	value_group(group);
	besttree_update(&group->seat->groups, &group->node);
	seat_update(q, group->seat);
}

static void rekey(struct qless *q, struct lane_group *group, double key)
{
	if (key == group->node.key)
		return;
	besttree_rekey(&group->seat->groups, &group->node, key);
	seat_update(q, group->seat);
	if (key == -INFINITY)
		queue_wake(q, group->seat->bundle->queue);
	else if (key < INFINITY)
		queue_falls_due(q, group->seat->bundle->queue, key);
}

/* ---- stale groups ---- */

bool lane_group_is_stale(const struct lane_group *group)
{
	return group->prev_stale != NULL || group->seat->bundle->filing->stale == group;
}

static void enter_stale(struct qless *q, struct lane_group *group)
{
	struct filing *filing = group->seat->bundle->filing;

	queue_wake(q, filing->queue);
	if (lane_group_is_stale(group))
		return;
	group->next_stale = filing->stale;
	if (filing->stale != NULL)
		filing->stale->prev_stale = group;
	filing->stale = group;
}

static void leave_stale(struct filing *filing, struct lane_group *group)
{
	if (!lane_group_is_stale(group))
		return;
	if (group->prev_stale != NULL)
		group->prev_stale->next_stale = group->next_stale;
	else
		filing->stale = group->next_stale;
	if (group->next_stale != NULL)
		group->next_stale->prev_stale = group->prev_stale;
	group->prev_stale = group->next_stale = NULL;
}

bool lanes_freshen(struct qless *q, struct filing *filing, struct lane_search *search)
{
	while (filing->stale != NULL) {
		struct lane_group *group = filing->stale;
		double key = key_of(group->limit, q->now);

		if (!lane_search_look(q, search))
			return false;
		leave_stale(filing, group);
		if (key < group->node.key)
			rekey(q, group, key);
	}
	return true;
}

/* ---- groups that come and go ---- */

static struct lane_group *group_new(struct qless *q, struct seat *seat, struct named_limit *limit)
{
	struct lane_group *group = mem_zalloc(sizeof *group);

	group->seat = seat;
	group->limit = limit;
	group->next = limit->groups;
	if (limit->groups != NULL)
		limit->groups->prev = group;
	limit->groups = group;
	besttree_init(&group->lanes, lane_is_better);
	besttree_node_init(&group->node);
	hash_insert(&q->lane_groups, &group->hash);
	return group;
}

static void group_free(struct qless *q, struct lane_group *group)
{
	if (group->prev != NULL)
		group->prev->next = group->next;
	else
		group->limit->groups = group->next;
	if (group->next != NULL)
		group->next->prev = group->prev;
	leave_stale(group->seat->bundle->filing, group);
	hash_remove(&q->lane_groups, &group->hash);
	free(group);
}

static void file(struct qless *q, struct lane *lane, struct named_limit *limit, double now)
{
	struct lane_group *group = find_group(q, lane->seat, limit);
	double key = key_of(limit, now);

	assert(lane->group == NULL);
	q->lanes_filed++;
	if (group != NULL) {
		rekey(q, group, key);
		besttree_insert(&group->lanes, &lane->node, 0);
		update_group(q, group);
	} else {
		group = group_new(q, lane->seat, limit);
		besttree_insert(&group->lanes, &lane->node, 0);
		value_group(group);
		besttree_insert(&lane->seat->groups, &group->node, key);
		seat_update(q, lane->seat);
		/* A limit that is open may have opened while the lane was filed under another key,
		 * whose time nobody has reported. */
		if (key == -INFINITY)
			queue_wake(q, lane->filing->queue);
		else if (key < INFINITY)
			queue_falls_due(q, lane->filing->queue, key);
	}
	lane->group = group;
}

static void unfile(struct qless *q, struct lane *lane)
{
	struct lane_group *group = lane->group;

	lane->group = NULL;
	if (besttree_count(&group->lanes) == 1) {
		besttree_remove(&group->seat->groups, &group->node);
		seat_update(q, group->seat);
		besttree_remove(&group->lanes, &lane->node);
		group_free(q, group);
		return;
	}
	besttree_remove(&group->lanes, &lane->node);
	update_group(q, group);
}

struct named_limit *lane_find_shut(const struct limit_set *set, double now)
{
	struct named_limit *shut = NULL;
	double last = now;

	for (uint32_t i = 0; i < set->count; i++) {
		double opens = named_limit_opens(set->limits[i]);

		if (opens > last) {
			last = opens;
			shut = set->limits[i];
		}
	}
	return shut;
}

/* The limit to file a new lane under: one that is shut if there is any. If all are open, that is
 * the one which most sets contain: if it shuts, one key changes for all its lanes. A bundle passes
 * over its own limits anyway. */
static struct named_limit *find_home(const struct bundle *bundle, const struct limit_set *set,
				     double now)
{
	struct named_limit *home = NULL, *shut = NULL;
	double last = now;

	for (uint32_t i = 0; i < set->count; i++) {
		struct named_limit *limit = set->limits[i];
		double opens = named_limit_opens(limit);

		if (bundle_has(bundle, limit))
			continue;
		if (opens > last) {
			last = opens;
			shut = limit;
		}
		if (home == NULL || limit->set_count > home->set_count)
			home = limit;
	}
	if (shut != NULL)
		return shut;
	return home != NULL ? home : set->limits[0];
}

static void find_place(struct qless *q, struct lane *lane)
{
	file(q, lane, find_home(lane->seat->bundle, lane->set, q->now), q->now);
}

/* ---- jobs that come and go ---- */

static void count_waiting(struct limit_set *set, uint64_t by)
{
	for (uint32_t i = 0; i < set->count; i++)
		set->limits[i]->waiting += by;
}

static void lane_free(struct qless *q, struct lane *lane)
{
	assert(lane->root == NULL && lane->group == NULL);
	hash_remove(&q->lanes, &lane->hash);
	if (lane->set->lane == lane)
		lane->set->lane = NULL;
	seat_leave(q, lane->seat);
	free(lane);
}

/* Note that a job changes without its lane and its slots. Returns false if they are to change. */
static bool skip(struct qless *q)
{
	if (q->are_limits_suspended)
		q->are_limits_stale = true;
	return q->are_limits_suspended;
}

/* The filing for a job that begins to wait. */
static struct filing *filing_for(const struct qless_job *job)
{
	struct queue *queue = job->queue;
	struct shelf *shelf = shelf_that_takes(job);

	if (shelf != NULL)
		return shelf->filing;
	if (queue->filing == NULL)
		queue->filing = filing_new(queue);
	return queue->filing;
}

void lane_enter(struct qless *q, struct qless_job *job)
{
	struct limit_set *set = job_limits(job);
	struct filing *filing;
	struct lane *lane;
	const struct qless_job *best;

	if (skip(q))
		return;
	assert(job->node.linked);
	filing = filing_for(job);
	lane = find_lane(q, filing, set);
	best = lane != NULL ? lane->best : NULL;
	count_waiting(set, 1);
	if (lane == NULL) {
		lane = mem_zalloc(sizeof *lane);
		lane->filing = filing;
		lane->set = set;
		besttree_node_init(&lane->node);
		hash_insert(&q->lanes, &lane->hash);
		set->lane = lane;
		lane->seat = seat_join(q, filing, set);
	}
	lane_insert(lane, job);
	value_lane(lane);
	if (lane->group == NULL) {
		find_place(q, lane);
	} else if (lane->best != best) {
		besttree_update(&lane->group->lanes, &lane->node);
		update_group(q, lane->group);
	}
}

bool lane_is_in(struct qless *q, struct filing *filing, const struct qless_job *job)
{
	const struct lane *lane = find_lane(q, filing, job_limits(job));

	return lane != NULL && lane_has(lane, job);
}

/* The lane in which a job waits. */
static struct lane *lane_of_job(struct qless *q, const struct qless_job *job)
{
	struct shelf *shelf = shelf_of(job);

	if (shelf != NULL && lane_is_in(q, shelf->filing, job))
		return find_lane(q, shelf->filing, job_limits(job));
	return find_lane(q, job->queue->filing, job_limits(job));
}

void lane_leave(struct qless *q, struct qless_job *job)
{
	struct limit_set *set = job_limits(job);
	struct lane *lane;
	bool was_best;

	if (skip(q))
		return;
	lane = lane_of_job(q, job);
	assert(lane != NULL && lane->group != NULL);
	count_waiting(set, (uint64_t)-1);
	was_best = lane->best == job;
	if (was_best && lane->last == job) {
		unfile(q, lane);
		lane_remove(lane, job);
		lane_free(q, lane);
	} else {
		lane_remove(lane, job);
		if (was_best) {
			value_lane(lane);
			besttree_update(&lane->group->lanes, &lane->node);
			update_group(q, lane->group);
		}
	}
	job_limited(job)->slots = NULL;
}

void lane_refile(struct qless *q, struct qless_job *job)
{
	bool were_moving = q->are_lanes_moving;

	q->are_lanes_moving = true;
	lane_leave(q, job);
	lane_enter(q, job);
	q->are_lanes_moving = were_moving;
}

struct qless_job *lane_any_job(const struct filing *filing)
{
	const struct besttree_node *group;

	if (filing->first == NULL)
		return NULL;
	group = besttree_first(&filing->first->seats->groups);
	return lane_group_best(group)->best;
}

/* ---- limits that open and shut ---- */

void named_limit_reopen(struct qless *q, struct named_limit *limit)
{
	double key = key_of(limit, q->now);
	struct lane_group *group;

	if (limit->is_queue) {
		queue_reopen(q, limit);
		return;
	}
	for (group = limit->groups; group != NULL; group = group->next) {
		if (key < group->node.key)
			rekey(q, group, key);
	}
	bundles_reopen(q, limit);
}

void named_limit_reopen_later(struct qless *q, struct named_limit *limit)
{
	double key = key_of(limit, q->now);

	for (struct lane_group *group = limit->groups; group != NULL; group = group->next) {
		if (key < group->node.key)
			enter_stale(q, group);
	}
	bundles_reopen(q, limit);
}

/* ---- what a pop changes ---- */

void lane_move(struct qless *q, struct lane *lane, struct named_limit *shut, double now)
{
	if (lane->group->limit == shut) {
		rekey(q, lane->group, key_of(shut, now));
		return;
	}
	unfile(q, lane);
	file(q, lane, shut, now);
}

void lane_renew(struct qless *q, struct lane *lane)
{
	struct seat *old = lane->seat;

	unfile(q, lane);
	q->are_lanes_moving = true;
	lane->seat = seat_join(q, lane->filing, lane->set);
	seat_leave(q, old);
	q->are_lanes_moving = false;
	find_place(q, lane);
}

/* The seat of other lanes that may name the limits of a job, which has left its lane; NULL if none
 * is at hand. */
static struct seat *find_seat(const struct queue *queue, const struct limit_set *set)
{
	const struct turn *turn;

	if (set->lane != NULL && set->lane->filing->queue == queue)
		return set->lane->seat;
	if (queue->fair == NULL)
		return queue->filing->plain != NULL ? queue->filing->plain->seats : NULL;
	turn = turn_find(queue->fair, intern_str(set->limits[0]->name));
	return turn != NULL ? turn->seats : NULL;
}

void lane_charge(struct qless *q, struct qless_job *job, double now, double expires)
{
	struct limit_set *set = job_limits(job);
	struct seat *seat = find_seat(job->queue, set);

	slots_hold(q, job, expires);
	for (uint32_t i = 0; i < set->count; i++) {
		struct named_limit *limit = set->limits[i];
		struct lane_group *group = NULL;

		named_limit_charge(limit, now);
		/* The key of a group elsewhere is too early until a search finds that. */
		if (seat != NULL)
			group = find_group(q, seat, limit);
		if (group != NULL)
			rekey(q, group, key_of(limit, now));
	}
	named_limit_sweep_some(q);
}

/* ---- when limits open ---- */

double lanes_next_open_after(const struct queue *queue, double time)
{
	const struct filing *filing;
	double next = INFINITY;
	size_t at = 0;

	while ((filing = shelf_next_filing(queue, &at)) != NULL)
		next = fmin(next, bundles_next_open_after(filing, time));
	return next;
}
