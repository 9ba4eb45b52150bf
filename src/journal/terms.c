/*
 * Runs of terms in an array. There are few: each change of the leader begins one.
 */
#include "journal/terms.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

void terms_done(struct terms *t)
{
	free(t->runs);
	*t = (struct terms){ 0 };
}

void terms_add(struct terms *t, uint64_t index, uint64_t term)
{
	assert(t->count == 0 || index >= t->runs[t->count - 1].first);
	if (t->count > 0 && t->runs[t->count - 1].term == term)
		return;
	t->runs = mem_grow(t->runs, &t->cap, t->count + 1, sizeof *t->runs);
	t->runs[t->count++] = (struct term_run){ index, term };
}

void terms_cut(struct terms *t, uint64_t from)
{
	while (t->count > 0 && t->runs[t->count - 1].first >= from)
		t->count--;
}

/* Returns the number of runs that begin at an index or before it. */
static size_t count_up_to(const struct terms *t, uint64_t index)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->runs[middle].first <= index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void terms_forget(struct terms *t, uint64_t first)
{
	size_t before = count_up_to(t, first);

	if (before == 0)
		return;
	before--;
	t->count -= before;
	memmove(t->runs, t->runs + before, t->count * sizeof *t->runs);
	t->runs[0].first = first;
}

uint64_t terms_at(const struct terms *t, uint64_t index)
{
	size_t before = count_up_to(t, index);

	return before > 0 ? t->runs[before - 1].term : 0;
}
