#include "util/skiplist_blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

/* Items of a block. Both kinds of blocks take at most BLOCK_BYTES, which is a size that allocators
 * serve without a rest. */
#define LEAF_ITEMS  62
#define INNER_ITEMS 40
#define BLOCK_BYTES 512

/* A block with fewer items than a quarter joins its neighbour if both have at most three quarters
 * together. So a block that has just been divided or joined stays for a while. */
#define FEW(block)	  (capacity_of(block) / 4)
#define JOINED_MAX(block) (capacity_of(block) / 4 * 3)

struct skiplist_block {
	struct skiplist_block *up; /* NULL: the root */
	uint16_t count;
	uint16_t at;	/* its number in the block above */
	uint16_t level; /* 0: a leaf */
	union {
		struct skipnode *nodes[LEAF_ITEMS];
		struct {
			struct skiplist_block *blocks[INNER_ITEMS];
			uint32_t totals[INNER_ITEMS]; /* nodes below each */
		};
	};
};

static_assert(sizeof(struct skiplist_block) <= BLOCK_BYTES, "a block fits its size");

static unsigned capacity_of(const struct skiplist_block *block)
{
	return block->level == 0 ? LEAF_ITEMS : INNER_ITEMS;
}

static struct skiplist_block *block_new(struct skiplist_blocks *blocks, unsigned level)
{
	struct skiplist_block *block = mem_alloc(sizeof *block);

	block->up = NULL;
	block->count = 0;
	block->at = 0;
	block->level = (uint16_t)level;
	blocks->bytes += sizeof *block;
	return block;
}

static void block_free(struct skiplist_blocks *blocks, struct skiplist_block *block)
{
	blocks->bytes -= sizeof *block;
	free(block);
}

/* Count nodes that have come into a block, or have left it, in the blocks above. */
static void add_nodes(struct skiplist_block *block, uint32_t by)
{
	for (; block->up != NULL; block = block->up)
		block->up->totals[block->at] += by;
}

static uint32_t count_nodes(const struct skiplist_block *block)
{
	uint32_t count = 0;

	if (block->level == 0)
		return block->count;
	for (unsigned i = 0; i < block->count; i++)
		count += block->totals[i];
	return count;
}

/* ---- items ---- */

/* Tell the items from number `first` to `end` - 1 where they are now. */
static void tell_items(const struct skiplist_blocks *blocks, struct skiplist_block *block,
		       unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++) {
		if (block->level == 0) {
			*blocks->block_of(block->nodes[i]) = block;
		} else {
			block->blocks[i]->up = block;
			block->blocks[i]->at = (uint16_t)i;
		}
	}
}

/* Move items to another place, perhaps in another block of the same level. */
static void move_items(struct skiplist_block *to, unsigned to_first,
		       const struct skiplist_block *from, unsigned first, unsigned count)
{
	if (to->level == 0) {
		memmove(to->nodes + to_first, from->nodes + first, count * sizeof to->nodes[0]);
		return;
	}
	memmove(to->blocks + to_first, from->blocks + first, count * sizeof to->blocks[0]);
	memmove(to->totals + to_first, from->totals + first, count * sizeof to->totals[0]);
}

/* Make a gap in a block that is not full. The caller fills it. */
static void open_gap(const struct skiplist_blocks *blocks, struct skiplist_block *block,
		     unsigned at)
{
	move_items(block, at + 1, block, at, block->count - at);
	block->count++;
	if (block->level > 0)
		tell_items(blocks, block, at + 1, block->count);
}

static void close_gap(const struct skiplist_blocks *blocks, struct skiplist_block *block,
		      unsigned at)
{
	move_items(block, at, block, at + 1, block->count - at - 1);
	block->count--;
	if (block->level > 0)
		tell_items(blocks, block, at, block->count);
}

/* Move the items from number `first` on to the end of the next block. */
static void move_rest(const struct skiplist_blocks *blocks, struct skiplist_block *from,
		      unsigned first, struct skiplist_block *to)
{
	unsigned count = from->count - first;
	uint32_t nodes = count_nodes(from);

	move_items(to, to->count, from, first, count);
	from->count = (uint16_t)first;
	nodes -= count_nodes(from);
	to->count = (uint16_t)(to->count + count);
	tell_items(blocks, to, to->count - count, to->count);
	add_nodes(from, (uint32_t)-nodes);
	add_nodes(to, nodes);
}

