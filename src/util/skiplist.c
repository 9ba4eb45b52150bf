/*
 * Every level is a linked list of the nodes that reach it. A step on a level covers `span` ranks.
 * The list knows both ends of each level, so it has no head node, and an insertion at an end knows
 * its neighbours.
 *
 * The ends of a level are stored with their numbers. Nodes are numbered in order and the first one
 * has the number list->origin, so rank = number - origin. An insertion before the first node lowers
 * the origin and changes no other number: it is as cheap as one after the last node. Numbers may
 * wrap around, because only their differences count.
 *
 *	level 2                   c ----------------------- g
 *	level 1       a --------- c ----------- e --------- g
 *	level 0       a --- b --- c --- d ----- e --- f --- g --- h
 *	span at 1           2           2             2
 *
 * A packed list has just the lowest level, and blocks that know ranks.
 */
#include "util/skiplist.h"

#include <assert.h>
#include <math.h>

#include "util/mem.h"
#include "util/skiplist_packed.h"

/* Nodes of a batch that keeps its memory when it becomes empty; a larger one frees it. */
#define BATCH_KEEP 4096
/* Bits of a digit of the radix sort. A batch is sorted by digits if it has at least as many nodes
 * as there are digits. */
#define DIGIT_BITS 8u
#define DIGITS	   (1u << DIGIT_BITS)

/* Levels that a search tries from the ends. With 4, it reaches about 4^4 nodes into the list. */
#define NEAR_LEVELS 4

/* The ends of a level. `recent` is the node at which the path of the last insertion in the middle
 * left the level, or NULL if that was before the first node: see find_path_near(). */
struct skiplist_ends {
	struct skipnode *first;
	struct skipnode *last;
	struct skipnode *recent;
	uint32_t first_number;
	uint32_t last_number;
	uint32_t recent_number; /* undefined if `recent` is NULL */
};

/* The path to a place: for each level the last node before the place, or NULL, and the number of
 * nodes up to and including it. */
struct path {
	struct skipnode *node[SKIPLIST_HEIGHT_MAX];
	uint32_t count[SKIPLIST_HEIGHT_MAX];
};

unsigned skiplist_draw_height(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	unsigned height;

	/* splitmix64; the chance that the two lowest bits are zero is one in four. */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	for (height = 1; height < SKIPLIST_HEIGHT_MAX && (z & 3) == 0; height++)
		z >>= 2;
	return height;
}

void skipnode_init(struct skipnode *node, unsigned height)
{
	assert(height >= 1 && height <= SKIPLIST_HEIGHT_MAX);
	*node = (struct skipnode){ .height = (uint8_t)height };
}

void skiplist_init(struct skiplist *list, skiplist_member_fn *member)
{
	*list = (struct skiplist){ .member = member };
}

void skiplist_clear(struct skiplist *list)
{
	if (!list->is_packed) {
		free(list->up);
		skiplist_init(list, list->member);
		return;
	}
	packed_clear(list);
}

void skiplist_done(struct skiplist *list)
{
	skiplist_clear(list);
	if (list->is_packed)
		packed_done(list);
	skiplist_init(list, list->member);
}

size_t skiplist_memory(const struct skiplist *list)
{
	if (list->is_packed)
		return packed_memory(list);
	return list->up_cap * sizeof *list->up;
}

/* The part of a node for a level above the lowest. */
static struct skipnode_level *node_level(const struct skipnode *node, unsigned level)
{
	return (struct skipnode_level *)((uintptr_t)node + skipnode_size(level));
}

/* The ends of a level above the lowest. */
static struct skiplist_ends *list_ends(const struct skiplist *list, unsigned level)
{
	return &list->up[level - 1];
}

/* The next node on a level, or the first one for NULL. */
static struct skipnode *next_on_level(const struct skiplist *list, const struct skipnode *node,
				      unsigned level)
{
	if (level == 0)
		return node != NULL ? node->next : list->first;
	return node != NULL ? node_level(node, level)->next : list_ends(list, level)->first;
}

/* The ranks that this step covers. From NULL it starts one before the first rank. */
static uint32_t span_on_level(const struct skiplist *list, const struct skipnode *node,
			      unsigned level)
{
	if (level == 0)
		return 1;
	if (node != NULL)
		return node_level(node, level)->span;
	return list_ends(list, level)->first_number - list->origin + 1;
}

