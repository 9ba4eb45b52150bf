#include "history.h"

#include <assert.h>
#include <sys/mman.h>
#include <time.h>

#define BYTES (sizeof(struct history) + HISTORY_ENTRIES_MAX * sizeof(struct history_entry))

struct history *history_new(void)
{
	struct history *h = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert(h != MAP_FAILED);
	h->entries = (struct history_entry *)(h + 1);
	return h;
}

void history_free(struct history *h)
{
	munmap(h, BYTES);
}

double history_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void history_enter(struct history *h, enum happening what, struct history_entry entry)
{
	uint64_t at = atomic_fetch_add(&h->count, 1);
	struct history_entry *to = &h->entries[at];

	assert(at < HISTORY_ENTRIES_MAX);
	to->process = entry.process;
	to->name = entry.name;
	to->job = entry.job;
	to->lock = entry.lock;
	to->expires = entry.expires;
	to->time = history_now();
	atomic_store(&to->what, (uint32_t)what);
}
