#include "util/mem.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)4096)
/* Bytes that a growing array allocates first, unless it needs more. One cache line, because many
 * arrays stay short. */
#define GROW_FIRST_BYTES ((size_t)64)

static void *check(void *ptr)
{
	if (ptr == NULL)
		abort();
	return ptr;
}

void *mem_alloc(size_t size)
{
	return check(malloc(size != 0 ? size : 1));
}

void *mem_zalloc(size_t size)
{
	return check(calloc(1, size != 0 ? size : 1));
}

void *mem_alloc_huge(size_t size)
{
	void *ptr = check(aligned_alloc(MEM_HUGE_BYTES, size));

	/* Advice only: without huge pages the memory is slower. */
#ifdef MADV_HUGEPAGE
	(void)madvise(ptr, size, MADV_HUGEPAGE);
#endif
	return ptr;
}

void *mem_alloc_resident(size_t size)
{
	size_t whole = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	void *ptr = check(aligned_alloc(PAGE_BYTES, whole));

	/* Advice only: old kernels and those with larger pages refuse it. Then each page is faulted
	 * in when it is first used. */
#ifdef MADV_POPULATE_WRITE
	(void)madvise(ptr, whole, MADV_POPULATE_WRITE);
#endif
	return ptr;
}

void *mem_realloc(void *ptr, size_t size)
{
	return check(realloc(ptr, size != 0 ? size : 1));
}

void *mem_realloc_array(void *ptr, size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size)
		abort();
	return mem_realloc(ptr, count * size);
}

/* The capacity to grow to from `cap`, for `need` items of `size` bytes. Aborts above `max` items.
 * */
static size_t next_cap(size_t cap, size_t need, size_t size, size_t max)
{
	size_t next = GROW_FIRST_BYTES / size;

	if (need > max)
		abort();
	if (cap != 0)
		next = cap <= max / 2 ? 2 * cap : max;
	return next >= need ? next : need;
}

void *mem_grow_array(void *items, size_t *cap, size_t need, size_t size)
{
	assert(size != 0 && need > *cap);
	*cap = next_cap(*cap, need, size, SIZE_MAX / size);
	return mem_realloc_array(items, *cap, size);
}

void *mem_grow_array32(void *items, uint32_t *cap, size_t need, size_t size)
{
	assert(size != 0 && need > *cap);
	*cap = (uint32_t)next_cap(*cap, need, size, UINT32_MAX);
	return mem_realloc_array(items, *cap, size);
}

char *mem_dup(const void *src, size_t size)
{
	char *copy = mem_alloc(size + 1);

	if (size != 0)
		memcpy(copy, src, size);
	copy[size] = '\0';
	return copy;
}
