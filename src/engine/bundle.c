#include "engine/bundle.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fair.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "util/container.h"
#include "util/mem.h"

static_assert(offsetof(struct bundle, limits) ==
		      offsetof(struct bundle, filing) + sizeof(void *) + sizeof(uint64_t),
	      "filing, era and limits are the key");
static_assert(offsetof(struct seat, turn) == offsetof(struct seat, bundle) + sizeof(void *),
	      "bundle and name are the key");

/* The key of a bundle begins with this. Its limits follow. */
struct key_head {
	struct filing *filing;
	uint64_t era;
};

struct qless_str bundle_key(const struct hash_node *node)
{
	const struct bundle *bundle = container_of(node, const struct bundle, hash);

	return str_make((const char *)&bundle->filing,
			sizeof(struct key_head) + bundle->count * sizeof bundle->limits[0]);
}

struct qless_str seat_key(const struct hash_node *node)
{
	const struct seat *seat = container_of(node, const struct seat, hash);

	return str_make((const char *)&seat->bundle, 2 * sizeof(void *));
}

bool bundle_is_outdated(const struct bundle *bundle)
{
	return bundle->era != bundle->filing->era;
}

double bundle_opens(const struct bundle *bundle)
{
	double opens = -INFINITY;

	for (uint32_t i = 0; i < bundle->count; i++)
		opens = fmax(opens, named_limit_opens(bundle->limits[i]));
	return opens;
}

/* ---- the order of bundles ---- */

static struct bundle *bundle_of_open(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct bundle, in_open);
}

static struct bundle *bundle_of_shut(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct bundle, in_shut);
}

static bool is_fair(const struct bundle *bundle)
{
	return bundle->queue->fair != NULL;
}

static bool has_groups(const struct bundle *bundle)
{
	return is_fair(bundle)
		       ? besttree_count(&bundle->open) + besttree_count(&bundle->shut) > 0
		       : bundle->seats != NULL && besttree_count(&bundle->seats->groups) > 0;
}

/* The best group of a bundle that has some, open or shut. */
static const struct besttree_node *best_of_all(const struct bundle *bundle)
{
	return is_fair(bundle) ? fair_best_of_all(bundle) : besttree_best(&bundle->seats->groups);
}

/* A bundle whose best open group is not known comes first. */
static bool open_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	const struct besttree_node *x = bundle_of_open(a)->open_group,
				   *y = bundle_of_open(b)->open_group;

	if (x == NULL || y == NULL)
		return x == NULL && y != NULL;
	return fair_group_precedes(x, y);
}

static bool shut_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	return fair_group_precedes(best_of_all(bundle_of_shut(a)), best_of_all(bundle_of_shut(b)));
}

void bundle_place_node(struct besttree *tree, struct besttree_node *node, bool belongs, double key)
{
	if (belongs && besttree_has(node))
		besttree_rekey(tree, node, key);
	else if (belongs)
		besttree_insert(tree, node, key);
	else if (besttree_has(node))
		besttree_remove(tree, node);
}

/* ---- when something opens ---- */

/* When the first group of a bundle opens after `time` while its own limits are open. */
static double next_group_after(const struct bundle *bundle, double time)
{
	const struct besttree *tree = is_fair(bundle) ? &bundle->shut : &bundle->seats->groups;
	const struct besttree_node *node = besttree_first_gt(tree, time);

	return node != NULL ? node->key : INFINITY;
}

static double next_open_after(const struct bundle *bundle, double time)
{
	return bundle->key > time ? bundle->key : next_group_after(bundle, time);
}

/* Nobody may have reported that the limits of a bundle opened, nor when its next group opens. */
static void report_opening(struct qless *q, const struct bundle *bundle, double now)
{
	double next = next_group_after(bundle, now);

	queue_wake(q, bundle->queue);
	if (next < INFINITY)
		queue_falls_due(q, bundle->queue, next);
}

/* Note when the limits of a bundle open. Returns whether they are open at `now`. */
static bool note_opening(struct qless *q, struct bundle *bundle, double now)
{
	double opens = bundle_opens(bundle);

	if (opens <= now && bundle->key > -INFINITY)
		report_opening(q, bundle, now);
	bundle->key = opens > now ? opens : -INFINITY;
	if (opens > now && opens < INFINITY)
		queue_falls_due(q, bundle->queue, opens);
	return opens <= now;
}

