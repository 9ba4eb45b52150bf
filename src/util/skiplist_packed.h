/*
 * Packed skiplists, for skiplist.c: the functions of skiplist.h for lists with nodes in blocks.
 */
#ifndef UTIL_SKIPLIST_PACKED_H
#define UTIL_SKIPLIST_PACKED_H

#include "util/skiplist_place.h"

void packed_clear(struct skiplist *list);
void packed_done(struct skiplist *list);
size_t packed_memory(const struct skiplist *list);
void packed_insert(struct skiplist *list, struct skipnode *node, double score);
void packed_insert_after(struct skiplist *list, struct skipnode *node, double score,
			 struct skipnode *before);
void packed_remove(struct skiplist *list, struct skipnode *node);
uint32_t packed_rank(const struct skiplist *list, const struct skipnode *node);
/* The node of a rank that exists. */
struct skipnode *packed_at(const struct skiplist *list, uint32_t rank);
/* Whether a node, whose neighbours know it, is in this list. */
bool packed_has(const struct skiplist *list, const struct skipnode *node);
/* The last node before a place, and the number of nodes up to it; NULL and 0 if there is none. */
struct skipnode *packed_last_before(const struct skiplist *list, const struct place *place,
				    uint32_t *ret_count);

#endif
