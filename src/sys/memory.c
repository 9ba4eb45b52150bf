#include "sys/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "build_config.h"

#ifdef HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

/* The second number of /proc/self/statm counts pages. Read without stdio, which would allocate. */
static size_t read_rss(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128];
	char *second;
	ssize_t len;

	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof text - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	strtoull(text, &second, 10);
	return (size_t)strtoull(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t memory_of_machine(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef HAVE_JEMALLOC

/*
 * What jemalloc reads when it starts; MALLOC_CONF in the environment takes precedence.
 *
 * Huge pages are for fork(), which copies the page tables while everybody waits: with a million
 * jobs it takes a millisecond and not fifty. What is written while the child lives still is copied
 * by small pages, so that it costs no more than it did. As commands touch memory here and there,
 * they are quicker by a tenth, too. A process takes some megabytes more. One arena is enough for
 * one thread that allocates, and leaves fewer huge pages half empty.
 */
const char *malloc_conf = "thp:always,narenas:1";

static size_t statistic(const char *name)
{
	size_t value = 0, size = sizeof value;

	return mallctl(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

/* jemalloc keeps a snapshot of its figures until the epoch is moved on. */
static void refresh(void)
{
	uint64_t epoch = 1;
	size_t size = sizeof epoch;

	mallctl("epoch", &epoch, &size, &epoch, size);
}

void memory_read(struct memory_figures *ret_figures)
{
	refresh();
	*ret_figures = (struct memory_figures){
		.allocated = statistic("stats.allocated"),
		.active = statistic("stats.active"),
		.resident = statistic("stats.resident"),
		.mapped = statistic("stats.mapped"),
		.retained = statistic("stats.retained"),
		.rss = read_rss(),
	};
}

size_t memory_allocated(void)
{
	refresh();
	return statistic("stats.allocated");
}

#define TEXT_OF(x)    TEXT_OF_IT(x)
#define TEXT_OF_IT(x) #x

const char *memory_allocator(void)
{
	return "jemalloc-" TEXT_OF(JEMALLOC_VERSION_MAJOR) "." TEXT_OF(
		JEMALLOC_VERSION_MINOR) "." TEXT_OF(JEMALLOC_VERSION_BUGFIX);
}

void memory_purge(void)
{
	mallctl("arena." TEXT_OF(MALLCTL_ARENAS_ALL) ".purge", NULL, NULL, NULL, 0);
}

#else

void memory_read(struct memory_figures *ret_figures)
{
	struct mallinfo2 info = mallinfo2();
	size_t mapped = info.arena + info.hblkhd;

	*ret_figures = (struct memory_figures){
		.allocated = info.uordblks + info.hblkhd,
		.active = mapped,
		.resident = mapped,
		.mapped = mapped,
		.rss = read_rss(),
	};
}

size_t memory_allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

const char *memory_allocator(void)
{
	return "libc";
}

void memory_purge(void)
{
	malloc_trim(0);
}

#endif
