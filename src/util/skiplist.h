/*
 * A sorted list in which every node knows its rank: an indexable skiplist.
 *
 * Nodes are ordered by score, then by the bytes of their member: the order of a sorted set of
 * Redis. Searching, ranks and changes in the middle take O(log n). Inserting and removing at either
 * end takes O(1) on average, and compares only with the node at that end.
 *
 * Nodes belong to the caller. The height of a node is drawn once, when the node is created. The
 * node takes skipnode_size(height) bytes: struct skipnode, followed by its upper levels. So it is
 * the last member of its object, or the room after it is kept free. Three of four nodes have height
 * 1 and no upper level. A node is in one list at a time and can move between lists.
 *
 *	struct thing {
 *		...
 *		struct skipnode node;
 *	};
 *
 *	unsigned height = skiplist_draw_height(&state);
 *	struct thing *t = mem_alloc(offsetof(struct thing, node) + skipnode_size(height));
 *
 *	skipnode_init(&t->node, height);
 *
 * A packed list has its nodes in blocks instead of levels, and each node knows its block. Use it if
 * nodes leave from the middle: that takes two or three lines of memory that are not in the cache,
 * instead of twenty. It needs room for a pointer in each node's object, and 8 to 16 bytes a node.
 */
#ifndef UTIL_SKIPLIST_H
#define UTIL_SKIPLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* Levels of the highest node. One node of four reaches the next level, so 16 suffice for 2^32
 * nodes. */
#define SKIPLIST_HEIGHT_MAX 16

/* Nodes that a list holds at most; asserted. */
#define SKIPLIST_COUNT_MAX (UINT32_MAX - 1)

struct skipnode {
	double score;
	struct skipnode *prev;
	struct skipnode *next;
	uint32_t aux; /* for the owner; the list ignores it */
	uint8_t height;
	bool linked;	/* whether it is in a list */
	uint16_t aux16; /* for the owner, too, in what would be padding */
};

/* A level of a node above the lowest; only skiplist.c uses it. */
struct skipnode_level {
	struct skipnode *next;
	uint32_t span; /* ranks from this node to `next`; undefined if that is NULL */
};

/* Returns the member, which orders nodes of equal score. No two nodes of a list have the same score
 * and member. The member must not change while the node is in a list. */
typedef struct qless_str skiplist_member_fn(const struct skipnode *node);

struct skiplist_block;

/* Returns where the owner of a node of a packed list keeps the pointer to its block; NULL if the
 * node can be in no such list, which only skiplist_has() asks. */
typedef struct skiplist_block **skiplist_block_fn(struct skipnode *node);

/* The fields belong to skiplist.c and the inline functions here. */
struct skiplist {
	skiplist_member_fn *member;
	struct skipnode *first;
	struct skipnode *last;
	union {
		struct skiplist_ends *up;	/* the ends of each level above the lowest */
		struct skiplist_blocks *blocks; /* of a packed list */
	};
	uint32_t count;
	uint32_t origin; /* number of the first node, see skiplist.c */
	uint8_t up_count;
	uint8_t up_cap;
	bool is_packed;
};

/* Draws the height of a node, 1 to SKIPLIST_HEIGHT_MAX, from a generator that the caller owns. The
 * state may start with any value. The same state gives the same heights. */
unsigned skiplist_draw_height(uint64_t *state);

/* Bytes of a node, with struct skipnode. */
static inline size_t skipnode_size(unsigned height)
{
	return sizeof(struct skipnode) + (height - 1) * sizeof(struct skipnode_level);
}

/* Initialises a node that is in no list, with 0 as `aux` and `aux16`. */
void skipnode_init(struct skipnode *node, unsigned height);

void skiplist_init(struct skiplist *list, skiplist_member_fn *member);
/* Initialises a packed list. */
void skiplist_init_packed(struct skiplist *list, skiplist_member_fn *member,
			  skiplist_block_fn *block_of);

/* Frees the memory of the list. It does not touch the nodes, which may be freed before or after. A
 * node that was in the list needs skipnode_init() before it goes into a list again. */
void skiplist_done(struct skiplist *list);

/* Lets the list forget its nodes. What skiplist_done() says about them holds here, too. */
void skiplist_clear(struct skiplist *list);

/* Bytes that the list has allocated, without the nodes. */
size_t skiplist_memory(const struct skiplist *list);

static inline uint32_t skiplist_count(const struct skiplist *list)
{
	return list->count;
}