/* ---- blocks that come and go ---- */

static struct skiplist_block *make_room(struct skiplist_blocks *blocks,
					struct skiplist_block *block, unsigned *at);

/* Put an empty block before or after another one. */
static void attach(struct skiplist_blocks *blocks, struct skiplist_block *fresh,
		   const struct skiplist_block *beside, bool is_after)
{
	struct skiplist_block *up = beside->up;
	unsigned at;

	if (up == NULL) {
		up = block_new(blocks, beside->level + 1u);
		up->count = 1;
		up->blocks[0] = blocks->root;
		up->totals[0] = count_nodes(blocks->root);
		blocks->root = up;
		tell_items(blocks, up, 0, 1);
	}
	at = beside->at + (unsigned)is_after;
	up = make_room(blocks, up, &at);
	open_gap(blocks, up, at);
	up->blocks[at] = fresh;
	up->totals[at] = 0;
	tell_items(blocks, up, at, at + 1);
}

/* Find room for an item at a place: in the block itself if it is not full, otherwise in one of two
 * after a division. At its ends, an empty block begins, so that lists that grow at one end are
 * dense. Returns the block, and the number in it. */
static struct skiplist_block *make_room(struct skiplist_blocks *blocks,
					struct skiplist_block *block, unsigned *at)
{
	struct skiplist_block *fresh;
	unsigned half = block->count / 2;

	if (block->count < capacity_of(block))
		return block;
	fresh = block_new(blocks, block->level);
	attach(blocks, fresh, block, *at != 0);
	if (*at != 0 && *at != block->count) {
		move_rest(blocks, block, half, fresh);
		if (*at <= half)
			return block;
		*at -= half;
		return fresh;
	}
	*at = 0;
	return fresh;
}

/* Drop levels whose only block is the root. */
static void drop_levels(struct skiplist_blocks *blocks)
{
	while (blocks->root->level > 0 && blocks->root->count == 1) {
		struct skiplist_block *root = blocks->root;

		blocks->root = root->blocks[0];
		blocks->root->up = NULL;
		blocks->root->at = 0;
		block_free(blocks, root);
	}
}

/* Free an empty block, and those above that become empty. Returns the lowest block that is left
 * above it; NULL if there is none. */
static struct skiplist_block *detach(struct skiplist_blocks *blocks, struct skiplist_block *block)
{
	while (block != NULL && block->count == 0) {
		struct skiplist_block *up = block->up;

		if (up != NULL)
			close_gap(blocks, up, block->at);
		else
			blocks->root = NULL;
		block_free(blocks, block);
		block = up;
	}
	return block;
}

/* Let a block with few items join a neighbour, if both fit into one. Returns the one that is empty
 * then; NULL if the block stays. */
static struct skiplist_block *join(const struct skiplist_blocks *blocks,
				   struct skiplist_block *block)
{
	struct skiplist_block *up = block->up, *left, *right;

	if (up == NULL || block->count >= FEW(block) || up->count == 1)
		return NULL;
	left = block->at > 0 ? up->blocks[block->at - 1] : block;
	right = up->blocks[left->at + 1];
	if (left->count + right->count > JOINED_MAX(block))
		return NULL;
	move_rest(blocks, right, 0, left);
	return right;
}

/* Free or join a block that has lost an item, and the blocks above it. */
static void shrink(struct skiplist_blocks *blocks, struct skiplist_block *block)
{
	while (block != NULL) {
		struct skiplist_block *empty = block->count == 0 ? block : join(blocks, block);

		if (empty == NULL)
			break;
		block = detach(blocks, empty);
	}
	if (blocks->root != NULL)
		drop_levels(blocks);
}

/* ---- nodes ---- */

static struct skiplist_block *leaf_of(const struct skiplist_blocks *blocks,
				      const struct skipnode *node)
{
	struct skiplist_block **block = blocks->block_of((struct skipnode *)(uintptr_t)node);

	return block != NULL ? *block : NULL;
}

static unsigned number_in(const struct skiplist_block *leaf, const struct skipnode *node)
{
	unsigned i = leaf->count;

	while (i > 0 && leaf->nodes[i - 1] != node)
		i--;
	assert(i > 0);
	return i - 1;
}