/* Continue a path to a place that is not before its end. A path of zeros ends before the first
 * node. The path is known to be correct on the levels from `top`. */
static void extend_path_below(const struct skiplist *list, const struct place *place, unsigned top,
			      struct path *path)
{
	struct skipnode *at = NULL, *next, *behind = NULL;
	uint32_t count = 0;

	if (top <= list->up_count) {
		at = path->node[top];
		behind = next_on_level(list, at, top);
		count = path->count[top];
	}
	for (unsigned level = top; level-- > 0;) {
		if (path->count[level] > count) {
			count = path->count[level];
			at = path->node[level];
		}
		/* The node that ended the search on the level above also ends it here. */
		while ((next = next_on_level(list, at, level)) != behind &&
		       lies_before(list, next, place)) {
			count += span_on_level(list, at, level);
			at = next;
		}
		behind = next;
		path->node[level] = at;
		path->count[level] = count;
	}
}

static void extend_path(const struct skiplist *list, const struct place *place, struct path *path)
{
	extend_path_below(list, place, list->up_count + 1u, path);
}

/* Find the path to a place. It is set for the levels up to `up_count`. */
static void find_path(const struct skiplist *list, const struct place *place, struct path *ret_path)
{
	memset(ret_path->count, 0, (list->up_count + 1u) * sizeof ret_path->count[0]);
	extend_path(list, place, ret_path);
}

/* The node from which no search is needed on `level` and the levels above. */
struct shortcut {
	enum { SHORTCUT_NONE, SHORTCUT_RECENT, SHORTCUT_FIRST, SHORTCUT_LAST } from;
	unsigned level;
};

static struct shortcut find_shortcut(const struct skiplist *list, const struct place *place)
{
	bool is_behind_recent = false;

	for (unsigned level = 1; level <= list->up_count && level <= NEAR_LEVELS; level++) {
		const struct skiplist_ends *ends = list_ends(list, level);

		/* If the recent node of a level is before the place, so are those of the levels
		 * above. */
		if (!is_behind_recent)
			is_behind_recent =
				ends->recent == NULL || lies_before(list, ends->recent, place);
		if (is_behind_recent) {
			const struct skipnode *next = next_on_level(list, ends->recent, level);

			if (next == NULL || !lies_before(list, next, place))
				return (struct shortcut){ SHORTCUT_RECENT, level };
		}
		if (ends->last != NULL && lies_before(list, ends->last, place))
			return (struct shortcut){ SHORTCUT_LAST, level };
		if (ends->first == NULL || !lies_before(list, ends->first, place))
			return (struct shortcut){ SHORTCUT_FIRST, level };
	}
	return (struct shortcut){ SHORTCUT_NONE, list->up_count + 1u };
}

/*
 * find_path() for a place that is probably near the first node, the last node, or the last
 * insertion. Scores are mostly times: new ones are near the end, even if they are late or come from
 * many clients, and those that one client sends at once are near each other. Levels on which the
 * place is at an end, or in the same gap as the last insertion, need no search.
 */
static void find_path_near(const struct skiplist *list, const struct place *place,
			   struct path *ret_path)
{
	struct shortcut shortcut = find_shortcut(list, place);

	memset(ret_path->count, 0, (list->up_count + 1u) * sizeof ret_path->count[0]);
	for (unsigned level = shortcut.level; level <= list->up_count; level++) {
		const struct skiplist_ends *ends = list_ends(list, level);
		bool is_recent = shortcut.from == SHORTCUT_RECENT;
		uint32_t number = is_recent ? ends->recent_number : ends->last_number;

		ret_path->node[level] = is_recent ? ends->recent : ends->last;
		if (shortcut.from == SHORTCUT_FIRST)
			ret_path->node[level] = NULL;
		if (ret_path->node[level] != NULL)
			ret_path->count[level] = number - list->origin + 1;
	}
	extend_path_below(list, place, shortcut.level, ret_path);
}

/*
 * Each level has a gap between its recent node and the next one, and the gap of a level contains
 * that of the level below. So `recent` changes when its node is removed, and when an insertion
 * before the first node falls into a gap that begins there. An insertion after the last node only
 * ends a gap.
 */
static void set_recent(struct skiplist_ends *ends, struct skipnode *node, uint32_t number)
{
	ends->recent = node;
	ends->recent_number = number;
}

