/*
 * The keys that an engine shows, and their comparison with the keys it was built from.
 */
#ifndef MOVING_VIEW_H
#define MOVING_VIEW_H

#include "moving/findings.h"
#include "moving/keys.h"
#include "qless.h"

/* Returns the key as the engine shows it, or NULL. The caller frees it. */
struct key *view_key(const struct qless *engine, struct qless_str name);

/* Whether two spellings mean the same number or JSON. */
bool view_same(const struct key *key, struct qless_str field, struct qless_str a,
	       struct qless_str b);

struct comparison {
	uint64_t equal;
	uint64_t jobs;	    /* hashes of jobs among these */
	uint64_t explained; /* different because of findings */
	uint64_t different; /* different without a known reason */
	struct buf examples;
};

/* Compares every key that was read, and every key that the engine shows. */
void compare_keys(const struct qless *engine, const struct keys *keys, struct findings *findings,
		  struct comparison *ret_comparison);
void comparison_done(struct comparison *comparison);

#endif
