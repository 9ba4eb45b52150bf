#include "engine/fair.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/bundle.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/shelf.h"
#include "util/container.h"
#include "util/mem.h"

/* Idle names that one call forgets. */
#define FORGOTTEN_MAX 4

struct qless_str turn_key(const struct hash_node *node)
{
	return intern_str(container_of(node, const struct turn, hash)->name);
}

struct turn *turn_find(const struct fair *fair, struct qless_str name)
{
	struct hash_node *node = hash_find(&fair->table, name);

	return node != NULL ? container_of(node, struct turn, hash) : NULL;
}

static struct turn *turn_from_idle(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct turn, idle);
}

static struct qless_str idle_member(const struct skipnode *node)
{
	return intern_str(turn_from_idle(node)->name);
}

/* ---- order ---- */

/* Jobs that timed out by a call come before any priority, until they are given another. */
static double priority_of(const struct qless_job *job)
{
	return job->node.score == INFINITY ? INFINITY : job->priority;
}

static bool precedes(const struct qless_job *a, double pass_a, const struct qless_job *b,
		     double pass_b)
{
	if (priority_of(a) != priority_of(b))
		return priority_of(a) > priority_of(b);
	return pass_a != pass_b ? pass_a < pass_b : lane_job_precedes(a, b);
}

static double pass_of(const struct fair *fair, const struct qless_job *job)
{
	const struct limit_set *set = job_limits(job);

	return set != NULL ? turn_find(fair, intern_str(set->limits[0]->name))->pass : fair->plain;
}

bool fair_precedes(const struct fair *fair, const struct qless_job *a, const struct qless_job *b)
{
	return precedes(a, pass_of(fair, a), b, pass_of(fair, b));
}

static double pass_of_group(const struct besttree_node *node)
{
	const struct turn *turn = lane_group_of(node)->seat->turn;

	return turn != NULL ? turn->pass : 0;
}

bool fair_group_precedes(const struct besttree_node *a, const struct besttree_node *b)
{
	const struct qless_job *x = lane_group_best(a)->best, *y = lane_group_best(b)->best;

	if (lane_group_of(a)->seat->turn == NULL)
		return lane_job_precedes(x, y);
	return precedes(x, pass_of_group(a), y, pass_of_group(b));
}

static struct seat *seat_of_open(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct seat, open);
}

static struct seat *seat_of_shut(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct seat, shut);
}

/* Compares the best jobs of two seats in groups that count as open. */
static bool open_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	return fair_group_precedes(seat_of_open(a)->open_group, seat_of_open(b)->open_group);
}

/* Compares the best jobs of two seats, whether they may run or not. */
static bool shut_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	return fair_group_precedes(besttree_best(&seat_of_shut(a)->groups),
				   besttree_best(&seat_of_shut(b)->groups));
}

/* ---- names ---- */

struct turn *turn_need(struct qless *q, struct queue *queue, struct intern *name)
{
	struct fair *fair = queue->fair;
	unsigned height;
	struct turn *turn = turn_find(fair, intern_str(name));

	if (turn != NULL)
		return turn;
	height = engine_draw_height(q);
	turn = mem_alloc(offsetof(struct turn, idle) + skipnode_size(height));
	*turn = (struct turn){ .queue = queue, .name = intern_ref(name) };
	skipnode_init(&turn->idle, height);
	hash_insert(&fair->table, &turn->hash);
	skiplist_insert(&fair->idle, &turn->idle, turn->pass);
	return turn;
}

static void turn_free(struct qless *q, struct fair *fair, struct turn *turn)
{
	assert(turn->lanes == 0 && turn->seats == NULL);
	if (turn->idle.linked)
		skiplist_remove(&fair->idle, &turn->idle);
	hash_remove(&fair->table, &turn->hash);
	intern_unref(&q->limit_names, turn->name);
	free(turn);
}

/* Forget some of the names that have no lanes, and no pass above that of the queue. The others
 * go with later calls. */
static void forget_some_idle(struct qless *q, struct fair *fair)
{
	struct skipnode *node;

	for (int i = 0; i < FORGOTTEN_MAX; i++) {
		node = skiplist_first(&fair->idle);
		if (node == NULL || node->score > fair->pass)
			return;
		turn_free(q, fair, turn_from_idle(node));
	}
}

struct turn *turn_join(struct qless *q, struct queue *queue, const struct limit_set *set)
{
	struct fair *fair = queue->fair;
	struct turn *turn;

