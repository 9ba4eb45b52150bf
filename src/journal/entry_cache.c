/*
 * An array with a start that moves.
 */
#include "journal/entry_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static void drop(struct entry_cache *cache, const struct cached_entry *entry)
{
	cache->bytes -= entry->len;
	free(entry->bytes);
}

void entry_cache_done(struct entry_cache *cache)
{
	entry_cache_cut(cache, 0);
	free(cache->all);
	*cache = (struct entry_cache){ 0 };
}

void entry_cache_add(struct entry_cache *cache, uint64_t index, enum record_type type,
		     struct qless_str payload)
{
	char *bytes = mem_alloc(payload.len + 1);

	assert(cache->count == 0 || index == cache->first + cache->count);
	/* At least half of the array is free then, so moving costs little. */
	if (cache->start > cache->count) {
		memmove(cache->all, cache->all + cache->start, cache->count * sizeof *cache->all);
		cache->start = 0;
	}
	if (cache->count == 0)
		cache->first = index;
	if (payload.len > 0)
		memcpy(bytes, payload.ptr, payload.len);
	cache->all = mem_grow(cache->all, &cache->cap, cache->start + cache->count + 1,
			      sizeof *cache->all);
	cache->all[cache->start + cache->count++] =
		(struct cached_entry){ type, bytes, payload.len };
	cache->bytes += payload.len;
}

void entry_cache_cut(struct entry_cache *cache, uint64_t from)
{
	while (cache->count > 0 && cache->first + cache->count > from)
		drop(cache, &cache->all[cache->start + --cache->count]);
}

void entry_cache_shrink(struct entry_cache *cache, uint64_t last, size_t max_bytes)
{
	while (cache->count > 0 && cache->first <= last && cache->bytes > max_bytes) {
		drop(cache, &cache->all[cache->start++]);
		cache->count--;
		cache->first++;
	}
}

const struct cached_entry *entry_cache_get(const struct entry_cache *cache, uint64_t index)
{
	if (cache->count == 0 || index < cache->first || index - cache->first >= cache->count)
		return NULL;
	return &cache->all[cache->start + (size_t)(index - cache->first)];
}
