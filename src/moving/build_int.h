/*
 * What the files that build an engine share; for build.c, build_job.c and build_rest.c alone.
 */
#ifndef MOVING_BUILD_INT_H
#define MOVING_BUILD_INT_H

#include <math.h>

#include "engine/import.h"
#include "keyspace/names.h"
#include "moving/build.h"

/* Where a job is, by the lists. */
struct place {
	bool known;
	bool is_right; /* it goes with the state that the job says */
	enum qless_state state;
	struct qless_str owner; /* of the list: the queue or the group */
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
	struct key **sorted; /* the same, by name */
	size_t count;
	struct findings *findings;
	struct import import;
	struct qless *engine;
	struct hash jobs; /* of found_job */
	struct found_job *found;
	size_t found_count;
	struct buf name; /* of a key, being made */
	struct qless_str *tags;
	size_t tag_count;
	size_t tag_cap;
};

/* "<prefix><middle><suffix>", good until the next call. */
struct qless_str build_name(struct build *b, struct qless_str prefix, struct qless_str middle,
			    struct qless_str suffix);
/* If `s` has more than prefix and suffix: what is between them. */
bool build_between(struct qless_str s, struct qless_str prefix, struct qless_str suffix,
		   struct qless_str *ret_middle);
/* Whether it may be a name; otherwise that is a finding. */
bool build_is_name(struct build *b, struct qless_str key, struct qless_str name);
/* A finite number from text, a zero without its sign. Otherwise that is a finding, and the number
 * is `other`. */
double build_number(struct build *b, const struct key *key, struct qless_str field, double other);
/* The same where the reference may leave the field away or empty. */
double build_number_if(struct build *b, const struct key *key, struct qless_str field,
		       double other);
/* A score that an engine can have: not NAN, and no zero below zero. */
double build_score(struct qless_str text);
/* The words of a list in JSON, into b->tags; to be given to build_tags_done(). */
void *build_tags(struct build *b, const struct key *key);
void build_tags_done(void *document);

/* ---- build_job.c ---- */

void build_jobs(struct build *b);

/* ---- build_rest.c ---- */

void build_options(struct build *b);
void build_tracked(struct build *b);
/* Everything but jobs; these are there. */
void build_rest(struct build *b);

#endif