	if (fair == NULL)
		return NULL;
	turn = turn_need(q, queue, set->limits[0]->name);
	if (turn->lanes++ == 0) {
		skiplist_remove(&fair->idle, &turn->idle);
		if (!q->are_lanes_moving)
			turn->pass = fmax(turn->pass, fair->pass);
	}
	return turn;
}

void turn_leave(struct qless *q, struct turn *turn)
{
	assert(turn->lanes > 0);
	if (--turn->lanes > 0)
		return;
	skiplist_insert(&turn->queue->fair->idle, &turn->idle, turn->pass);
	if (!q->are_lanes_moving)
		forget_some_idle(q, turn->queue->fair);
}

/* ---- seats ---- */

void turn_enter_seat(struct turn *turn, struct seat *seat)
{
	seat->next_of_turn = turn->seats;
	if (turn->seats != NULL)
		turn->seats->prev_of_turn = seat;
	turn->seats = seat;
}

void turn_leave_seat(struct turn *turn, struct seat *seat)
{
	if (seat->prev_of_turn != NULL)
		seat->prev_of_turn->next_of_turn = seat->next_of_turn;
	else
		turn->seats = seat->next_of_turn;
	if (seat->next_of_turn != NULL)
		seat->next_of_turn->prev_of_turn = seat->prev_of_turn;
}

void fair_init_seats(struct bundle *bundle)
{
	besttree_init(&bundle->open, open_is_better);
	besttree_init(&bundle->shut, shut_is_better);
}

/* Let the groups of a seat with a key of at most `seen` count as open. */
static void look(struct qless *q, struct seat *seat, double seen)
{
	struct bundle *bundle = seat->bundle;
	const struct besttree_node *shut = besttree_first_gt(&seat->groups, seen);

	seat->seen = seen;
	seat->open_group = besttree_best_le(&seat->groups, seen);
	bundle_place_node(&bundle->open, &seat->open, seat->open_group != NULL, 0);
	bundle_place_node(&bundle->shut, &seat->shut, shut != NULL, shut != NULL ? shut->key : 0);
	if (shut != NULL && shut->key > q->due_taken && shut->key < INFINITY)
		queue_falls_due(q, bundle->queue, shut->key);
}

void fair_update_seat(struct qless *q, struct seat *seat)
{
	/* After a step back of the clock, a group may open at a time that was seen already. */
	look(q, seat, fmin(seat->seen, q->now));
}

const struct besttree_node *fair_best_group(struct qless *q, struct bundle *bundle, double now,
					    struct lane_search *search)
{
	for (;;) {
		const struct besttree_node *open = besttree_best(&bundle->open);
		const struct besttree_node *shut = besttree_best_le(&bundle->shut, now);
		struct seat *seat = open != NULL ? seat_of_open(open) : NULL;

		if (seat != NULL && seat->seen > now) {
			if (!lane_search_look(q, search))
				return NULL;
			look(q, seat, now);
			continue;
		}
		if (shut == NULL ||
		    (seat != NULL &&
		     !fair_group_precedes(besttree_best(&seat_of_shut(shut)->groups),
					  seat->open_group)))
			return seat != NULL ? seat->open_group : NULL;
		/* The time at which a group opened may not have been reported yet. */
		queue_wake(q, bundle->queue);
		if (!lane_search_look(q, search))
			return NULL;
		look(q, seat_of_shut(shut), now);
	}
}

const struct besttree_node *fair_best_of_all(const struct bundle *bundle)
{
	const struct besttree_node *open = besttree_best(&bundle->open);
	const struct besttree_node *shut = besttree_best(&bundle->shut);

	if (shut == NULL)
		return seat_of_open(open)->open_group;
	shut = besttree_best(&seat_of_shut(shut)->groups);
	if (open == NULL)
		return shut;
	open = seat_of_open(open)->open_group;
	return fair_group_precedes(open, shut) ? open : shut;
}

void fair_forget_lanes(struct fair *fair)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &fair->table) {
		struct turn *turn = container_of(node, struct turn, hash);

		turn->lanes = 0;
		turn->seats = NULL;
		if (!turn->idle.linked)
			skiplist_insert(&fair->idle, &turn->idle, turn->pass);
	}
}

static bool is_seat_sound(const struct seat *seat)
{
	const struct besttree_node *shut = besttree_first_gt(&seat->groups, seat->seen);

	return seat->turn->queue == seat->bundle->queue && seat->turn->lanes >= seat->lanes &&
	       seat->open_group == besttree_best_le(&seat->groups, seat->seen) &&
	       besttree_has(&seat->open) == (seat->open_group != NULL) &&
	       besttree_has(&seat->shut) == (shut != NULL) &&
	       (shut == NULL || seat->shut.key == shut->key);
}

