#include "engine/fair.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
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

static struct turn *turn_of_open(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct turn, open);
}

static struct turn *turn_of_shut(const struct besttree_node *node)
{
	return container_of((struct besttree_node *)(uintptr_t)node, struct turn, shut);
}

/* The best job of the open groups of a name that has some. */
static const struct qless_job *open_job(const struct turn *turn)
{
	return lane_group_best(turn->open_group)->best;
}

/* Compares the best jobs of two names in groups that count as open. */
static bool open_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	const struct turn *x = turn_of_open(a), *y = turn_of_open(b);

	return precedes(open_job(x), x->pass, open_job(y), y->pass);
}

/* Compares the best jobs of two names, whether they may run or not. */
static bool shut_is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	const struct turn *x = turn_of_shut(a), *y = turn_of_shut(b);

	return precedes(lane_tree_best(&x->groups), x->pass, lane_tree_best(&y->groups), y->pass);
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
	besttree_init(&turn->groups, lane_group_is_better);
	besttree_node_init(&turn->open);
	besttree_node_init(&turn->shut);
	skipnode_init(&turn->idle, height);
	hash_insert(&fair->table, &turn->hash);
	skiplist_insert(&fair->idle, &turn->idle, turn->pass);
	return turn;
}

static void turn_free(struct qless *q, struct fair *fair, struct turn *turn)
{
	assert(turn->lanes == 0 && besttree_count(&turn->groups) == 0);
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

/* Put a node of a name where it belongs: with a key, or in no tree. */
static void place(struct besttree *tree, struct besttree_node *node, bool belongs, double key)
{
	if (belongs && besttree_has(node))
		besttree_rekey(tree, node, key);
	else if (belongs)
		besttree_insert(tree, node, key);
	else if (besttree_has(node))
		besttree_remove(tree, node);
}

/* Let the groups of a name with a key of at most `seen` count as open. */
static void look(struct qless *q, struct turn *turn, double seen)
{
	struct fair *fair = turn->queue->fair;
	const struct besttree_node *shut = besttree_first_gt(&turn->groups, seen);

	turn->seen = seen;
	turn->open_group = besttree_best_le(&turn->groups, seen);
	place(&fair->open, &turn->open, turn->open_group != NULL, 0);
	place(&fair->shut, &turn->shut, shut != NULL, shut != NULL ? shut->key : 0);
	if (shut != NULL && shut->key > q->due_taken && shut->key < INFINITY)
		queue_falls_due(q, turn->queue, shut->key);
}

void turn_update(struct qless *q, struct turn *turn)
{
	/* After a step back of the clock, a group may open at a time that was seen already. */
	look(q, turn, fmin(turn->seen, q->now));
}

const struct besttree_node *fair_best_group(struct qless *q, struct queue *queue, double now,
					    struct lane_search *search)
{
	struct fair *fair = queue->fair;

	for (;;) {
		const struct besttree_node *open = besttree_best(&fair->open);
		const struct besttree_node *shut = besttree_best_le(&fair->shut, now);
		struct turn *turn = open != NULL ? turn_of_open(open) : NULL;

		if (turn != NULL && turn->seen > now) {
			if (!lane_search_look(q, search))
				return NULL;
			look(q, turn, now);
			continue;
		}
		if (shut == NULL)
			return turn != NULL ? turn->open_group : NULL;
		if (turn != NULL) {
			const struct turn *other = turn_of_shut(shut);

			if (!precedes(lane_tree_best(&other->groups), other->pass, open_job(turn),
				      turn->pass))
				return turn->open_group;
		}
		/* The time at which a group opened may not have been reported yet. */
		queue_wake(q, queue);
		if (!lane_search_look(q, search))
			return NULL;
		look(q, turn_of_shut(shut), now);
	}
}

void fair_forget_lanes(struct fair *fair)
{
	struct hash_iter it;
	struct hash_node *node;

	besttree_init(&fair->open, open_is_better);
	besttree_init(&fair->shut, shut_is_better);
	HASH_FOREACH(node, &it, &fair->table) {
		struct turn *turn = container_of(node, struct turn, hash);

		turn->lanes = 0;
		besttree_init(&turn->groups, lane_group_is_better);
		turn->open_group = NULL;
		besttree_node_init(&turn->open);
		besttree_node_init(&turn->shut);
		if (!turn->idle.linked)
			skiplist_insert(&fair->idle, &turn->idle, turn->pass);
	}
}

static bool is_turn_sound(const struct turn *turn)
{
	const struct besttree_node *shut = besttree_first_gt(&turn->groups, turn->seen);

	return besttree_is_ordered(&turn->groups) && turn->idle.linked == (turn->lanes == 0) &&
	       (turn->lanes == 0) == (besttree_count(&turn->groups) == 0) &&
	       turn->open_group == besttree_best_le(&turn->groups, turn->seen) &&
	       besttree_has(&turn->open) == (turn->open_group != NULL) &&
	       besttree_has(&turn->shut) == (shut != NULL) &&
	       (shut == NULL || turn->shut.key == shut->key) && turn->pass >= 0;
}

bool fair_is_sound(const struct fair *fair)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &fair->table) {
		if (!is_turn_sound(container_of(node, const struct turn, hash)))
			return false;
	}
	return besttree_is_ordered(&fair->open) && besttree_is_ordered(&fair->shut);
}

void turn_set_pass(struct qless *q, struct turn *turn, double pass)
{
	turn->pass = pass;
	if (turn->idle.linked)
		skiplist_rescore(&turn->queue->fair->idle, &turn->idle, pass);
	turn_update(q, turn);
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
	besttree_init(&fair->open, open_is_better);
	besttree_init(&fair->shut, shut_is_better);
	return fair;
}

void fair_free(struct qless *q, struct fair *fair)
{
	struct hash_node *node;

	if (fair == NULL)
		return;
	while ((node = hash_take(&fair->table)) != NULL) {
		struct turn *turn = container_of(node, struct turn, hash);

		if (q != NULL)
			intern_unref(&q->limit_names, turn->name);
		free(turn);
	}
	hash_done(&fair->table);
	skiplist_done(&fair->idle);
	free(fair);
}

void queue_set_fair(struct qless *q, struct queue *queue, bool is_fair)
{
	struct fair *old = queue->fair;

	if ((old != NULL) == is_fair)
		return;
	lanes_withdraw(q, queue);
	queue->fair = is_fair ? fair_new(q) : NULL;
	fair_free(q, old);
	lanes_return(q, queue);
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

	HASH_FOREACH(node, &it, &fair->table)
		turns[count++] = container_of(node, struct turn, hash);
	if (count > 0)
		qsort(turns, count, sizeof *turns, compare_turns);
	*ret_count = count;
	return turns;
}