static void grow_levels(struct skiplist *list, unsigned height)
{
	if (height - 1 > list->up_cap) {
		list->up_cap = (uint8_t)(height - 1);
		list->up = mem_realloc_array(list->up, list->up_cap, sizeof *list->up);
	}
	while (list->up_count < height - 1)
		list->up[list->up_count++] = (struct skiplist_ends){ 0 };
}

static void drop_empty_levels(struct skiplist *list)
{
	while (list->up_count != 0 && list->up[list->up_count - 1].first == NULL)
		list->up_count--;
}

static void insert_first(struct skiplist *list, struct skipnode *node)
{
	uint32_t number = --list->origin;

	node->prev = NULL;
	node->next = list->first;
	if (list->first != NULL)
		list->first->prev = node;
	else
		list->last = node;
	list->first = node;
	for (unsigned level = 1; level < node->height; level++) {
		struct skiplist_ends *ends = list_ends(list, level);

		*node_level(node, level) = (struct skipnode_level){
			.next = ends->first,
			.span = ends->first_number - number,
		};
		ends->first = node;
		ends->first_number = number;
		if (ends->last == NULL) {
			ends->last = node;
			ends->last_number = number;
		}
		if (ends->recent == NULL)
			set_recent(ends, node, number);
	}
}

/* Insert after the last node. The list is not empty. */
static void insert_last(struct skiplist *list, struct skipnode *node)
{
	uint32_t number = list->origin + list->count;

	node->prev = list->last;
	node->next = NULL;
	list->last->next = node;
	list->last = node;
	for (unsigned level = 1; level < node->height; level++) {
		struct skiplist_ends *ends = list_ends(list, level);

		node_level(node, level)->next = NULL;
		if (ends->last != NULL) {
			*node_level(ends->last, level) = (struct skipnode_level){
				.next = node,
				.span = number - ends->last_number,
			};
		} else {
			ends->first = node;
			ends->first_number = number;
		}
		ends->last = node;
		ends->last_number = number;
	}
}

/* Link a node on a level after `before`, which is the count'th node of the list. */
static void link_on_level(struct skiplist *list, struct skipnode *node, unsigned level,
			  struct skipnode *before, uint32_t count, uint32_t rank)
{
	struct skiplist_ends *ends = list_ends(list, level);
	struct skipnode *next = next_on_level(list, before, level);
	uint32_t step = rank + 1 - count; /* from `before` to the node */

	*node_level(node, level) = (struct skipnode_level){
		.next = next,
		.span = span_on_level(list, before, level) + 1 - step,
	};
	if (before != NULL) {
		*node_level(before, level) = (struct skipnode_level){ .next = node, .span = step };
	} else {
		ends->first = node;
		ends->first_number = list->origin + rank;
	}
	if (next == NULL) {
		ends->last = node;
		ends->last_number = list->origin + rank;
	} else {
		ends->last_number++;
	}
}

/* The ranks of the nodes after `before` on a level have changed by `shift`: 1 or -1. */
static void shift_on_level(struct skiplist *list, unsigned level, struct skipnode *before,
			   uint32_t shift)
{
	struct skiplist_ends *ends = list_ends(list, level);

	if (before == NULL)
		ends->first_number += shift;
	else if (node_level(before, level)->next != NULL)
		node_level(before, level)->span += shift;
	if (ends->last != before)
		ends->last_number += shift;
}

/* Insert in the middle: the end of the path has nodes on both sides. */
static void insert_between(struct skiplist *list, struct skipnode *node, const struct path *path)
{
	uint32_t rank = path->count[0];

	node->prev = path->node[0];
	node->next = node->prev->next;
	node->prev->next = node;
	node->next->prev = node;
	for (unsigned level = 1; level <= list->up_count; level++) {
		struct skipnode *before = path->node[level];
		uint32_t count = path->count[level];

		if (level < node->height)
			link_on_level(list, node, level, before, count, rank);
		else if (before != list_ends(list, level)->last)
			shift_on_level(list, level, before, 1);
		set_recent(list_ends(list, level), before, list->origin + count - 1);
	}
}

static void begin_insert(struct skiplist *list, struct skipnode *node, double score)
{
	skipnode_link(list, node, score);
	grow_levels(list, node->height);
}

