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
#define PATTERN_MATCHES 4

/* The patterns that a channel matches. */
struct pattern_matches {
	uint64_t version; /* of the index; 0: nothing is remembered */
	struct buf channel;
	const struct channel **patterns;
	size_t count, cap;
};

struct pattern_index {
	struct hash groups; /* patterns with the same beginning */
	/* The number of groups by the length of their beginning. */
	unsigned by_length[PATTERN_BEGIN_MAX + 1];
	size_t longest;	  /* no group has a longer beginning */
	uint64_t version; /* grows when a pattern is added or removed */
	struct pattern_matches matches[PATTERN_MATCHES];
	unsigned next_matches; /* to forget next */
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

/* Visit the patterns that match a channel: those with short beginnings first, and those with the
 * same beginning in the order in which they were added. The visitor does not change the index. */
typedef void pattern_visit_fn(const struct channel *pattern, void *arg);
void pattern_index_match(struct pattern_index *index, struct qless_str channel,
			 pattern_visit_fn *visit, void *arg);

#endif
