/*
 * Memory that is always there: an allocation that fails ends the process.
 *
 * Sizes that come from outside are checked against a named limit first, so that what fails here is
 * the machine and not a request. Free with free().
 */
#ifndef UTIL_MEM_H
#define UTIL_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void *mem_alloc(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *mem_realloc(void *ptr, size_t size) __attribute__((alloc_size(2), returns_nonnull));

/* What the processor's table of pages can hold as one entry where the kernel provides for it. */
#define MEM_HUGE_BYTES ((size_t)2 * 1024 * 1024)

/* A multiple of MEM_HUGE_BYTES, on huge pages if there are any to be had. For memory that is all
 * used, at random: of a huge page, all is resident. */
void *mem_alloc_huge(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));

/* For memory that is written to from end to end as soon as it is there: the kernel is asked for all
 * of its pages at once, which takes half as long as a fault for each. */
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

/* mem_grow() for a capacity of 32 bits; the process also ends if more than UINT32_MAX are needed.
 */
static inline void *mem_grow32(void *items, uint32_t *cap, size_t need, size_t size)
{
	return need <= *cap ? items : mem_grow_array32(items, cap, need, size);
}

/* A copy of `size` bytes with a NUL after them. */
char *mem_dup(const void *src, size_t size) __attribute__((malloc, returns_nonnull));

#endif