/* Insert a node if its score does not say that it is the first or the last. */
static __attribute__((noinline)) void insert_among(struct skiplist *list, struct skipnode *node,
						   double score)
{
	struct qless_str member = list->member(node);
	struct place place = before_member(score, &member);

	if (!lies_before(list, list->first, &place)) {
		insert_first(list, node);
	} else if (lies_before(list, list->last, &place)) {
		insert_last(list, node);
	} else {
		struct path path;

		find_path_near(list, &place, &path);
		insert_between(list, node, &path);
	}
}

/* Most nodes are inserted at an end by their score alone, and then no member is asked for. */
void skiplist_insert(struct skiplist *list, struct skipnode *node, double score)
{
	if (list->is_packed) {
		packed_insert(list, node, score);
		return;
	}
	begin_insert(list, node, score);
	if (list->count == 0 || score < list->first->score)
		insert_first(list, node);
	else if (score > list->last->score)
		insert_last(list, node);
	else
		insert_among(list, node, score);
	list->count++;
}

struct skiplist_batch_item {
	double score;
	uint64_t begin; /* the first bytes of the member, as a number that sorts as they do */
	struct skipnode *node;
};

void skiplist_batch_add(struct skiplist_batch *batch, struct skipnode *node, double score)
{
	batch->items = mem_grow(batch->items, &batch->cap, batch->count + 1, sizeof *batch->items);
	batch->items[batch->count++] = (struct skiplist_batch_item){ .score = score, .node = node };
}

void skiplist_batch_done(struct skiplist_batch *batch)
{
	free(batch->items);
	*batch = (struct skiplist_batch){ 0 };
}

/* The first bytes as a number, the first byte as the highest digit. */
static uint64_t begin_of(struct qless_str member)
{
	unsigned char bytes[8] = { 0 };
	uint64_t begin = 0;

	if (member.len >= sizeof bytes)
		memcpy(bytes, member.ptr, sizeof bytes);
	else if (member.len != 0)
		memcpy(bytes, member.ptr, member.len);
	for (size_t i = 0; i < sizeof bytes; i++)
		begin = begin << 8 | bytes[i];
	return begin;
}

/* Most members differ in their first bytes, so their nodes need not be read. */
static inline bool item_precedes(const struct skiplist *list, const struct skiplist_batch_item *a,
				 const struct skiplist_batch_item *b)
{
	if (a->score != b->score)
		return a->score < b->score;
	if (a->begin != b->begin)
		return a->begin < b->begin;
	return str_compare(list->member(a->node), list->member(b->node)) < 0;
}

static void copy_items(struct skiplist_batch_item *to, const struct skiplist_batch_item *from,
		       const struct skiplist_batch_item *end)
{
	if (from != end)
		memcpy(to, from, (size_t)(end - from) * sizeof *from);
}

/* Merge two sorted runs, the second of which begins at `middle`. */
static void merge_runs(const struct skiplist *list, const struct skiplist_batch_item *from,
		       const struct skiplist_batch_item *middle,
		       const struct skiplist_batch_item *end, struct skiplist_batch_item *to)
{
	const struct skiplist_batch_item *left = from, *right = middle;

	while (left != middle && right != end) {
		bool is_right = item_precedes(list, right, left);

		*to++ = is_right ? *right : *left;
		right += is_right;
		left += !is_right;
	}
	copy_items(to, left, middle);
	copy_items(to + (middle - left), right, end);
}

static bool are_sorted(const struct skiplist *list, const struct skiplist_batch_item *items,
		       size_t count)
{
	size_t i;

	for (i = 1; i < count; i++) {
		if (item_precedes(list, &items[i], &items[i - 1]))
			return false;
	}
	return true;
}

static bool have_one_score(const struct skiplist_batch_item *items, size_t count)
{
	size_t i;

	for (i = 1; i < count && items[i].score == items[0].score; i++)
		;
	return i == count;
}

/* Radix sort by the first bytes of the members, from the last digit to the first. It has no
 * comparisons for the processor to mispredict. Returns the one of the two arrays that holds the
 * result. */
static struct skiplist_batch_item *sort_by_begin(struct skiplist_batch_item *from,
						 struct skiplist_batch_item *to, size_t count)
{
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		size_t places[DIGITS] = { 0 }, place = 0, i;
		struct skiplist_batch_item *sorted = to;

