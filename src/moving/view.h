/*
 * The keys that an engine shows, and comparing them with those it was built from.
 */
#ifndef MOVING_VIEW_H
#define MOVING_VIEW_H

#include "moving/findings.h"
#include "moving/keys.h"
#include "qless.h"

/* The key as the engine has it, or NULL. To be freed. */
struct key *view_key(const struct qless *engine, struct qless_str name);

/* Whether values that are spelled differently mean the same: numbers, and JSON. */
bool view_same(const struct key *key, struct qless_str field, struct qless_str a,
	       struct qless_str b);

struct comparison {
	uint64_t equal;
	uint64_t jobs;	    /* of these, hashes of jobs */
	uint64_t explained; /* differ, and findings say why */
	uint64_t different; /* differ for no reason known */
	struct buf examples;
};

/* Both ways: every key that was read, and every key there is. */
void compare_keys(const struct qless *engine, const struct keys *keys, struct findings *findings,
		  struct comparison *ret_comparison);
void comparison_done(struct comparison *comparison);

#endif
