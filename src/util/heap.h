/*
 * A heap of nodes that belong to the caller. The node with the lowest key is on top.
 *
 * Finding the top takes O(1). Inserting, removing and changing a key takes O(log n). A node knows
 * its place, so it can be removed from anywhere in the heap. Nodes with equal keys are in no
 * particular order.
 *
 *	struct thing {
 *		...
 *		struct heap_node due;
 *	};
 *
 *	heap_node_init(&t->due);
 *	heap_insert(&heap, &t->due, when);
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place of a node that is in no heap. */
#define HEAP_NOWHERE UINT32_MAX

struct heap_node {
	double key; /* INFINITY while the node is in no heap */
	uint32_t place;
};

/* A zeroed struct is an empty heap. */
struct heap {
	struct heap_node **nodes;
	size_t count;
	size_t cap;
};

/* Initialises a node that is in no heap. */
void heap_node_init(struct heap_node *node);

static inline bool heap_has(const struct heap_node *node)
{
	return node->place != HEAP_NOWHERE;
}

/* Returns the node with the lowest key, or NULL if the heap is empty. */
static inline struct heap_node *heap_first(const struct heap *heap)
{
	return heap->count > 0 ? heap->nodes[0] : NULL;
}

/* Borrows the node, which is in no heap, until it is removed. The key is not NaN. */
void heap_insert(struct heap *heap, struct heap_node *node, double key);

/* The node is in this heap. */
void heap_remove(struct heap *heap, struct heap_node *node);
void heap_rekey(struct heap *heap, struct heap_node *node, double key);

/* Whether every node knows its place and none comes before its parent. Takes time proportional to
 * the size of the heap. */
bool heap_is_ordered(const struct heap *heap);

/* Frees what the heap allocated. Nodes that are still in it are not touched. */
void heap_done(struct heap *heap);

#endif