		for (i = 0; i < count; i++)
			places[from[i].begin >> shift & (DIGITS - 1)]++;
		if (places[from[0].begin >> shift & (DIGITS - 1)] == count)
			continue; /* all items have the same digit */
		for (i = 0; i < DIGITS; i++) {
			size_t digit_count = places[i];

			places[i] = place;
			place += digit_count;
		}
		for (i = 0; i < count; i++)
			to[places[from[i].begin >> shift & (DIGITS - 1)]++] = from[i];
		to = from;
		from = sorted;
	}
	return from;
}

/* Merge sort. Returns the one of the two arrays that holds the result. */
static struct skiplist_batch_item *sort_by_merging(const struct skiplist *list,
						   struct skiplist_batch_item *from,
						   struct skiplist_batch_item *to, size_t count)
{
	for (size_t width = 1; width < count; width *= 2) {
		struct skiplist_batch_item *merged = to;

		for (size_t i = 0; i < count; i += 2 * width) {
			size_t middle = i + width < count ? i + width : count;
			size_t end = i + 2 * width < count ? i + 2 * width : count;

			merge_runs(list, from + i, from + middle, from + end, to + i);
		}
		to = from;
		from = merged;
	}
	return from;
}

/* qsort() calls a function for each comparison, which takes five times as long as merging. Merging
 * mispredicts every other comparison of random jids, so those are sorted by digits. */
static void sort_items(const struct skiplist *list, struct skiplist_batch *batch)
{
	struct skiplist_batch_item *items = batch->items, *spare, *sorted;
	size_t count = batch->count, i;
	bool by_digits;

	for (i = 0; i < count; i++)
		items[i].begin = begin_of(list->member(items[i].node));
	if (are_sorted(list, items, count))
		return;
	spare = mem_realloc_array(NULL, batch->cap, sizeof *spare);
	by_digits = count >= DIGITS && have_one_score(items, count);
	sorted = by_digits ? sort_by_begin(items, spare, count) : items;
	if (!by_digits || !are_sorted(list, sorted, count))
		sorted = sort_by_merging(list, sorted, sorted == items ? spare : items, count);
	batch->items = sorted;
	free(sorted == items ? spare : items);
}

/* Insert a node after the end of a path that does not reach the last node. Returns its rank plus
 * one. */
static uint32_t insert_beyond(struct skiplist *list, struct skipnode *node, double score,
			      struct path *path)
{
	struct qless_str member = list->member(node);
	struct place place = before_member(score, &member);

	if (lies_before(list, list->last, &place)) {
		insert_last(list, node);
		return list->count + 1;
	}
	if (path->count[0] == 0 && !lies_before(list, list->first, &place)) {
		insert_first(list, node);
		return 1;
	}
	extend_path(list, &place, path);
	insert_between(list, node, path);
	return path->count[0] + 1;
}

/* Insert a node after the end of the path. The path then ends with it. */
static void insert_further(struct skiplist *list, struct skipnode *node, double score,
			   struct path *path)
{
	uint32_t count = list->count + 1;

	begin_insert(list, node, score);
	if (list->count == 0)
		insert_first(list, node);
	else if (path->count[0] == list->count)
		insert_last(list, node);
	else
		count = insert_beyond(list, node, score, path);
	list->count++;
	for (unsigned level = 0; level < node->height; level++) {
		path->node[level] = node;
		path->count[level] = count;
	}
}

static void insert_sorted(struct skiplist *list, const struct skiplist_batch *batch)
{
	struct path path = { 0 };
	size_t i;

	for (i = 0; i < batch->count && list->is_packed; i++)
		packed_insert(list, batch->items[i].node, batch->items[i].score);
	for (; i < batch->count; i++)
		insert_further(list, batch->items[i].node, batch->items[i].score, &path);
}

static void clear_batch(struct skiplist_batch *batch)
{
	batch->count = 0;
	if (batch->cap > BATCH_KEEP)
		skiplist_batch_done(batch);
}

void skiplist_sort_batch(const struct skiplist *list, struct skiplist_batch *batch)
{
	if (batch->count > 1)
		sort_items(list, batch);
}

struct skipnode *skiplist_batch_node(const struct skiplist_batch *batch, size_t i)
{
	return batch->items[i].node;
}

