/*
 * Reading two skiplists as if they were one: their nodes in one order, by score and member.
 *
 * Nothing is copied. No member has the same score in both lists. With an empty second list, each
 * function takes as long as the one of a skiplist. Otherwise stepping takes O(log n), and finding
 * the node of a rank O(log n) searches.
 */
#ifndef UTIL_SKIPMERGE_H
#define UTIL_SKIPMERGE_H

#include <stdint.h>

#include "util/skiplist.h"

struct skipmerge {
	const struct skiplist *first;
	const struct skiplist *second; /* NULL: there is just one */
};

/* Whether there is nothing to merge. */
static inline bool skipmerge_is_single(const struct skipmerge *m)
{
	return m->second == NULL || skiplist_count(m->second) == 0;
}

static inline struct qless_str skipmerge_member(const struct skipmerge *m,
						const struct skipnode *node)
{
	return m->first->member(node);
}

/* Each is as the function of a skiplist. */
uint32_t skipmerge_count(const struct skipmerge *m);
const struct skipnode *skipmerge_first(const struct skipmerge *m);
const struct skipnode *skipmerge_last(const struct skipmerge *m);
const struct skipnode *skipmerge_next(const struct skipmerge *m, const struct skipnode *node);
const struct skipnode *skipmerge_prev(const struct skipmerge *m, const struct skipnode *node);
uint32_t skipmerge_rank(const struct skipmerge *m, const struct skipnode *node);
const struct skipnode *skipmerge_at(const struct skipmerge *m, uint32_t rank);
const struct skipnode *skipmerge_first_ge(const struct skipmerge *m, double score);
uint32_t skipmerge_count_lt(const struct skipmerge *m, double score);
uint32_t skipmerge_count_le(const struct skipmerge *m, double score);
const struct skipnode *skipmerge_first_ge_member(const struct skipmerge *m, double score,
						 struct qless_str member);
const struct skipnode *skipmerge_first_gt_member(const struct skipmerge *m, double score,
						 struct qless_str member);
const struct skipnode *skipmerge_last_lt_member(const struct skipmerge *m, double score,
						struct qless_str member);

#endif
