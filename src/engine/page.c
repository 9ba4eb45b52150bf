#include "engine/page.h"

#include <assert.h>

bool index_range(uint64_t count, int64_t start, int64_t stop, uint64_t *ret_first,
		 uint64_t *ret_count)
{
	int64_t len = (int64_t)count;

	if (start < 0)
		start = start + len > 0 ? start + len : 0;
	if (stop < 0)
		stop += len;
	if (stop >= len)
		stop = len - 1;
	if (start > stop)
		return false;
	*ret_first = (uint64_t)start;
	*ret_count = (uint64_t)(stop - start) + 1;
	assert(*ret_first < count && *ret_count <= count - *ret_first);
	return true;
}

bool page_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		uint64_t *ret_count)
{
	int64_t stop;

	if (__builtin_add_overflow(offset, count, &stop) || __builtin_sub_overflow(stop, 1, &stop))
		stop = count > 0 ? INT64_MAX : INT64_MIN;
	return index_range(total, offset, stop, ret_first, ret_count);
}

bool limit_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		 uint64_t *ret_count)
{
	uint64_t left;

	if (offset < 0 || (uint64_t)offset >= total || count == 0)
		return false;
	left = total - (uint64_t)offset;
	*ret_first = (uint64_t)offset;
	*ret_count = count < 0 || (uint64_t)count > left ? left : (uint64_t)count;
	return true;
}
