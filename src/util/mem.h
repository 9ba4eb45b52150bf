/*
 * Memory that is always there: an allocation that fails ends the process.
 *
 * Sizes that come from outside are checked against a named limit first, so that what fails here is
 * the machine and not a request. Free with free().
 */
#ifndef UTIL_MEM_H
#define UTIL_MEM_H

#include <stddef.h>
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

/* A copy of `size` bytes with a NUL after them. */
char *mem_dup(const void *src, size_t size) __attribute__((malloc, returns_nonnull));

#endif
