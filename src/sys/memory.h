/*
 * The memory of the process, as reported by the allocator and the kernel.
 */
#ifndef SYS_MEMORY_H
#define SYS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Figures in bytes. A figure that the allocator does not know is 0. */
struct memory_figures {
	size_t allocated; /* allocated by the program */
	size_t active;	  /* pages with at least one allocation */
	size_t resident;  /* physical memory of the allocator */
	size_t mapped;	  /* address space of the allocator */
	size_t retained;  /* address space that is reserved without memory */
	size_t rss;	  /* physical memory of the whole process, from the kernel */
};

/* Takes a few system calls: for INFO, not for every command. */
void memory_read(struct memory_figures *ret_figures);

/*
 * The memory that one thread has allocated minus what it has freed, always exact. jemalloc counts
 * both for each thread, so a reading is two loads. Its figures for the whole process take
 * microseconds, and include its caches. Without jemalloc it is the figure of the last sync.
 */
struct memory_gauge {
	/* Volatile, because compilers assume that malloc() and free() change no variable. */
	const volatile uint64_t *taken;
	const volatile uint64_t *given;
	size_t synced;
};

/* Initialises the gauge for the calling thread. */
void memory_gauge_init(struct memory_gauge *g);
/* Call this once a second. */
void memory_gauge_sync(struct memory_gauge *g);

static inline size_t memory_gauge_read(const struct memory_gauge *g)
{
	return g->synced + (size_t)(*g->taken - *g->given);
}

/* The statistics of the allocator as readable text, in pieces. */
void memory_report(void (*write)(void *arg, const char *text), void *arg);

/* Physical memory of the machine. */
size_t memory_of_machine(void);

/* vm.overcommit_memory: 0, 1 or 2, or -1 if it cannot be read. */
int memory_overcommit(void);

/* "jemalloc-5.3.0", "libc". */
const char *memory_allocator(void);

/* Return unused pages to the system. */
void memory_purge(void);

#endif
