/*
 * Places between the nodes of a skiplist, for skiplist.c and skiplist_packed.c.
 */
#ifndef UTIL_SKIPLIST_PLACE_H
#define UTIL_SKIPLIST_PLACE_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "util/skiplist.h"

/*
 * A place between two nodes. It is after all smaller nodes, and after the equal ones if
 * `behind_equal` is set. Without a member, all nodes of the same score are equal.
 */
struct place {
	double score;
	const struct qless_str *member;
	bool behind_equal;
};

static inline bool lies_before(const struct skiplist *list, const struct skipnode *node,
			       const struct place *place)
{
	if (node->score != place->score)
		return node->score < place->score;
	if (place->member != NULL) {
		int order = str_compare(list->member(node), *place->member);

		if (order != 0)
			return order < 0;
	}
	return place->behind_equal;
}

static inline struct place before_member(double score, const struct qless_str *member)
{
	assert(!isnan(score));
	return (struct place){ .score = score, .member = member };
}

static inline struct place behind_member(double score, const struct qless_str *member)
{
	assert(!isnan(score));
	return (struct place){ .score = score, .member = member, .behind_equal = true };
}

/* Give a node its score, and mark it as being in the list. */
static inline void skipnode_link(const struct skiplist *list, struct skipnode *node, double score)
{
	assert(!isnan(score));
	assert(!node->linked);
	assert(list->count < SKIPLIST_COUNT_MAX);
	node->score = score;
	node->linked = true;
}

#endif
