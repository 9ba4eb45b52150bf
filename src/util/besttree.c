/*
 * An AVL tree: the heights of the two subtrees of a node differ by at most one.
 *
 * The two lowest bits of `up` hold the balance of a node, plus one: the height of the right subtree
 * minus that of the left one. Nodes are aligned, so these bits of the parent's address are 0.
 *
 * The best node of a subtree is its root, or the best node of one of the root's subtrees. This also
 * holds as the identity of nodes where several are equally good. So no node refers to a best node
 * that is not in its subtree, and an update can stop at the first ancestor for which nothing
 * changed.
 */
#include "util/besttree.h"

#include <assert.h>
#include <math.h>

#define BALANCE_BITS ((uintptr_t)3)

enum { LEFT, RIGHT };

static struct besttree_node *parent_of(const struct besttree_node *node)
{
	return (struct besttree_node *)(node->up & ~BALANCE_BITS);
}

static void set_parent(struct besttree_node *node, struct besttree_node *parent)
{
	node->up = (uintptr_t)parent | (node->up & BALANCE_BITS);
}

static int balance_of(const struct besttree_node *node)
{
	return (int)(node->up & BALANCE_BITS) - 1;
}

static void set_balance(struct besttree_node *node, int balance)
{
	node->up = (node->up & ~BALANCE_BITS) | (uintptr_t)(balance + 1);
}

/* The balance of a node whose subtree on `side` is higher by one. */
static int leaning(int side)
{
	return side == RIGHT ? 1 : -1;
}

static int side_of(const struct besttree_node *parent, const struct besttree_node *child)
{
	return parent->child[RIGHT] == child ? RIGHT : LEFT;
}

void besttree_init(struct besttree *tree, besttree_is_better_fn *is_better)
{
	*tree = (struct besttree){ .is_better = is_better };
}

void besttree_node_init(struct besttree_node *node)
{
	*node = (struct besttree_node){ .key = 0 };
}

/* Whether `a` is better than `b`. The values are passed on, because they are also known where the
 * nodes are not in the cache. */
static bool is_better(const struct besttree *tree, const struct besttree_node *a, double a_value,
		      const struct besttree_node *b, double b_value)
{
	return a_value != b_value ? a_value > b_value : tree->is_better(a, b);
}

/* Whether the best node of a subtree is better than another node. */
static bool has_better(const struct besttree *tree, const struct besttree_node *subtree,
		       const struct besttree_node *other, double value)
{
	return is_better(tree, subtree->best, subtree->best_value, other, value);
}

/* Find the best node of a subtree whose lower subtrees know theirs. The one of before remains if no
 * other is better. */
static void refresh(const struct besttree *tree, struct besttree_node *node)
{
	struct besttree_node *best = node;
	double value = node->value;

	for (int side = LEFT; side <= RIGHT; side++) {
		const struct besttree_node *child = node->child[side];

		if (child == NULL)
			continue;
		if (child->best == node->best
			    ? !is_better(tree, best, value, child->best, child->best_value)
			    : has_better(tree, child, best, value)) {
			best = child->best;
			value = child->best_value;
		}
	}
	node->best = best;
	node->best_value = value;
}

/* Put `child` in the place of `old` below `parent`, which is NULL above the root. */
static void replace_child(struct besttree *tree, struct besttree_node *parent,
			  const struct besttree_node *old, struct besttree_node *child)
{
	if (parent == NULL)
		tree->root = child;
	else
		parent->child[side_of(parent, old)] = child;
	if (child != NULL)
		set_parent(child, parent);
}

/* Rotate: the child on `side` takes the place of `node`, which becomes its child. The balances
 * remain for the caller to set. */
static void lift_child(struct besttree *tree, struct besttree_node *node, int side)
{
	struct besttree_node *child = node->child[side];
	struct besttree_node *inner = child->child[!side];

	replace_child(tree, parent_of(node), node, child);
	node->child[side] = inner;
	if (inner != NULL)
		set_parent(inner, node);
	child->child[!side] = node;
	set_parent(node, child);
	child->best = node->best;
	child->best_value = node->best_value;
	refresh(tree, node);
}