/* Borrows the node, which is in no list, until it is removed. The score may be infinite but not
 * NaN. */
void skiplist_insert(struct skiplist *list, struct skipnode *node, double score);

/*
 * Nodes to insert or remove together. They are sorted first, so that the path to each is a short
 * one from the place of the one before. A zeroed struct is an empty batch.
 */
struct skiplist_batch {
	struct skiplist_batch_item *items;
	size_t count;
	size_t cap;
};

/* The node is in no list, or in the list that it will be removed from. */
void skiplist_batch_add(struct skiplist_batch *batch, struct skipnode *node, double score);

/* Sorts the nodes of a batch as the list will. The insertion also does that, and takes no time for
 * nodes that are in order already. */
void skiplist_sort_batch(const struct skiplist *list, struct skiplist_batch *batch);

struct skipnode *skiplist_batch_node(const struct skiplist_batch *batch, size_t i);

/* Inserts all nodes as skiplist_insert() does, and empties the batch. */
void skiplist_insert_batch(struct skiplist *list, struct skiplist_batch *batch);

/* Removes all nodes, which are in this list, and empties the batch. Their scores in the batch do
 * not matter. */
void skiplist_remove_batch(struct skiplist *list, struct skiplist_batch *batch);

void skiplist_batch_done(struct skiplist_batch *batch);

/* Removes a node of this list. */
void skiplist_remove(struct skiplist *list, struct skipnode *node);

/* Returns whether the node is in this list. Compares no members, so it is right even in a list that
 * is out of order. */
bool skiplist_has(const struct skiplist *list, const struct skipnode *node);

/* Inserts a node, which is in no list, right after `before`, or as the first one if that is NULL.
 * For repairs: the caller answers for the order. */
void skiplist_insert_after(struct skiplist *list, struct skipnode *node, double score,
			   struct skipnode *before);

/* Gives a node of this list another score. Cheap if its rank does not change. */
void skiplist_rescore(struct skiplist *list, struct skipnode *node, double score);

/* Removes and returns the first or the last node, or NULL if the list is empty. */
struct skipnode *skiplist_pop_first(struct skiplist *list);
struct skipnode *skiplist_pop_last(struct skiplist *list);

/* Neighbours, or NULL at the ends. To remove nodes on the way, ask for the next one first. */
static inline struct skipnode *skiplist_first(const struct skiplist *list)
{
	return list->first;
}

static inline struct skipnode *skiplist_last(const struct skiplist *list)
{
	return list->last;
}

static inline struct skipnode *skiplist_next(const struct skipnode *node)
{
	return node->next;
}

static inline struct skipnode *skiplist_prev(const struct skipnode *node)
{
	return node->prev;
}

/* The rank of a node of this list. The first one has rank 0. */
uint32_t skiplist_rank(const struct skiplist *list, const struct skipnode *node);

/* The node of a rank, or NULL if the list is too short. */
struct skipnode *skiplist_at(const struct skiplist *list, uint32_t rank);

/* The first node with a score of at least, or above `score`; the last node with a score of at most,
 * or below it. NULL if there is none. */
struct skipnode *skiplist_first_ge(const struct skiplist *list, double score);
struct skipnode *skiplist_first_gt(const struct skiplist *list, double score);
struct skipnode *skiplist_last_le(const struct skiplist *list, double score);
struct skipnode *skiplist_last_lt(const struct skiplist *list, double score);

/* The number of nodes with a score below, or of at most `score`. They are the ranks of
 * skiplist_first_ge() and skiplist_first_gt(). */
uint32_t skiplist_count_lt(const struct skiplist *list, double score);
uint32_t skiplist_count_le(const struct skiplist *list, double score);

/* The number of nodes with min <= score <= max; 0 if min > max. */
uint32_t skiplist_count_range(const struct skiplist *list, double min, double max);

/* The node with this score and member, or NULL. */
struct skipnode *skiplist_find(const struct skiplist *list, double score, struct qless_str member);

/* Bounds in the order of the list, by score and member: the first node at or after a place, or
 * after it; the last node at or before a place, or before it. */
struct skipnode *skiplist_first_ge_member(const struct skiplist *list, double score,
					  struct qless_str member);
struct skipnode *skiplist_first_gt_member(const struct skiplist *list, double score,
					  struct qless_str member);
struct skipnode *skiplist_last_le_member(const struct skiplist *list, double score,
					 struct qless_str member);
struct skipnode *skiplist_last_lt_member(const struct skiplist *list, double score,
					 struct qless_str member);

#endif