bool fair_are_seats_sound(const struct bundle *bundle)
{
	for (const struct seat *seat = bundle->seats; seat != NULL; seat = seat->next) {
		if (!is_seat_sound(seat))
			return false;
	}
	return besttree_is_ordered(&bundle->open) && besttree_is_ordered(&bundle->shut);
}

static bool is_turn_sound(const struct turn *turn)
{
	uint32_t lanes = 0;

	for (const struct seat *seat = turn->seats; seat != NULL; seat = seat->next_of_turn)
		lanes += seat->turn == turn ? seat->lanes : UINT32_MAX / 2;
	return lanes == turn->lanes && turn->idle.linked == (turn->lanes == 0) && turn->pass >= 0;
}

bool fair_is_sound(const struct fair *fair)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &fair->table) {
		if (!is_turn_sound(container_of(node, const struct turn, hash)))
			return false;
	}
	return true;
}

void turn_set_pass(struct qless *q, struct turn *turn, double pass)
{
	turn->pass = pass;
	if (turn->idle.linked)
		skiplist_rescore(&turn->queue->fair->idle, &turn->idle, pass);
	for (struct seat *seat = turn->seats; seat != NULL; seat = seat->next_of_turn)
		seat_update(q, seat);
}

void fair_enter_plain(struct fair *fair)
{
	fair->plain = fmax(fair->plain, fair->pass);
}

void fair_count(struct qless *q, struct queue *queue, const struct qless_job *job)
{
	const struct limit_set *set = job_limits(job);
	struct fair *fair = queue->fair;
	const struct limit_rule *rule = set != NULL ? set->limits[0]->rule : NULL;
	double by = 1 / (rule != NULL ? rule->weight : 1);
	struct turn *turn;

	if (set == NULL) {
		fair->pass = fmax(fair->pass, fair->plain);
		fair->plain += by;
	} else {
		turn = turn_find(fair, intern_str(set->limits[0]->name));
		fair->pass = fmax(fair->pass, turn->pass);
		turn_set_pass(q, turn, turn->pass + by);
	}
	forget_some_idle(q, fair);
}

/* ---- the option ---- */

static struct fair *fair_new(struct qless *q)
{
	struct fair *fair = mem_zalloc(sizeof *fair);

	hash_init(&fair->table, turn_key, q->hooks.hash_seed);
	skiplist_init(&fair->idle, idle_member);
	return fair;
}

bool fair_discard_one(struct qless *q, struct fair *fair)
{
	struct hash_node *node = hash_take(&fair->table);
	struct turn *turn;

	if (node == NULL)
		return false;
	turn = container_of(node, struct turn, hash);
	if (q != NULL)
		intern_unref(&q->limit_names, turn->name);
	free(turn);
	return true;
}

void fair_free(struct qless *q, struct fair *fair)
{
	if (fair == NULL)
		return;
	while (fair_discard_one(q, fair))
		continue;
	hash_done(&fair->table);
	skiplist_done(&fair->idle);
	free(fair);
}

void queue_set_fair(struct qless *q, struct queue *queue, bool is_fair)
{
	struct fair *old = queue->fair;
	struct filing *filing;
	size_t at = 0;

	if ((old != NULL) == is_fair)
		return;
	queue->fair = is_fair ? fair_new(q) : NULL;
	/* Nothing is filed under the old names if there is no filing. */
	if (queue->filing == NULL) {
		fair_free(q, old);
		return;
	}
	while ((filing = shelf_next_filing(queue, &at)) != NULL)
		bundles_outdate(q, filing, filing == queue->filing ? old : NULL);
}

/* ---- reading ---- */

static int compare_turns(const void *a, const void *b)
{
	return str_compare(intern_str((*(struct turn *const *)a)->name),
			   intern_str((*(struct turn *const *)b)->name));
}

struct turn **fair_sort_turns(const struct fair *fair, size_t *ret_count)
{
	struct turn **turns =
		mem_realloc_array(NULL, (size_t)hash_count(&fair->table) + 1, sizeof *turns);
	struct hash_iter it;
	struct hash_node *node;
	size_t count = 0;

	HASH_FOREACH(node, &it, &fair->table) {
		turns[count] = container_of(node, struct turn, hash);
		count += turns[count]->pass > 0 || fair->pass > 0;
	}
	if (count > 0)
		qsort(turns, count, sizeof *turns, compare_turns);
	*ret_count = count;
	return turns;
}
