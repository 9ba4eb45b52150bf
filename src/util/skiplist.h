/*
 * A sorted list in which every node knows its rank: an indexable skiplist.
 *
 * Nodes are ordered by score, and by the bytes of their member where scores are equal: the order of
 * a sorted set of Redis. Searching, ranks and changes in the middle take O(log n). Inserting and
 * removing at either end takes O(1) on average and compares with no more than the node at that end.
 *
 * Nodes belong to the caller. A node has a height, drawn once when it is created, and
 * skipnode_size(height) bytes: struct skipnode with its upper levels right behind it. So it is the
 * last member of the object it is in, or the room behind it is kept free otherwise. Three nodes of
 * four have height 1 and no upper level. A node is in one list at a time and can move between
 * lists.
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
 */
#ifndef UTIL_SKIPLIST_H
#define UTIL_SKIPLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* With one node of four going up at each level, this is enough for all that can be counted. */
#define SKIPLIST_HEIGHT_MAX 16

/* How many nodes a list takes; asserted. */
#define SKIPLIST_COUNT_MAX (UINT32_MAX - 1)

struct skipnode {
	double score;
	struct skipnode *prev;
	struct skipnode *next;
	uint32_t aux; /* the owner's, never looked at here */
	uint8_t height;
	bool linked; /* is in a list */
};

/* What a node has for each level above the lowest; only skiplist.c looks at them. */
struct skipnode_level {
	struct skipnode *next;
	uint32_t span; /* how many ranks further `next` is; means nothing if that is NULL */
};

/* What orders nodes of equal score. No two nodes of a list have the same score and member, and the
 * member does not change while the node is in a list. */
typedef struct qless_str skiplist_member_fn(const struct skipnode *node);

/* The fields are for skiplist.c and the inline functions here. */
struct skiplist {
	skiplist_member_fn *member;
	struct skipnode *first;
	struct skipnode *last;
	struct skiplist_ends *up; /* of each level above the lowest, where it ends */
	uint32_t count;
	uint32_t origin; /* the number of the first node, see skiplist.c */
	uint8_t up_count;
	uint8_t up_cap;
};

/* Draw the height of a node, 1 to SKIPLIST_HEIGHT_MAX, from a generator the caller owns. The state
 * may start with any value; the same state gives the same heights. */
unsigned skiplist_draw_height(uint64_t *state);

/* Bytes of a node, struct skipnode included. */
static inline size_t skipnode_size(unsigned height)
{
	return sizeof(struct skipnode) + (height - 1) * sizeof(struct skipnode_level);
}

/* A node in no list. `aux` is set to 0. */
void skipnode_init(struct skipnode *node, unsigned height);

void skiplist_init(struct skiplist *list, skiplist_member_fn *member);

/* Frees what the list allocated. Nodes that are still in it are not touched, so they may be freed
 * before or after, but cannot go into a list again without skipnode_init(). */
void skiplist_done(struct skiplist *list);

/* Bytes the list itself has allocated, without the nodes. */
size_t skiplist_memory(const struct skiplist *list);

static inline uint32_t skiplist_count(const struct skiplist *list)
{
	return list->count;
}

/* Borrows the node, which is in no list, until it is removed. A score may be infinite but is never
 * NaN. */
void skiplist_insert(struct skiplist *list, struct skipnode *node, double score);

/*
 * Nodes that go into a list together. They are put in order first, so that the way to the place of
 * each is a short one from the place of the one before. A zeroed struct is an empty batch.
 */
struct skiplist_batch {
	struct skiplist_batch_item *items;
	size_t count;
	size_t cap;
};

/* The node is in no list, or in the one it is to be removed from. */
void skiplist_batch_add(struct skiplist_batch *batch, struct skipnode *node, double score);

/* Put them in the order in which they are going to stand in the list. To insert them does so as
 * well, and takes no time for it if they are in order already. */
void skiplist_sort_batch(const struct skiplist *list, struct skiplist_batch *batch);

struct skipnode *skiplist_batch_node(const struct skiplist_batch *batch, size_t i);

/* Insert them all, as skiplist_insert() does; the batch is empty then. */
void skiplist_insert_batch(struct skiplist *list, struct skiplist_batch *batch);

/* Remove them all, which are in this list; their scores in the batch do not matter. The batch is
 * empty then. */
void skiplist_remove_batch(struct skiplist *list, struct skiplist_batch *batch);

void skiplist_batch_done(struct skiplist_batch *batch);

/* The node is in this list. */
void skiplist_remove(struct skiplist *list, struct skipnode *node);

/* Give a node of this list another score; cheap if that does not change its rank. */
void skiplist_rescore(struct skiplist *list, struct skipnode *node, double score);

/* Take out the first or the last node; NULL if there is none. */
struct skipnode *skiplist_pop_first(struct skiplist *list);
struct skipnode *skiplist_pop_last(struct skiplist *list);

/* Neighbours; NULL at the ends. To remove nodes on the way, ask for the next one before. */
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

/* The rank of a node of this list; the first has rank 0. */
uint32_t skiplist_rank(const struct skiplist *list, const struct skipnode *node);

/* The node of that rank; NULL if the list is not that long. */
struct skipnode *skiplist_at(const struct skiplist *list, uint32_t rank);

/* The first node with a score of at least, or above; the last with a score of at most, or below.
 * NULL if there is none. */
struct skipnode *skiplist_first_ge(const struct skiplist *list, double score);
struct skipnode *skiplist_first_gt(const struct skiplist *list, double score);
struct skipnode *skiplist_last_le(const struct skiplist *list, double score);
struct skipnode *skiplist_last_lt(const struct skiplist *list, double score);

/* How many nodes have a score below, or of at most; the second is also the rank of
 * skiplist_first_gt(), and the first that of skiplist_first_ge(). */
uint32_t skiplist_count_lt(const struct skiplist *list, double score);
uint32_t skiplist_count_le(const struct skiplist *list, double score);

/* How many nodes have min <= score <= max; 0 if min > max. */
uint32_t skiplist_count_range(const struct skiplist *list, double min, double max);

/* The node with that score and member, or NULL. */
struct skipnode *skiplist_find(const struct skiplist *list, double score, struct qless_str member);

/* The same bounds in the order of the list, by score and member: the first node at or behind, or
 * behind, that place; the last at or before, or before it. */
struct skipnode *skiplist_first_ge_member(const struct skiplist *list, double score,
					  struct qless_str member);
struct skipnode *skiplist_first_gt_member(const struct skiplist *list, double score,
					  struct qless_str member);
struct skipnode *skiplist_last_le_member(const struct skiplist *list, double score,
					 struct qless_str member);
struct skipnode *skiplist_last_lt_member(const struct skiplist *list, double score,
					 struct qless_str member);

#endif
