/*
 * The last entries of the log of a group, in memory.
 */
#ifndef JOURNAL_ENTRY_CACHE_H
#define JOURNAL_ENTRY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "journal/record.h"
#include "util/str.h"

struct cached_entry {
	enum record_type type;
	char *bytes; /* of the payload */
	size_t len;
};

struct entry_cache {
	uint64_t first; /* index of the first entry, which is all[start] */
	struct cached_entry *all;
	size_t start, count, cap;
	size_t bytes; /* of the payloads */
};

void entry_cache_done(struct entry_cache *cache);
/* Add the entry after those that are there. Copies the payload. */
void entry_cache_add(struct entry_cache *cache, uint64_t index, enum record_type type,
		     struct qless_str payload);
/* Drop the entries from `from` on. */
void entry_cache_cut(struct entry_cache *cache, uint64_t from);
/* Drop the oldest entries, up to `last`, while the payloads have more than `max_bytes`. */
void entry_cache_shrink(struct entry_cache *cache, uint64_t last, size_t max_bytes);
/* Returns an entry, or NULL if it is not there. */
const struct cached_entry *entry_cache_get(const struct entry_cache *cache, uint64_t index);

#endif
