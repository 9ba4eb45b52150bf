/*
 * Patterns by their literal beginnings, so that a message is only compared with patterns that begin
 * like its channel.
 *
 * A beginning longer than PATTERN_BEGIN_EXACT bytes is rounded down to a multiple of
 * PATTERN_BEGIN_STEP, and to PATTERN_BEGIN_MAX bytes. So a channel has few beginnings, and the
 * number of patterns with the same beginning limits the comparisons of a message, whatever the
 * patterns.
 *
 * The index remembers which patterns the latest channels match, because a command may publish
 * thousands of messages on the same channel.
 */
#ifndef SERVER_PATTERN_INDEX_H
#define SERVER_PATTERN_INDEX_H

#include "server/pubsub.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/hash.h"

#define PATTERN_BEGIN_EXACT 16
#define PATTERN_BEGIN_STEP  8
#define PATTERN_BEGIN_MAX   64

/* Channels whose matches are remembered; a power of two. */
#define PATTERN_MEMORY 4

/* The patterns that a channel matches. All zero if there are none. */
struct pattern_matches {
	struct channel **patterns;
	size_t count, cap;
};

struct pattern_memory {
	uint64_t version; /* of the index; 0: nothing is remembered */
	struct buf channel;
	struct pattern_matches matches;
};

struct pattern_index {
	struct hash groups; /* patterns with the same beginning */
	/* The number of groups by the length of their beginning. */
	unsigned by_length[PATTERN_BEGIN_MAX + 1];
	size_t longest;	  /* no group has a longer beginning */
	uint64_t version; /* grows when a pattern is added or removed */
	struct pattern_memory memory[PATTERN_MEMORY];
	unsigned next_memory; /* to forget next */
};

void pattern_index_init(struct pattern_index *index, uint64_t hash_seed);
/* Call this after all patterns have been removed. */
void pattern_index_done(struct pattern_index *index);

/* Borrows the pattern, which has at most GLOB_MAX_BYTES, until it is removed. */
void pattern_index_add(struct pattern_index *index, struct channel *pattern);
void pattern_index_remove(struct pattern_index *index, struct channel *pattern);

/* The beginning under which a pattern is filed. */
struct qless_str pattern_index_begin(struct qless_str pattern);
/* The number of patterns with the same beginning as this one. */
unsigned pattern_index_similar(const struct pattern_index *index, struct qless_str pattern);

/* The version changes with each pattern that is added or removed. It is never 0. */
uint64_t pattern_index_version(const struct pattern_index *index);
bool pattern_index_is_empty(const struct pattern_index *index);

/* Step through the patterns that begin like a channel: those with short beginnings first, and those
 * with the same beginning in the order in which they were added. NULL is the end. */
struct channel *pattern_index_first(const struct pattern_index *index, struct qless_str channel);
struct channel *pattern_index_next(const struct pattern_index *index, struct qless_str channel,
				   const struct channel *pattern);

void pattern_matches_add(struct pattern_matches *m, struct channel *pattern);
void pattern_matches_done(struct pattern_matches *m);
/* Returns the patterns that a channel matches, or NULL if they are not remembered. */
const struct pattern_matches *pattern_index_recall(const struct pattern_index *index,
						   struct qless_str channel);
/* Remembers the patterns that a channel matches. Takes the matches, and leaves them empty. */
void pattern_index_remember(struct pattern_index *index, struct qless_str channel,
			    struct pattern_matches *matches);

#endif
