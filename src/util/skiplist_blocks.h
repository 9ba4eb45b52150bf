/*
 * The nodes of a packed skiplist in blocks: a tree that knows ranks, for skiplist.c.
 *
 * A leaf has up to 62 nodes that follow each other, and each node knows its leaf. A block above the
 * leaves has up to 40 blocks, and how many nodes are below each. Nothing here compares nodes: the
 * caller says where a node belongs.
 */
#ifndef UTIL_SKIPLIST_BLOCKS_H
#define UTIL_SKIPLIST_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/skiplist.h"

struct skiplist_blocks {
	skiplist_block_fn *block_of;
	struct skiplist_block *root; /* NULL if there are no nodes */
	size_t bytes;		     /* of all blocks */
};

/* Returns whether a node lies before a place. Holds for the first nodes, up to some node. */
typedef bool skiplist_blocks_before_fn(const struct skipnode *node, const void *place);

/* Insert a node after `before`, or as the first one if that is NULL. */
void skiplist_blocks_insert(struct skiplist_blocks *blocks, struct skipnode *node,
			    struct skipnode *before);
void skiplist_blocks_remove(struct skiplist_blocks *blocks, struct skipnode *node);
/* Free all blocks. The nodes still point to theirs. */
void skiplist_blocks_clear(struct skiplist_blocks *blocks);

uint32_t skiplist_blocks_rank(const struct skiplist_blocks *blocks, const struct skipnode *node);
/* The node of a rank that exists. */
struct skipnode *skiplist_blocks_at(const struct skiplist_blocks *blocks, uint32_t rank);
/* Returns whether the node, which is in some list, is in these blocks. */
bool skiplist_blocks_have(const struct skiplist_blocks *blocks, const struct skipnode *node);
/* The last node before a place, and the number of nodes up to it; NULL and 0 if there is none. */
struct skipnode *skiplist_blocks_last_before(const struct skiplist_blocks *blocks,
					     skiplist_blocks_before_fn *lies_before,
					     const void *place, uint32_t *ret_count);

#endif
