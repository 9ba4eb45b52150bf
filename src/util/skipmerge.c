#include "util/skipmerge.h"

#include <assert.h>
#include <stddef.h>

static uint32_t count_of(const struct skiplist *list)
{
	return list != NULL ? skiplist_count(list) : 0;
}

/* The one of two nodes that comes first. Either may be NULL. */
static const struct skipnode *earlier(const struct skipmerge *m, const struct skipnode *a,
				      const struct skipnode *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	if (a->score != b->score)
		return a->score < b->score ? a : b;
	return str_compare(skipmerge_member(m, a), skipmerge_member(m, b)) < 0 ? a : b;
}

static const struct skipnode *later(const struct skipmerge *m, const struct skipnode *a,
				    const struct skipnode *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	return earlier(m, a, b) == a ? b : a;
}

uint32_t skipmerge_count(const struct skipmerge *m)
{
	return skiplist_count(m->first) + count_of(m->second);
}

const struct skipnode *skipmerge_first(const struct skipmerge *m)
{
	if (skipmerge_is_single(m))
		return skiplist_first(m->first);
	return earlier(m, skiplist_first(m->first), skiplist_first(m->second));
}

const struct skipnode *skipmerge_last(const struct skipmerge *m)
{
	if (skipmerge_is_single(m))
		return skiplist_last(m->first);
	return later(m, skiplist_last(m->first), skiplist_last(m->second));
}

const struct skipnode *skipmerge_next(const struct skipmerge *m, const struct skipnode *node)
{
	if (skipmerge_is_single(m))
		return skiplist_next(node);
	return skipmerge_first_gt_member(m, node->score, skipmerge_member(m, node));
}

const struct skipnode *skipmerge_prev(const struct skipmerge *m, const struct skipnode *node)
{
	if (skipmerge_is_single(m))
		return skiplist_prev(node);
	return skipmerge_last_lt_member(m, node->score, skipmerge_member(m, node));
}

/* The number of nodes of a list that come before a place. */
static uint32_t count_before(const struct skiplist *list, double score, struct qless_str member)
{
	const struct skipnode *node = skiplist_first_ge_member(list, score, member);

	return node != NULL ? skiplist_rank(list, node) : skiplist_count(list);
}

uint32_t skipmerge_rank(const struct skipmerge *m, const struct skipnode *node)
{
	struct qless_str member = skipmerge_member(m, node);

	if (skipmerge_is_single(m))
		return skiplist_rank(m->first, node);
	return count_before(m->first, node->score, member) +
	       count_before(m->second, node->score, member);
}

/* The number of nodes of the first list among the first `rank` of both. */
static uint32_t split(const struct skipmerge *m, uint32_t rank)
{
	uint32_t second = skiplist_count(m->second);
	uint32_t low = rank > second ? rank - second : 0;
	uint32_t high = rank < skiplist_count(m->first) ? rank : skiplist_count(m->first);

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (skipmerge_rank(m, skiplist_at(m->first, mid)) < rank)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct skipnode *skipmerge_at(const struct skipmerge *m, uint32_t rank)
{
	uint32_t from_first;

	if (skipmerge_is_single(m))
		return skiplist_at(m->first, rank);
	if (rank >= skipmerge_count(m))
		return NULL;
	from_first = split(m, rank);
	assert(from_first <= rank);
	return earlier(m, skiplist_at(m->first, from_first),
		       skiplist_at(m->second, rank - from_first));
}

const struct skipnode *skipmerge_first_ge(const struct skipmerge *m, double score)
{
	const struct skipnode *node = skiplist_first_ge(m->first, score);

	if (skipmerge_is_single(m))
		return node;
	return earlier(m, node, skiplist_first_ge(m->second, score));
}

uint32_t skipmerge_count_lt(const struct skipmerge *m, double score)
{
	uint32_t count = skiplist_count_lt(m->first, score);

	return skipmerge_is_single(m) ? count : count + skiplist_count_lt(m->second, score);
}

uint32_t skipmerge_count_le(const struct skipmerge *m, double score)
{
	uint32_t count = skiplist_count_le(m->first, score);

	return skipmerge_is_single(m) ? count : count + skiplist_count_le(m->second, score);
}

const struct skipnode *skipmerge_first_ge_member(const struct skipmerge *m, double score,
						 struct qless_str member)
{
	const struct skipnode *node = skiplist_first_ge_member(m->first, score, member);

	if (skipmerge_is_single(m))
		return node;
	return earlier(m, node, skiplist_first_ge_member(m->second, score, member));
}

const struct skipnode *skipmerge_first_gt_member(const struct skipmerge *m, double score,
						 struct qless_str member)
{
	const struct skipnode *node = skiplist_first_gt_member(m->first, score, member);

	if (skipmerge_is_single(m))
		return node;
	return earlier(m, node, skiplist_first_gt_member(m->second, score, member));
}

const struct skipnode *skipmerge_last_lt_member(const struct skipmerge *m, double score,
						struct qless_str member)
{
	const struct skipnode *node = skiplist_last_lt_member(m->first, score, member);

	if (skipmerge_is_single(m))
		return node;
	return later(m, node, skiplist_last_lt_member(m->second, score, member));
}