/* Balance a subtree whose root is two higher on `side`. Returns its new root. */
static struct besttree_node *rebalance(struct besttree *tree, struct besttree_node *node, int side)
{
	struct besttree_node *child = node->child[side];
	struct besttree_node *inner = child->child[!side];
	int balance = balance_of(child);

	if (balance == leaning(!side)) {
		balance = balance_of(inner);
		lift_child(tree, child, !side);
		lift_child(tree, node, side);
		set_balance(node, balance == leaning(side) ? leaning(!side) : 0);
		set_balance(child, balance == leaning(!side) ? leaning(side) : 0);
		set_balance(inner, 0);
		return inner;
	}
	lift_child(tree, node, side);
	set_balance(node, balance == 0 ? leaning(side) : 0);
	set_balance(child, balance == 0 ? leaning(!side) : 0);
	return child;
}

/* The subtree of `node` has become higher by one. */
static void grow(struct besttree *tree, const struct besttree_node *node)
{
	struct besttree_node *parent;

	for (; (parent = parent_of(node)) != NULL; node = parent) {
		int side = side_of(parent, node);
		int balance = balance_of(parent) + leaning(side);

		if (balance < -1 || balance > 1) {
			rebalance(tree, parent, side);
			return;
		}
		set_balance(parent, balance);
		if (balance == 0)
			return;
	}
}

void besttree_insert(struct besttree *tree, struct besttree_node *node, double key)
{
	struct besttree_node *parent = NULL;
	int side = LEFT;

	assert(!besttree_has(node) && !isnan(key));
	for (struct besttree_node *at = tree->root; at != NULL; at = at->child[side]) {
		parent = at;
		side = key < at->key ? LEFT : RIGHT;
	}
	*node = (struct besttree_node){
		.key = key,
		.value = node->value,
		.best_value = node->value,
		.best = node,
	};
	set_parent(node, parent);
	set_balance(node, 0);
	if (parent == NULL)
		tree->root = node;
	else
		parent->child[side] = node;
	tree->count++;

	for (;
	     parent != NULL && is_better(tree, node, node->value, parent->best, parent->best_value);
	     parent = parent_of(parent)) {
		parent->best = node;
		parent->best_value = node->value;
	}
	grow(tree, node);
}

/*
 * The subtree of `node` on `side` has become lower by one. The ancestors must find their best nodes
 * anew: all up to `last`, and from there as long as something changes.
 */
static void shrink(struct besttree *tree, struct besttree_node *node, int side,
		   const struct besttree_node *last)
{
	bool is_lower = true;
	bool past_last = false;

	while (node != NULL) {
		struct besttree_node *parent = parent_of(node);
		const struct besttree_node *best = node->best;
		int parent_side = parent != NULL ? side_of(parent, node) : LEFT;
		bool changed;

		past_last = past_last || node == last;
		refresh(tree, node);
		changed = node->best != best;
		if (is_lower) {
			int balance = balance_of(node) - leaning(side);

			if (balance < -1 || balance > 1)
				node = rebalance(tree, node, !side);
			else
				set_balance(node, balance);
			is_lower = balance_of(node) == 0;
		}
		if (past_last && !is_lower && !changed)
			return;
		node = parent;
		side = parent_side;
	}
}

/* Put the next node in the order in the place of `node`, which has two children. */
static void replace_by_next(struct besttree *tree, struct besttree_node *node)
{
	struct besttree_node *next = besttree_next(node);
	struct besttree_node *low = parent_of(next);
	int side = side_of(low, next);

	replace_child(tree, low, next, next->child[RIGHT]);
	if (low == node)
		low = next;
	for (int i = LEFT; i <= RIGHT; i++) {
		next->child[i] = node->child[i];
		if (next->child[i] != NULL)
			set_parent(next->child[i], next);
	}
	next->best = node->best;
	next->best_value = node->best_value;
	set_balance(next, balance_of(node));
	replace_child(tree, parent_of(node), node, next);
	shrink(tree, low, side, next);
}

void besttree_remove(struct besttree *tree, struct besttree_node *node)
{
	assert(besttree_has(node));
	if (node->child[LEFT] != NULL && node->child[RIGHT] != NULL) {
		replace_by_next(tree, node);
	} else {
		struct besttree_node *parent = parent_of(node);
		int side = parent != NULL ? side_of(parent, node) : LEFT;

		replace_child(tree, parent, node, node->child[node->child[LEFT] == NULL]);
		shrink(tree, parent, side, parent);
	}
	node->best = NULL;
	tree->count--;
}

