#include "util/heap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "util/mem.h"

void heap_node_init(struct heap_node *node)
{
	*node = (struct heap_node){ INFINITY, HEAP_NOWHERE };
}

static void put_at(struct heap *heap, struct heap_node *node, size_t place)
{
	heap->nodes[place] = node;
	node->place = (uint32_t)place;
}

/* Move a node towards the top until its parent comes before it. */
static void rise(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place;

	while (place > 0) {
		struct heap_node *parent = heap->nodes[(place - 1) / 2];

		if (parent->key <= node->key)
			break;
		put_at(heap, parent, place);
		place = (place - 1) / 2;
	}
	put_at(heap, node, place);
}

/* Move a node away from the top until it comes before its children. */
static void sink(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place;
	size_t child;

	while ((child = 2 * place + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    heap->nodes[child + 1]->key < heap->nodes[child]->key)
			child++;
		if (node->key <= heap->nodes[child]->key)
			break;
		put_at(heap, heap->nodes[child], place);
		place = child;
	}
	put_at(heap, node, place);
}

void heap_insert(struct heap *heap, struct heap_node *node, double key)
{
	assert(!heap_has(node) && !isnan(key) && heap->count < HEAP_NOWHERE);
	heap->nodes = mem_grow(heap->nodes, &heap->cap, heap->count + 1, sizeof(*heap->nodes));
	node->key = key;
	put_at(heap, node, heap->count++);
	rise(heap, node);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
	struct heap_node *last;

	assert(node->place < heap->count && heap->nodes[node->place] == node);
	last = heap->nodes[--heap->count];
	if (last != node) {
		put_at(heap, last, node->place);
		rise(heap, last);
		sink(heap, last);
	}
	heap_node_init(node);
}

void heap_rekey(struct heap *heap, struct heap_node *node, double key)
{
	assert(node->place < heap->count && heap->nodes[node->place] == node && !isnan(key));
	node->key = key;
	rise(heap, node);
	sink(heap, node);
}

bool heap_is_ordered(const struct heap *heap)
{
	for (size_t i = 0; i < heap->count; i++) {
		if (heap->nodes[i]->place != i ||
		    heap->nodes[(i - (i > 0)) / 2]->key > heap->nodes[i]->key)
			return false;
	}
	return true;
}

void heap_done(struct heap *heap)
{
	free(heap->nodes);
	*heap = (struct heap){ 0 };
}
