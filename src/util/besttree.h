/*
 * A tree ordered by a key, in which every node knows the best node of its subtree.
 *
 * It answers "the best of all nodes with a key of at most x" in O(log n). The best node is the one
 * with the highest value. Among nodes with equal values, the caller says which is better.
 * Inserting, removing and changing a key or a value take O(log n), too. The tree allocates nothing.
 *
 * Nodes belong to the caller, and know their place. Nodes with equal keys are in no particular
 * order.
 *
 *	struct thing {
 *		...
 *		struct besttree_node opening;
 *	};
 *
 *	besttree_init(&tree, is_better);
 *	besttree_node_init(&t->opening);
 *	t->opening.value = ...;
 *	besttree_insert(&tree, &t->opening, when);
 *	best = besttree_best_le(&tree, now);
 */
#ifndef UTIL_BESTTREE_H
#define UTIL_BESTTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct besttree_node {
	double key;
	double value;		    /* set by the owner; not NaN */
	double best_value;	    /* of `best` */
	struct besttree_node *best; /* of its subtree, itself included; NULL while in no tree */
	struct besttree_node *child[2];
	uintptr_t up; /* the parent, and in the two lowest bits the balance, see besttree.c */
};

/*
 * Returns whether `a` is better than `b`, whose value is equal. This does not depend on the key.
 * The order is a strict one, and a total one if the result must not depend on the history of the
 * tree: if neither of two nodes is better, either counts as the best.
 */
typedef bool besttree_is_better_fn(const struct besttree_node *a, const struct besttree_node *b);

/* The fields belong to besttree.c and the inline functions here. */
struct besttree {
	besttree_is_better_fn *is_better;
	struct besttree_node *root;
	size_t count;
};

/* Initialises an empty tree. It never needs to be freed. */
void besttree_init(struct besttree *tree, besttree_is_better_fn *is_better);

/* Initialises a node that is in no tree, with 0 as value. */
void besttree_node_init(struct besttree_node *node);

static inline bool besttree_has(const struct besttree_node *node)
{
	return node->best != NULL;
}

static inline size_t besttree_count(const struct besttree *tree)
{
	return tree->count;
}

/* Borrows the node, which is in no tree, until it is removed. The key may be infinite but not NaN.
 */
void besttree_insert(struct besttree *tree, struct besttree_node *node, double key);

/*
 * Call one of these after the value of a node of this tree changed, before the value of another
 * node changes and before any search. besttree_update() leaves the key alone. besttree_rekey() is
 * cheap if the node keeps its place.
 */
void besttree_update(struct besttree *tree, struct besttree_node *node);
void besttree_rekey(struct besttree *tree, struct besttree_node *node, double key);
void besttree_remove(struct besttree *tree, struct besttree_node *node);

/* Returns the best node of all, or NULL if the tree is empty. Takes O(1). */
static inline struct besttree_node *besttree_best(const struct besttree *tree)
{
	return tree->root != NULL ? tree->root->best : NULL;
}

/* Returns the best node with a key of at most `key`, or NULL if there is none. */
struct besttree_node *besttree_best_le(const struct besttree *tree, double key);

/* Return a node with the lowest key, or with the lowest key above `key`, or NULL if there is none.
 */
struct besttree_node *besttree_first(const struct besttree *tree);
struct besttree_node *besttree_first_gt(const struct besttree *tree, double key);

/* Returns the next node in the order of keys, or NULL after the last one. */
struct besttree_node *besttree_next(const struct besttree_node *node);

/* Returns whether the keys are in order, the tree is balanced, and every node knows its parent and
 * the best node of its subtree. Takes time proportional to the size of the tree. */
bool besttree_is_ordered(const struct besttree *tree);

#endif
