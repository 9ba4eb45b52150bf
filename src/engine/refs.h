/*
 * References to names, queues and taggings, counted by walking the whole state.
 */
#ifndef ENGINE_REFS_H
#define ENGINE_REFS_H

#include <stddef.h>
#include <stdint.h>

#include "qless.h"

/* All references, to be compared with the reference counts. */
struct refs {
	const void **items; /* sorted */
	size_t count;
	size_t cap;
};

void refs_init(struct refs *refs, const struct qless *q);
void refs_done(struct refs *refs);
/* The number of references to a name, of jobs that name a queue, or of occurrences of a tagging in
 * the list of its job. */
uint64_t refs_count(const struct refs *refs, const void *object);

/* The counters of struct qless, counted by walking. */
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
