/*
 * Allocations that never return NULL: running out of memory ends the process.
 *
 * Sizes from outside are checked against a named limit first, so only a machine without memory gets
 * this far. Free with free().
 */
#ifndef UTIL_MEM_H
#define UTIL_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void *mem_alloc(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *mem_realloc(void *ptr, size_t size) __attribute__((alloc_size(2), returns_nonnull));

/* Bytes of a huge page: the size that one entry of a page table covers if the kernel allows it. */
#define MEM_HUGE_BYTES ((size_t)2 * 1024 * 1024)

/* Allocates a multiple of MEM_HUGE_BYTES on huge pages, if the kernel has any. For memory that is
 * used entirely and in random order: all of a huge page is resident. */
void *mem_alloc_huge(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));

/* Allocates memory that is written from end to end at once. The kernel provides all its pages in
 * one call, which takes half as long as a page fault for each. */
void *mem_alloc_resident(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));

/* `count` times `size` bytes; ends the process if the product overflows. */
void *mem_realloc_array(void *ptr, size_t count, size_t size)
	__attribute__((alloc_size(2, 3), returns_nonnull));

/* The slow paths of mem_grow() and mem_grow32(). */
void *mem_grow_array(void *items, size_t *cap, size_t need, size_t size)
	__attribute__((returns_nonnull));
void *mem_grow_array32(void *items, uint32_t *cap, size_t need, size_t size)
	__attribute__((returns_nonnull));

/*
 * Make room for `need` items of `size` bytes in the array `items`, which has room for `*cap`.
 *
 * Returns the array, which may have moved, and updates `*cap`. The room at least doubles when it
 * grows, so appending n items one by one copies O(n) items. The process ends if the size overflows.
 * An empty array is NULL with `*cap` 0:
 *
 *	v->items = mem_grow(v->items, &v->cap, v->count + 1, sizeof *v->items);
 *	v->items[v->count++] = item;
 */
static inline void *mem_grow(void *items, size_t *cap, size_t need, size_t size)
{
	return need <= *cap ? items : mem_grow_array(items, cap, need, size);
}

/* mem_grow() for a 32-bit capacity. The process also ends if more than UINT32_MAX items are needed.
 * */
static inline void *mem_grow32(void *items, uint32_t *cap, size_t need, size_t size)
{
	return need <= *cap ? items : mem_grow_array32(items, cap, need, size);
}

/* A copy of `size` bytes, followed by a NUL. */
char *mem_dup(const void *src, size_t size) __attribute__((malloc, returns_nonnull));

#endif