double bundles_next_open_after(const struct filing *filing, double time)
{
	const struct besttree_node *node;

	if (filing->count == 0)
		return INFINITY;
	if (!filing->has_trees)
		return next_open_after(filing->first, time);
	node = besttree_first_gt(&filing->shut, time);
	return node != NULL ? node->key : INFINITY;
}

/* ---- looking at bundles ---- */

/* Let what opens until `seen` count as open, and note when something else opens. */
static void see(struct qless *q, struct bundle *bundle, double seen)
{
	struct filing *filing = bundle->filing;
	double next;

	note_opening(q, bundle, seen);
	next = next_open_after(bundle, seen);
	bundle->seen = seen;
	bundle_place_node(&filing->shut, &bundle->in_shut, next < INFINITY, next);
	if (next > q->due_taken && next < INFINITY)
		queue_falls_due(q, bundle->queue, next);
}

void bundle_update(struct qless *q, struct bundle *bundle)
{
	struct filing *filing = bundle->filing;

	if (!filing->has_trees || bundle_is_outdated(bundle))
		return;
	bundle->open_group = NULL;
	if (!has_groups(bundle)) {
		bundle_place_node(&filing->open, &bundle->in_open, false, 0);
		bundle_place_node(&filing->shut, &bundle->in_shut, false, 0);
		return;
	}
	bundle_place_node(&filing->open, &bundle->in_open, true, 0);
	/* After a step back of the clock, a group may open at a time that was seen already. */
	see(q, bundle, fmin(bundle->seen, q->now));
}

static const struct besttree_node *best_group(struct qless *q, struct bundle *bundle, double now,
					      struct lane_search *search)
{
	if (!note_opening(q, bundle, now))
		return NULL;
	return is_fair(bundle) ? fair_best_group(q, bundle, now, search)
			       : besttree_best_le(&bundle->seats->groups, now);
}

/* Find the best open group of a bundle. Returns false if the search stops. */
static bool look(struct qless *q, struct bundle *bundle, double now, struct lane_search *search)
{
	struct filing *filing = bundle->filing;
	const struct besttree_node *group;

	if (!lane_search_look(q, search))
		return false;
	group = best_group(q, bundle, now, search);
	if (search->is_stopped) {
		/* Its limits may have turned out to be open before the search stopped. */
		bundle_update(q, bundle);
		return false;
	}
	/* The time at which a group opened may not have been reported yet. */
	if (besttree_has(&bundle->in_shut) && bundle->in_shut.key <= now)
		queue_wake(q, bundle->queue);
	bundle->open_group = group;
	bundle_place_node(&filing->open, &bundle->in_open, group != NULL, 0);
	see(q, bundle, now);
	return true;
}

/* The best open group of several bundles. */
static const struct besttree_node *best_of_several(struct qless *q, struct filing *filing,
						   double now, struct lane_search *search)
{
	for (;;) {
		const struct besttree_node *open = besttree_best(&filing->open);
		const struct besttree_node *shut;
		struct bundle *bundle = open != NULL ? bundle_of_open(open) : NULL;

		if (bundle == NULL || (bundle->open_group != NULL && bundle->seen <= now)) {
			shut = besttree_best_le(&filing->shut, now);
			if (shut == NULL || (bundle != NULL &&
					     !fair_group_precedes(best_of_all(bundle_of_shut(shut)),
								  bundle->open_group)))
				return bundle != NULL ? bundle->open_group : NULL;
			bundle = bundle_of_shut(shut);
		}
		if (!look(q, bundle, now, search))
			return NULL;
	}
}

const struct besttree_node *bundles_best_group(struct qless *q, struct filing *filing, double now,
					       struct lane_search *search)
{
	if (filing->count == 0)
		return NULL;
	if (filing->has_trees)
		return best_of_several(q, filing, now, search);
	return best_group(q, filing->first, now, search);
}

