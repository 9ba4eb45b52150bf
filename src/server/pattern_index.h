/*
 * Patterns by their literal beginnings, so that a message is compared only with patterns that begin
 * like its channel.
 */
#ifndef SERVER_PATTERN_INDEX_H
#define SERVER_PATTERN_INDEX_H

#include "server/pubsub.h"
#include "util/glob.h"
#include "util/hash.h"

struct pattern_index {
	struct hash groups; /* patterns with the same literal beginning */
	/* The number of groups by the length of their beginning. */
	unsigned by_length[GLOB_MAX_BYTES + 1];
	size_t longest; /* no group has a longer beginning */
};

void pattern_index_init(struct pattern_index *index, uint64_t hash_seed);
/* Call this after all patterns have been removed. */
void pattern_index_done(struct pattern_index *index);

/* Borrows the pattern, which has at most GLOB_MAX_BYTES, until it is removed. */
void pattern_index_add(struct pattern_index *index, struct channel *pattern);
void pattern_index_remove(struct pattern_index *index, struct channel *pattern);

/* The number of patterns with the same literal beginning as this one. */
unsigned pattern_index_similar(const struct pattern_index *index, struct qless_str pattern);

/* Visit the patterns that match a channel: those with short beginnings first, and those with the
 * same beginning in the order in which they were added. */
typedef void pattern_visit_fn(const struct channel *pattern, void *arg);
void pattern_index_match(const struct pattern_index *index, struct qless_str channel,
			 pattern_visit_fn *visit, void *arg);

#endif
