/*
 * Pages of lists: the part of a list that a caller asks for.
 */
#ifndef ENGINE_PAGE_H
#define ENGINE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The index range `start` to `stop` of a list of `count` nodes, as Redis takes it: negative indices
 * count from the end, indices outside the list are cut off. Returns false if the range is empty. */
bool index_range(uint64_t count, int64_t start, int64_t stop, uint64_t *ret_first,
		 uint64_t *ret_count);
/* The index range offset .. offset + count - 1, without overflow. */
bool page_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		uint64_t *ret_count);
/* A limit: a negative offset gives nothing, a negative count everything. */
bool limit_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		 uint64_t *ret_count);

#endif