void bundles_reopen(struct qless *q, const struct named_limit *limit)
{
	for (struct bundle_link *link = limit->bundles; link != NULL; link = link->next) {
		struct bundle *bundle = link->bundle;

		if (bundle_is_outdated(bundle) || bundle_opens(bundle) >= bundle->key)
			continue;
		if (bundle->filing->has_trees)
			bundle_update(q, bundle);
		else
			note_opening(q, bundle, q->now);
		if (bundle_opens(bundle) <= q->now)
			queue_wake(q, bundle->queue);
	}
}

/* ---- bundles that come and go ---- */

static bool is_widely_shared(const struct qless *q, const struct named_limit *limit)
{
	uint64_t sets = limit->set_count;

	return sets > 1 && sets * sets >= hash_count(&q->limit_sets);
}

/* The widely shared limits of a set, by address. The name that takes turns is none of them, because
 * a name should have few seats. */
static uint32_t find_shared(const struct qless *q, const struct queue *queue,
			    const struct limit_set *set, struct named_limit **ret_limits)
{
	uint32_t count = 0;

	for (uint32_t i = queue->fair != NULL; set->count > 1 && i < set->count; i++) {
		uint32_t at = count;

		if (!is_widely_shared(q, set->limits[i]))
			continue;
		for (; at > 0 && (uintptr_t)ret_limits[at - 1] > (uintptr_t)set->limits[i]; at--)
			ret_limits[at] = ret_limits[at - 1];
		ret_limits[at] = set->limits[i];
		count++;
	}
	return count;
}

struct filing *filing_new(struct queue *queue)
{
	struct filing *filing = mem_zalloc(sizeof *filing);

	filing->queue = queue;
	besttree_init(&filing->open, open_is_better);
	besttree_init(&filing->shut, shut_is_better);
	return filing;
}

static void enter_limits(struct bundle *bundle)
{
	bundle->links = mem_realloc_array(NULL, bundle->count, sizeof *bundle->links);
	for (uint32_t i = 0; i < bundle->count; i++) {
		struct named_limit *limit = bundle->limits[i];
		struct bundle_link *link = &bundle->links[i];

		*link = (struct bundle_link){ .bundle = bundle, .next = limit->bundles };
		if (limit->bundles != NULL)
			limit->bundles->prev = link;
		limit->bundles = link;
	}
}

static void leave_limits(struct bundle *bundle)
{
	for (uint32_t i = 0; i < bundle->count; i++) {
		struct bundle_link *link = &bundle->links[i];

		if (link->prev != NULL)
			link->prev->next = link->next;
		else
			bundle->limits[i]->bundles = link->next;
		if (link->next != NULL)
			link->next->prev = link->prev;
	}
	free(bundle->links);
}

/* From the second bundle on, the queue has its bundles in trees. */
static void grow_trees(struct qless *q, struct filing *filing)
{
	struct bundle *bundle = filing->first;

	if (filing->has_trees || filing->count < 2)
		return;
	filing->has_trees = true;
	for (; bundle != NULL && !bundle_is_outdated(bundle); bundle = bundle->next)
		bundle_update(q, bundle);
}

static struct bundle *bundle_new(struct qless *q, struct filing *filing, uint32_t count,
				 struct named_limit *const *limits)
{
	struct bundle *bundle = mem_zalloc(sizeof *bundle + count * sizeof limits[0]);

	bundle->queue = filing->queue;
	bundle->filing = filing;
	bundle->era = filing->era;
	bundle->key = -INFINITY;
	bundle->seen = q->now;
	bundle->count = count;
	if (count > 0) {
		memcpy(bundle->limits, limits, count * sizeof limits[0]);
		enter_limits(bundle);
	} else {
		filing->plain = bundle;
	}
	fair_init_seats(bundle);
	besttree_node_init(&bundle->in_open);
	besttree_node_init(&bundle->in_shut);
	bundle->next = filing->first;
	if (filing->first != NULL)
		filing->first->prev = bundle;
	else
		filing->last = bundle;
	filing->first = bundle;
	filing->count++;
	hash_insert(&q->bundles, &bundle->hash);
	note_opening(q, bundle, q->now);
	grow_trees(q, filing);
	return bundle;
}

