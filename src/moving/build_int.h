/*
 * Shared by the files that build an engine: build.c, build_job.c and build_rest.c.
 */
#ifndef MOVING_BUILD_INT_H
#define MOVING_BUILD_INT_H

#include <math.h>

#include "engine/import.h"
#include "keyspace/names.h"
#include "moving/build.h"

/* The place of a job according to the lists. */
struct place {
	bool known;
	bool is_right; /* agrees with the state in the job's hash */
	enum qless_state state;
	struct qless_str owner; /* the queue or group of the list */
	struct qless_str list;	/* the key */
	double score;
};

/* A hash that is a job. */
struct found_job {
	struct hash_node hash;
	struct qless_str jid;
	const struct key *key;
	struct place place;
};

struct build {
	const struct keys *keys;
	struct key **sorted; /* the same keys, by name */
	size_t count;
	struct findings *findings;
	struct import import;
	struct qless *engine;
	struct hash jobs; /* of found_job */
	struct found_job *found;
	size_t found_count;
	struct buf name; /* buffer of build_name() */
	struct qless_str *tags;
	size_t tag_count;
	size_t tag_cap;
};

/* Returns "<prefix><middle><suffix>", valid until the next call. */
struct qless_str build_name(struct build *b, struct qless_str prefix, struct qless_str middle,
			    struct qless_str suffix);
/* Whether `s` begins with the prefix and ends with the suffix; returns the part between them. */
bool build_between(struct qless_str s, struct qless_str prefix, struct qless_str suffix,
		   struct qless_str *ret_middle);
/* Whether the name is short enough; otherwise adds a finding. */
bool build_is_name(struct build *b, struct qless_str key, struct qless_str name);
/* A finite number from text, without the sign of a zero. Otherwise adds a finding and returns
 * `other`. */
double build_number(struct build *b, const struct key *key, struct qless_str field, double other);
/* build_number() for a field that the reference may leave out or leave empty. */
double build_number_if(struct build *b, const struct key *key, struct qless_str field,
		       double other);
/* A score that an engine accepts: not NaN, and no negative zero. */
double build_score(struct qless_str text);
/* Parses a JSON list of words into b->tags. Free the result with build_tags_done(). */
void *build_tags(struct build *b, const struct key *key);
void build_tags_done(void *document);

/* ---- build_job.c ---- */

void build_jobs(struct build *b);

/* ---- build_rest.c ---- */

void build_options(struct build *b);
void build_tracked(struct build *b);
/* Everything except jobs, which have been built. */
void build_rest(struct build *b);

#endif
