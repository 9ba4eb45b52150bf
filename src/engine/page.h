/*
 * Pages of lists: which part of a list a caller asks for.
 */
#ifndef ENGINE_PAGE_H
#define ENGINE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The nodes with indices from start to stop of a list of `count`, as Redis takes them: negative
 * ones count from the end, what lies outside is cut off. False if nothing is left. */
bool index_range(uint64_t count, int64_t start, int64_t stop, uint64_t *ret_first,
		 uint64_t *ret_count);
/* offset .. offset + count - 1 as such a range, without overflow. */
bool page_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		uint64_t *ret_count);
/* A LIMIT of `offset` and `count`: a negative offset gives nothing, a negative count everything. */
bool limit_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		 uint64_t *ret_count);

#endif