void skiplist_insert_batch(struct skiplist *list, struct skiplist_batch *batch)
{
	if (batch->count == 1) {
		skiplist_insert(list, batch->items[0].node, batch->items[0].score);
	} else if (batch->count > 1) {
		sort_items(list, batch);
		insert_sorted(list, batch);
	}
	clear_batch(batch);
}

static void remove_first(struct skiplist *list)
{
	struct skipnode *node = list->first;

	list->origin++;
	list->first = node->next;
	if (list->first != NULL)
		list->first->prev = NULL;
	else
		list->last = NULL;
	for (unsigned level = 1; level < node->height; level++) {
		struct skiplist_ends *ends = list_ends(list, level);

		ends->first = node_level(node, level)->next;
		ends->first_number += node_level(node, level)->span;
		if (ends->first == NULL)
			ends->last = NULL;
		if (ends->recent == node)
			ends->recent = NULL;
	}
}

/* Remove the last of several nodes. The path to it starts at the last node that reaches higher, so
 * it takes a few steps on each level and compares nothing. */
static void remove_last(struct skiplist *list)
{
	struct skipnode *node = list->last, *at = NULL, *next;
	uint32_t number = list->origin - 1;

	if (node->height <= list->up_count) {
		at = list_ends(list, node->height)->last;
		number = list_ends(list, node->height)->last_number;
	}
	for (unsigned level = node->height; --level > 0;) {
		struct skiplist_ends *ends = list_ends(list, level);

		while ((next = next_on_level(list, at, level)) != node) {
			number += span_on_level(list, at, level);
			at = next;
		}
		if (at != NULL)
			node_level(at, level)->next = NULL;
		else
			ends->first = NULL;
		ends->last = at;
		ends->last_number = number;
		if (ends->recent == node)
			set_recent(ends, at, number);
	}
	list->last = node->prev;
	list->last->next = NULL;
}

/* Unlink a node from a level, where it follows `before`. */
static void unlink_on_level(struct skiplist *list, struct skipnode *node, unsigned level,
			    struct skipnode *before, uint32_t count)
{
	struct skiplist_ends *ends = list_ends(list, level);
	struct skipnode *next = node_level(node, level)->next;
	uint32_t span = node_level(node, level)->span;

	if (before != NULL) {
		node_level(before, level)->next = next;
		node_level(before, level)->span += span - 1;
	} else {
		ends->first = next;
		ends->first_number += span - 1;
	}
	if (next == NULL) {
		ends->last = before;
		ends->last_number = list->origin + count - 1;
	} else {
		ends->last_number--;
	}
}

/* Remove a node that is neither first nor last. The path ends before it. */
static void remove_between(struct skiplist *list, struct skipnode *node, const struct path *path)
{
	assert(path->node[0] == node->prev);
	node->prev->next = node->next;
	node->next->prev = node->prev;
	for (unsigned level = 1; level <= list->up_count; level++) {
		struct skiplist_ends *ends = list_ends(list, level);
		struct skipnode *before = path->node[level];
		uint32_t count = path->count[level];

		if (level < node->height)
			unlink_on_level(list, node, level, before, count);
		else
			shift_on_level(list, level, before, (uint32_t)-1);
		if (ends->recent == node)
			set_recent(ends, before, list->origin + count - 1);
		else if (ends->recent_number - list->origin > path->count[0])
			ends->recent_number--;
	}
}

/* Find the path to a node by its rank, which compares nothing. */
static void find_path_to_node(const struct skiplist *list, const struct skipnode *node,
			      struct path *ret_path)
{
	uint32_t rank = skiplist_rank(list, node), count = 0;
	struct skipnode *at = NULL;

	for (unsigned level = list->up_count; level > 0; level--) {
		const struct skiplist_ends *ends = list_ends(list, level);

		if (ends->last_number - list->origin < rank) {
			at = ends->last;
			count = ends->last_number - list->origin + 1;
		} else {
			uint32_t span = span_on_level(list, at, level);

			for (; count + span <= rank; span = node_level(at, level)->span) {
				count += span;
				at = next_on_level(list, at, level);
			}
		}
		ret_path->node[level] = at;
		ret_path->count[level] = count;
	}
	ret_path->node[0] = node->prev;
	ret_path->count[0] = rank;
}

