/*
 * References to names, queues and taggings, counted by walking through the whole state.
 */
#ifndef ENGINE_REFS_H
#define ENGINE_REFS_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"

/* All there is that refers to names, queues and taggings, to be compared with what they count
 * themselves. */
struct refs {
	const void **items; /* sorted */
	size_t count;
	size_t cap;
};

void refs_init(struct refs *refs, const struct qless *q);
void refs_done(struct refs *refs);
/* How many there are to a name; how many jobs name a queue; how often a tagging is in its job's
 * list. */
uint64_t refs_count(const struct refs *refs, const void *object);

/* The counters of struct qless that only save walking, walked for. */
struct tallies {
	uint64_t depending;
	uint64_t depended;
	uint64_t busy;
	uint64_t groups;
	uint64_t queues;
	uint64_t paused;
};

void refs_tally(const struct qless *q, struct tallies *ret_tallies);

#endif