static void bundle_free(struct qless *q, struct bundle *bundle)
{
	struct filing *filing = bundle->filing;

	assert(bundle->lanes == 0 && bundle->seats == NULL);
	if (!bundle_is_outdated(bundle)) {
		bundle_place_node(&filing->open, &bundle->in_open, false, 0);
		bundle_place_node(&filing->shut, &bundle->in_shut, false, 0);
		filing->count--;
		filing->has_trees = filing->has_trees && filing->count > 0;
		if (bundle == filing->plain)
			filing->plain = NULL;
	}
	if (bundle->count > 0)
		leave_limits(bundle);
	if (bundle->prev != NULL)
		bundle->prev->next = bundle->next;
	else
		filing->first = bundle->next;
	if (bundle->next != NULL)
		bundle->next->prev = bundle->prev;
	else
		filing->last = bundle->prev;
	hash_remove(&q->bundles, &bundle->hash);
	free(bundle);
}

static struct bundle *bundle_need(struct qless *q, struct filing *filing,
				  const struct limit_set *set)
{
	struct {
		struct key_head head;
		struct named_limit *limits[QLESS_MAX_LIMITS];
	} key;
	uint32_t count = find_shared(q, filing->queue, set, key.limits);
	struct hash_node *node;

	if (count == 0)
		return filing->plain != NULL ? filing->plain : bundle_new(q, filing, 0, NULL);
	key.head = (struct key_head){ .filing = filing, .era = filing->era };
	node = hash_find(&q->bundles, str_make((const char *)&key,
					       sizeof key.head + count * sizeof key.limits[0]));
	return node != NULL ? container_of(node, struct bundle, hash)
			    : bundle_new(q, filing, count, key.limits);
}

/* ---- seats ---- */

static struct seat *seat_new(struct qless *q, struct bundle *bundle, struct turn *turn)
{
	struct seat *seat = mem_zalloc(sizeof *seat);

	seat->bundle = bundle;
	seat->turn = turn;
	besttree_init(&seat->groups, lane_group_is_better);
	besttree_node_init(&seat->open);
	besttree_node_init(&seat->shut);
	seat->next = bundle->seats;
	if (bundle->seats != NULL)
		bundle->seats->prev = seat;
	bundle->seats = seat;
	hash_insert(&q->seats, &seat->hash);
	if (turn != NULL)
		turn_enter_seat(turn, seat);
	return seat;
}

static void seat_free(struct qless *q, struct seat *seat)
{
	assert(seat->lanes == 0 && besttree_count(&seat->groups) == 0);
	if (seat->prev != NULL)
		seat->prev->next = seat->next;
	else
		seat->bundle->seats = seat->next;
	if (seat->next != NULL)
		seat->next->prev = seat->prev;
	hash_remove(&q->seats, &seat->hash);
	free(seat);
}

static struct seat *seat_need(struct qless *q, struct bundle *bundle, struct turn *turn)
{
	struct seat key = { .bundle = bundle, .turn = turn };
	struct hash_node *node;

	if (turn == NULL)
		return bundle->seats != NULL ? bundle->seats : seat_new(q, bundle, NULL);
	node = hash_find(&q->seats, seat_key(&key.hash));
	return node != NULL ? container_of(node, struct seat, hash) : seat_new(q, bundle, turn);
}

struct seat *seat_join(struct qless *q, struct filing *filing, const struct limit_set *set)
{
	struct bundle *bundle = bundle_need(q, filing, set);
	struct seat *seat = seat_need(q, bundle, turn_join(q, filing->queue, set));

	seat->lanes++;
	bundle->lanes++;
	return seat;
}

void seat_leave(struct qless *q, struct seat *seat)
{
	struct bundle *bundle = seat->bundle;
	struct turn *turn = bundle_is_outdated(bundle) ? NULL : seat->turn;

	assert(seat->lanes > 0 && bundle->lanes >= seat->lanes);
	bundle->lanes--;
	if (--seat->lanes == 0) {
		if (turn != NULL)
			turn_leave_seat(turn, seat);
		seat_free(q, seat);
	}
	if (bundle->lanes == 0)
		bundle_free(q, bundle);
	if (turn != NULL)
		turn_leave(q, turn);
}