void skiplist_insert_after(struct skiplist *list, struct skipnode *node, double score,
			   struct skipnode *before)
{
	struct path path = { 0 };

	if (list->is_packed) {
		packed_insert_after(list, node, score, before);
		return;
	}
	/* The levels that the node adds begin before the first node: the path has zeros there. */
	if (before != NULL && before != list->last)
		find_path_to_node(list, before->next, &path);
	begin_insert(list, node, score);
	if (before == NULL)
		insert_first(list, node);
	else if (before == list->last)
		insert_last(list, node);
	else
		insert_between(list, node, &path);
	list->count++;
}

static bool is_at_end(const struct skipnode *node)
{
	return node->prev == NULL || node->next == NULL;
}

/* Remove a node. The path ends before it; it is not used if the node is at an end of the list. */
static void remove_node(struct skiplist *list, struct skipnode *node, const struct path *path)
{
	assert(node->linked);
	assert(list->count != 0);
	if (node == list->first)
		remove_first(list);
	else if (node == list->last)
		remove_last(list);
	else
		remove_between(list, node, path);
	node->prev = NULL;
	node->next = NULL;
	node->linked = false;
	list->count--;
	drop_empty_levels(list);
}

void skiplist_remove(struct skiplist *list, struct skipnode *node)
{
	struct path path;

	if (list->is_packed) {
		packed_remove(list, node);
		return;
	}
	if (!is_at_end(node))
		find_path_to_node(list, node, &path);
	remove_node(list, node, &path);
}

static void remove_sorted(struct skiplist *list, struct skiplist_batch *batch)
{
	struct path path = { 0 };
	size_t i;

	for (i = 0; i < batch->count; i++)
		batch->items[i].score = batch->items[i].node->score;
	sort_items(list, batch);
	for (i = 0; i < batch->count && list->is_packed; i++)
		packed_remove(list, batch->items[i].node);
	for (; i < batch->count; i++) {
		struct skipnode *node = batch->items[i].node;
		struct qless_str member = list->member(node);
		struct place place = before_member(node->score, &member);

		if (!is_at_end(node))
			extend_path(list, &place, &path);
		remove_node(list, node, &path);
	}
}

void skiplist_remove_batch(struct skiplist *list, struct skiplist_batch *batch)
{
	if (batch->count == 1)
		skiplist_remove(list, batch->items[0].node);
	else if (batch->count > 1)
		remove_sorted(list, batch);
	clear_batch(batch);
}

void skiplist_rescore(struct skiplist *list, struct skipnode *node, double score)
{
	struct qless_str member = list->member(node);
	struct place place = before_member(score, &member);

	assert(node->linked);
	if ((node->prev == NULL || lies_before(list, node->prev, &place)) &&
	    (node->next == NULL || !lies_before(list, node->next, &place))) {
		node->score = score;
		return;
	}
	skiplist_remove(list, node);
	skiplist_insert(list, node, score);
}

struct skipnode *skiplist_pop_first(struct skiplist *list)
{
	struct skipnode *node = list->first;

	if (node != NULL)
		skiplist_remove(list, node);
	return node;
}

struct skipnode *skiplist_pop_last(struct skiplist *list)
{
	struct skipnode *node = list->last;

	if (node != NULL)
		skiplist_remove(list, node);
	return node;
}

/* From the node on, step on the highest level of each node until the last node of a level is
 * reached, whose number is known. This compares nothing and does not read members. */
uint32_t skiplist_rank(const struct skiplist *list, const struct skipnode *node)
{
	uint32_t steps = 0;

	assert(node->linked);
	if (list->is_packed)
		return packed_rank(list, node);
	while (node->next != NULL) {
		unsigned level = node->height - 1u;

		if (level == 0) {
			steps++;
			node = node->next;
		} else if (node_level(node, level)->next != NULL) {
			steps += node_level(node, level)->span;
			node = node_level(node, level)->next;
		} else {
			return list_ends(list, level)->last_number - list->origin - steps;
		}
	}
	return list->count - 1 - steps;
}

/* The neighbours know a node that is in a list, and the last node of one of its levels tells in
 * which list it is. */
