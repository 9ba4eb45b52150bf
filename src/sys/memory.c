#include "sys/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "build_config.h"

/* A shared library has the allocator of the program that loads it. */
#ifdef QLESSD_NO_JEMALLOC
#undef HAVE_JEMALLOC
#endif

#ifdef HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#define LINE_BYTES 128

/* Avoids stdio, which allocates memory. */
static bool read_line(const char *path, char line[LINE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, line, LINE_BYTES - 1);
	close(fd);
	if (len <= 0)
		return false;
	line[len] = '\0';
	return true;
}

int memory_overcommit(void)
{
	char text[LINE_BYTES];

	return read_line("/proc/sys/vm/overcommit_memory", text) ? (int)strtol(text, NULL, 10) : -1;
}

/* The second number is a count of pages. */
static size_t read_rss(void)
{
	char text[LINE_BYTES];
	char *second;

	if (!read_line("/proc/self/statm", text))
		return 0;
	strtoull(text, &second, 10);
	return (size_t)strtoull(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t memory_of_machine(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

#ifdef HAVE_JEMALLOC

/*
 * Options that jemalloc reads when it starts; the environment variable MALLOC_CONF takes
 * precedence. One arena is enough, because one thread allocates. Huge pages (thp:always) would make
 * forks faster, but they take more memory and the kernel may stop the process to build them, so
 * that is left to the operator.
 */
const char *malloc_conf = "narenas:1";

static size_t statistic(const char *name)
{
	size_t value = 0, size = sizeof value;

	return mallctl(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

/* jemalloc returns a snapshot of its figures until the epoch advances. */
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

static const uint64_t *counter(const char *name)
{
	static const uint64_t zero;
	const uint64_t *at = &zero;
	size_t size = sizeof at;

	mallctl(name, &at, &size, NULL, 0);
	return at;
}

void memory_gauge_init(struct memory_gauge *g)
{
	*g = (struct memory_gauge){
		.taken = counter("thread.allocatedp"),
		.given = counter("thread.deallocatedp"),
	};
}

void memory_gauge_sync(struct memory_gauge *g)
{
	(void)g;
}

void memory_report(void (*write)(void *arg, const char *text), void *arg)
{
	malloc_stats_print(write, arg, NULL);
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

void memory_gauge_init(struct memory_gauge *g)
{
	static const uint64_t zero;

	*g = (struct memory_gauge){ .taken = &zero, .given = &zero };
	memory_gauge_sync(g);
}

void memory_gauge_sync(struct memory_gauge *g)
{
	struct mallinfo2 info = mallinfo2();

	g->synced = info.uordblks + info.hblkhd;
}

void memory_report(void (*write)(void *arg, const char *text), void *arg)
{
	write(arg, "Stats not supported for the current allocator");
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
