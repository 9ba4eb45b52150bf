/*
 * How much memory the process takes, as the allocator and the kernel see it.
 */
#ifndef SYS_MEMORY_H
#define SYS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

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

/*
 * What one thread has been handed less what it has given back, exact at every moment. jemalloc
 * counts both for each thread, so that a reading is two loads, where its figures for the process
 * cost microseconds and count what its caches keep. Without jemalloc it is the figure of the last
 * sync.
 */
struct memory_gauge {
	/* Volatile, because compilers know that malloc() and free() change no variable. */
	const volatile uint64_t *taken;
	const volatile uint64_t *given;
	size_t synced;
};

/* For the calling thread. */
void memory_gauge_init(struct memory_gauge *g);
/* Once a second. */
void memory_gauge_sync(struct memory_gauge *g);

static inline size_t memory_gauge_read(const struct memory_gauge *g)
{
	return g->synced + (size_t)(*g->taken - *g->given);
}

/* What the allocator has to say about itself, as text for people, in pieces. */
void memory_report(void (*write)(void *arg, const char *text), void *arg);

/* Physical memory of the machine. */
size_t memory_of_machine(void);

/* vm.overcommit_memory: 0, 1 or 2; -1 if the system does not tell. */
int memory_overcommit(void);

/* "jemalloc-5.3.0", "libc". */
const char *memory_allocator(void);

/* Give unused pages back to the system. */
void memory_purge(void);

#endif
