/*
 * How much memory the process takes, as the allocator and the kernel see it.
 */
#ifndef SYS_MEMORY_H
#define SYS_MEMORY_H

#include <stddef.h>

/* In bytes. What the allocator cannot tell is 0. */
struct memory_figures {
	size_t allocated; /* handed out to the program */
	size_t active;	  /* in pages that hold at least one allocation */
	size_t resident;  /* physical memory the allocator holds */
	size_t mapped;	  /* address space the allocator holds */
	size_t retained;  /* address space kept for later, without memory */
	size_t rss;	  /* physical memory of the whole process, by the kernel */
};

/* Takes a few system calls: for INFO, not for each command. */
void memory_read(struct memory_figures *ret_figures);

/* Just the bytes handed out. */
size_t memory_allocated(void);

/* Physical memory of the machine. */
size_t memory_of_machine(void);

/* "jemalloc-5.3.0", "libc". */
const char *memory_allocator(void);

/* Give unused pages back to the system. */
void memory_purge(void);

#endif