bool skiplist_has(const struct skiplist *list, const struct skipnode *node)
{
	if (!node->linked || (node->next != NULL && node->next->prev != node) ||
	    (node->prev != NULL ? node->prev->next != node : list->first != node))
		return false;
	if (list->is_packed)
		return packed_has(list, node);
	while (node->next != NULL) {
		unsigned level = node->height - 1u;

		if (level == 0)
			node = node->next;
		else if (node_level(node, level)->next != NULL)
			node = node_level(node, level)->next;
		else
			return level <= list->up_count && list_ends(list, level)->last == node;
	}
	return list->last == node;
}

struct skipnode *skiplist_at(const struct skiplist *list, uint32_t rank)
{
	struct skipnode *at = NULL;
	uint32_t count = 0; /* nodes up to `at` */

	if (rank >= list->count)
		return NULL;
	if (rank == list->count - 1)
		return list->last;
	if (list->is_packed)
		return packed_at(list, rank);
	for (unsigned level = list->up_count + 1u; level-- > 0;) {
		while (next_on_level(list, at, level) != NULL &&
		       count + span_on_level(list, at, level) <= rank + 1) {
			count += span_on_level(list, at, level);
			at = next_on_level(list, at, level);
		}
		if (count == rank + 1)
			break;
	}
	return at;
}

static struct skipnode *last_before(const struct skiplist *list, const struct place *place)
{
	struct path path;

	if (list->is_packed)
		return packed_last_before(list, place, &path.count[0]);
	find_path(list, place, &path);
	return path.node[0];
}

/* The first node of the list is the result so often that it is tried first. */
static struct skipnode *first_behind(const struct skiplist *list, const struct place *place)
{
	if (list->first == NULL || !lies_before(list, list->first, place))
		return list->first;
	return next_on_level(list, last_before(list, place), 0);
}

/* Often none: of the locks, only a few have expired. */
static uint32_t count_before(const struct skiplist *list, const struct place *place)
{
	struct path path;

	if (list->first == NULL || !lies_before(list, list->first, place))
		return 0;
	if (list->is_packed)
		packed_last_before(list, place, &path.count[0]);
	else
		find_path(list, place, &path);
	return path.count[0];
}

/* The places before and after all nodes of a score. */
static struct place before_score(double score)
{
	return before_member(score, NULL);
}

static struct place behind_score(double score)
{
	return behind_member(score, NULL);
}

struct skipnode *skiplist_first_ge(const struct skiplist *list, double score)
{
	struct place place = before_score(score);

	return first_behind(list, &place);
}

struct skipnode *skiplist_first_gt(const struct skiplist *list, double score)
{
	struct place place = behind_score(score);

	return first_behind(list, &place);
}

struct skipnode *skiplist_last_le(const struct skiplist *list, double score)
{
	struct place place = behind_score(score);

	return last_before(list, &place);
}

struct skipnode *skiplist_last_lt(const struct skiplist *list, double score)
{
	struct place place = before_score(score);

	return last_before(list, &place);
}

uint32_t skiplist_count_lt(const struct skiplist *list, double score)
{
	struct place place = before_score(score);

	return count_before(list, &place);
}

uint32_t skiplist_count_le(const struct skiplist *list, double score)
{
	struct place place = behind_score(score);

	return count_before(list, &place);
}

uint32_t skiplist_count_range(const struct skiplist *list, double min, double max)
{
	if (min > max)
		return 0;
	return skiplist_count_le(list, max) - skiplist_count_lt(list, min);
}

struct skipnode *skiplist_find(const struct skiplist *list, double score, struct qless_str member)
{
	struct skipnode *node = skiplist_first_ge_member(list, score, member);

	if (node == NULL || node->score != score || !str_equal(list->member(node), member))
		return NULL;
	return node;
}

struct skipnode *skiplist_first_ge_member(const struct skiplist *list, double score,
					  struct qless_str member)
{
	struct place place = before_member(score, &member);

	return first_behind(list, &place);
}

struct skipnode *skiplist_first_gt_member(const struct skiplist *list, double score,
					  struct qless_str member)
{
	struct place place = behind_member(score, &member);

	return first_behind(list, &place);
}

struct skipnode *skiplist_last_le_member(const struct skiplist *list, double score,
					 struct qless_str member)
{
	struct place place = behind_member(score, &member);

	return last_before(list, &place);
}

struct skipnode *skiplist_last_lt_member(const struct skiplist *list, double score,
					 struct qless_str member)
{
	struct place place = before_member(score, &member);

	return last_before(list, &place);
}