void besttree_update(struct besttree *tree, struct besttree_node *node)
{
	assert(besttree_has(node));
	for (struct besttree_node *at = node; at != NULL; at = parent_of(at)) {
		const struct besttree_node *best = at->best;

		refresh(tree, at);
		/* While the node itself is the best one, its change may matter further up. */
		if (at->best == best && best != node)
			return;
	}
}

/* The neighbour on a side, or NULL at the ends. */
static struct besttree_node *neighbour(const struct besttree_node *node, int side)
{
	struct besttree_node *at = node->child[side];

	if (at != NULL) {
		while (at->child[!side] != NULL)
			at = at->child[!side];
		return at;
	}
	at = parent_of(node);
	while (at != NULL && at->child[side] == node) {
		node = at;
		at = parent_of(at);
	}
	return at;
}

void besttree_rekey(struct besttree *tree, struct besttree_node *node, double key)
{
	const struct besttree_node *before;
	const struct besttree_node *after;

	assert(besttree_has(node) && !isnan(key));
	before = neighbour(node, LEFT);
	after = neighbour(node, RIGHT);
	if ((before == NULL || before->key <= key) && (after == NULL || key <= after->key)) {
		node->key = key;
		besttree_update(tree, node);
		return;
	}
	besttree_remove(tree, node);
	besttree_insert(tree, node, key);
}

struct besttree_node *besttree_best_le(const struct besttree *tree, double key)
{
	struct besttree_node *best = NULL;
	struct besttree_node *at = tree->root;
	double value = -INFINITY;

	while (at != NULL) {
		const struct besttree_node *left = at->child[LEFT];

		if (at->key > key) {
			at = at->child[LEFT];
			continue;
		}
		if (best == NULL || is_better(tree, at, at->value, best, value)) {
			best = at;
			value = at->value;
		}
		if (left != NULL && has_better(tree, left, best, value)) {
			best = left->best;
			value = left->best_value;
		}
		at = at->child[RIGHT];
	}
	return best;
}

struct besttree_node *besttree_first(const struct besttree *tree)
{
	struct besttree_node *at = tree->root;

	while (at != NULL && at->child[LEFT] != NULL)
		at = at->child[LEFT];
	return at;
}

struct besttree_node *besttree_first_gt(const struct besttree *tree, double key)
{
	struct besttree_node *first = NULL;
	struct besttree_node *at = tree->root;

	while (at != NULL) {
		if (at->key > key)
			first = at;
		at = at->child[at->key > key ? LEFT : RIGHT];
	}
	return first;
}

struct besttree_node *besttree_next(const struct besttree_node *node)
{
	return neighbour(node, RIGHT);
}

/* Check a subtree, and return its height, or -1 if something is wrong. */
static int check_subtree(const struct besttree *tree, const struct besttree_node *node)
{
	bool knows_best = node->best == node;
	int heights[2] = { 0, 0 };

	for (int side = LEFT; side <= RIGHT; side++) {
		const struct besttree_node *child = node->child[side];

		if (child == NULL)
			continue;
		heights[side] = check_subtree(tree, child);
		if (heights[side] < 0 || parent_of(child) != node ||
		    has_better(tree, child, node->best, node->best_value))
			return -1;
		knows_best = knows_best || node->best == child->best;
	}
	if (!knows_best || node->best_value != node->best->value ||
	    is_better(tree, node, node->value, node->best, node->best_value) ||
	    heights[RIGHT] - heights[LEFT] != balance_of(node))
		return -1;
	return 1 + (heights[LEFT] > heights[RIGHT] ? heights[LEFT] : heights[RIGHT]);
}

bool besttree_is_ordered(const struct besttree *tree)
{
	double key = -INFINITY;
	size_t count = 0;

	if (tree->root != NULL &&
	    (parent_of(tree->root) != NULL || check_subtree(tree, tree->root) < 0))
		return false;
	for (const struct besttree_node *node = besttree_first(tree); node != NULL;
	     node = besttree_next(node)) {
		if (node->key < key)
			return false;
		key = node->key;
		count++;
	}
	return count == tree->count;
}