static struct skiplist_block *first_leaf(struct skiplist_block *block)
{
	while (block->level > 0)
		block = block->blocks[0];
	return block;
}

void skiplist_blocks_insert(struct skiplist_blocks *blocks, struct skipnode *node,
			    struct skipnode *before)
{
	struct skiplist_block *leaf;
	unsigned at = 0;

	if (blocks->root == NULL)
		blocks->root = block_new(blocks, 0);
	if (before != NULL) {
		leaf = leaf_of(blocks, before);
		at = number_in(leaf, before) + 1;
	} else {
		leaf = first_leaf(blocks->root);
	}
	leaf = make_room(blocks, leaf, &at);
	open_gap(blocks, leaf, at);
	leaf->nodes[at] = node;
	tell_items(blocks, leaf, at, at + 1);
	add_nodes(leaf, 1);
}

void skiplist_blocks_remove(struct skiplist_blocks *blocks, struct skipnode *node)
{
	struct skiplist_block *leaf = leaf_of(blocks, node);

	close_gap(blocks, leaf, number_in(leaf, node));
	add_nodes(leaf, (uint32_t)-1);
	*blocks->block_of(node) = NULL;
	if (leaf->count < FEW(leaf))
		shrink(blocks, leaf);
}

void skiplist_blocks_clear(struct skiplist_blocks *blocks)
{
	struct skiplist_block *block = blocks->root;

	/* From the last leaf to the root: a block is freed once it has given up its last one. */
	while (block != NULL) {
		struct skiplist_block *up;

		if (block->level > 0 && block->count > 0) {
			block = block->blocks[--block->count];
			continue;
		}
		up = block->up;
		block_free(blocks, block);
		block = up;
	}
	blocks->root = NULL;
	assert(blocks->bytes == 0);
}

uint32_t skiplist_blocks_rank(const struct skiplist_blocks *blocks, const struct skipnode *node)
{
	const struct skiplist_block *block = leaf_of(blocks, node);
	uint32_t rank = number_in(block, node);

	for (; block->up != NULL; block = block->up) {
		for (unsigned i = 0; i < block->at; i++)
			rank += block->up->totals[i];
	}
	return rank;
}

struct skipnode *skiplist_blocks_at(const struct skiplist_blocks *blocks, uint32_t rank)
{
	const struct skiplist_block *block = blocks->root;

	while (block->level > 0) {
		unsigned i = 0;

		for (; rank >= block->totals[i]; i++)
			rank -= block->totals[i];
		assert(i < block->count);
		block = block->blocks[i];
	}
	assert(rank < block->count);
	return block->nodes[rank];
}

bool skiplist_blocks_have(const struct skiplist_blocks *blocks, const struct skipnode *node)
{
	const struct skiplist_block *block = leaf_of(blocks, node);

	while (block != NULL && block->up != NULL)
		block = block->up;
	return block != NULL && block == blocks->root;
}

static const struct skipnode *first_below(struct skiplist_block *block, unsigned i)
{
	return block->level == 0 ? block->nodes[i] : first_leaf(block->blocks[i])->nodes[0];
}

/* The number of items of a block whose first nodes lie before a place. */
static unsigned count_before(struct skiplist_block *block, skiplist_blocks_before_fn *lies_before,
			     const void *place)
{
	unsigned low = 0, high = block->count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (lies_before(first_below(block, middle), place))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct skipnode *skiplist_blocks_last_before(const struct skiplist_blocks *blocks,
					     skiplist_blocks_before_fn *lies_before,
					     const void *place, uint32_t *ret_count)
{
	struct skiplist_block *block = blocks->root;
	uint32_t count = 0;
	unsigned before = 0;

	for (; block != NULL; block = block->blocks[before - 1]) {
		before = count_before(block, lies_before, place);
		if (before == 0 || block->level == 0)
			break;
		for (unsigned i = 0; i < before - 1; i++)
			count += block->totals[i];
	}
	/* Above the leaves, a first node before the place leads to a leaf with such a node. */
	assert(before > 0 || count == 0);
	*ret_count = count + before;
	return before > 0 ? block->nodes[before - 1] : NULL;
}