void seat_update(struct qless *q, struct seat *seat)
{
	if (bundle_is_outdated(seat->bundle))
		return;
	if (seat->turn != NULL)
		fair_update_seat(q, seat);
	bundle_update(q, seat->bundle);
}

/* ---- another order ---- */

void bundles_outdate(struct qless *q, struct filing *filing, struct fair *fair)
{
	filing->era++;
	filing->count = 0;
	filing->has_trees = false;
	filing->plain = NULL;
	besttree_init(&filing->open, open_is_better);
	besttree_init(&filing->shut, shut_is_better);
	if (fair != NULL) {
		fair->next = filing->outdated;
		filing->outdated = fair;
	}
	/* When the next limit opens is known again when the lanes are filed. */
	queue_wake(q, filing->queue);
}

/* A lane of an outdated bundle. */
static struct lane *first_lane(const struct bundle *bundle)
{
	return lane_group_best(besttree_first(&bundle->seats->groups));
}

bool bundles_renew(struct qless *q, struct filing *filing, struct lane_search *search)
{
	while (filing->last != NULL && bundle_is_outdated(filing->last)) {
		if (!lane_search_look(q, search))
			return false;
		lane_renew(q, first_lane(filing->last));
	}
	while (filing->outdated != NULL) {
		struct fair *fair = filing->outdated;

		if (!lane_search_look(q, search))
			return false;
		if (fair_discard_one(q, fair))
			continue;
		filing->outdated = fair->next;
		fair_free(q, fair);
	}
	return true;
}

/* ---- checks and the end ---- */

static bool is_sound(const struct bundle *bundle)
{
	const struct filing *filing = bundle->filing;
	uint32_t lanes = 0;

	for (const struct seat *seat = bundle->seats; seat != NULL; seat = seat->next) {
		lanes += seat->lanes;
		if (seat->bundle != bundle || seat->lanes == 0 ||
		    !besttree_is_ordered(&seat->groups) || besttree_count(&seat->groups) == 0)
			return false;
	}
	if (lanes != bundle->lanes || lanes == 0)
		return false;
	if (bundle_is_outdated(bundle))
		return true;
	if (is_fair(bundle) ? !fair_are_seats_sound(bundle) : bundle->seats->next != NULL)
		return false;
	/* A key that is too late keeps jobs from running. */
	if (bundle->key > bundle_opens(bundle))
		return false;
	return !filing->has_trees ||
	       ((besttree_has(&bundle->in_open) || bundle->open_group == NULL) &&
		(besttree_has(&bundle->in_shut) ? bundle->in_shut.key : INFINITY) ==
			next_open_after(bundle, bundle->seen));
}

bool bundles_are_sound(const struct filing *filing)
{
	const struct bundle *bundle, *last = NULL;
	uint32_t count = 0;

	for (bundle = filing->first; bundle != NULL; last = bundle, bundle = bundle->next) {
		if (bundle->prev != last || bundle->filing != filing ||
		    bundle->queue != filing->queue || !is_sound(bundle))
			return false;
		count += !bundle_is_outdated(bundle);
	}
	return last == filing->last && count == filing->count &&
	       (filing->has_trees || count <= 1) && besttree_is_ordered(&filing->open) &&
	       besttree_is_ordered(&filing->shut);
}

void bundles_forget(struct filing *filing)
{
	filing->first = filing->last = filing->plain = NULL;
	filing->stale = NULL;
	filing->count = 0;
	filing->has_trees = false;
	besttree_init(&filing->open, open_is_better);
	besttree_init(&filing->shut, shut_is_better);
}

bool bundles_discard_one(struct qless *q)
{
	struct hash_node *node = hash_take(&q->seats);

	if (node != NULL) {
		free(container_of(node, struct seat, hash));
		return true;
	}
	node = hash_take(&q->bundles);
	if (node == NULL)
		return false;
	free(container_of(node, struct bundle, hash)->links);
	free(container_of(node, struct bundle, hash));
	return true;
}

void filing_free(struct qless *q, struct filing *filing)
{
	struct fair *fair;

	while (filing != NULL && (fair = filing->outdated) != NULL) {
		filing->outdated = fair->next;
		fair_free(q, fair);
	}
	free(filing);
}
