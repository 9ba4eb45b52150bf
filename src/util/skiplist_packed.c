#include "util/skiplist_packed.h"

#include <stdlib.h>

#include "util/mem.h"
#include "util/skiplist_blocks.h"

void skiplist_init_packed(struct skiplist *list, skiplist_member_fn *member,
			  skiplist_block_fn *block_of)
{
	skiplist_init(list, member);
	list->is_packed = true;
	list->blocks = mem_zalloc(sizeof *list->blocks);
	list->blocks->block_of = block_of;
}

void packed_clear(struct skiplist *list)
{
	skiplist_blocks_clear(list->blocks);
	list->first = NULL;
	list->last = NULL;
	list->count = 0;
}

void packed_done(struct skiplist *list)
{
	packed_clear(list);
	free(list->blocks);
}

size_t packed_memory(const struct skiplist *list)
{
	return list->blocks->bytes;
}

/* A place in a list. */
struct packed_place {
	const struct skiplist *list;
	const struct place *place;
};

static bool lies_before_packed(const struct skipnode *node, const void *arg)
{
	const struct packed_place *packed = arg;

	return lies_before(packed->list, node, packed->place);
}

struct skipnode *packed_last_before(const struct skiplist *list, const struct place *place,
				    uint32_t *ret_count)
{
	struct packed_place packed = { list, place };

	return skiplist_blocks_last_before(list->blocks, lies_before_packed, &packed, ret_count);
}

/* The node after which a new node belongs; NULL if it is the first one. */
static struct skipnode *find_place(const struct skiplist *list, const struct skipnode *node,
				   double score)
{
	struct qless_str member;
	struct place place;
	uint32_t count;

	if (list->count == 0 || score < list->first->score)
		return NULL;
	if (score > list->last->score)
		return list->last;
	member = list->member(node);
	place = before_member(score, &member);
	return packed_last_before(list, &place, &count);
}

void packed_insert_after(struct skiplist *list, struct skipnode *node, double score,
			 struct skipnode *before)
{
	skipnode_link(list, node, score);
	node->prev = before;
	node->next = before != NULL ? before->next : list->first;
	if (before != NULL)
		before->next = node;
	else
		list->first = node;
	if (node->next != NULL)
		node->next->prev = node;
	else
		list->last = node;
	skiplist_blocks_insert(list->blocks, node, before);
	list->count++;
}

void packed_insert(struct skiplist *list, struct skipnode *node, double score)
{
	packed_insert_after(list, node, score, find_place(list, node, score));
}

void packed_remove(struct skiplist *list, struct skipnode *node)
{
	assert(node->linked);
	skiplist_blocks_remove(list->blocks, node);
	if (node->prev != NULL)
		node->prev->next = node->next;
	else
		list->first = node->next;
	if (node->next != NULL)
		node->next->prev = node->prev;
	else
		list->last = node->prev;
	node->prev = NULL;
	node->next = NULL;
	node->linked = false;
	list->count--;
}

uint32_t packed_rank(const struct skiplist *list, const struct skipnode *node)
{
	return skiplist_blocks_rank(list->blocks, node);
}

struct skipnode *packed_at(const struct skiplist *list, uint32_t rank)
{
	return skiplist_blocks_at(list->blocks, rank);
}

bool packed_has(const struct skiplist *list, const struct skipnode *node)
{
	return skiplist_blocks_have(list->blocks, node);
}
