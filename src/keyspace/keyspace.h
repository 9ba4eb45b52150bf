/*
 * The ql:* keys: the state as a Redis with qless in it would hold it.
 *
 * Nothing is stored under these keys; what they hold is computed from the engine when it is asked
 * for. Pure, and read-only. Where two objects would have the same key, as job `x-history` and the
 * history of job `x`, it is the job's.
 */
#ifndef KEYSPACE_KEYSPACE_H
#define KEYSPACE_KEYSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"
#include "util/skiplist.h"
#include "util/str.h"

enum keyspace_type {
	KEYSPACE_HASH,
	KEYSPACE_LIST,
	KEYSPACE_SET,
	KEYSPACE_ZSET,
};

enum keyspace_kind {
	KEYSPACE_JOB,
	KEYSPACE_HISTORY,
	KEYSPACE_RECUR,
	KEYSPACE_CONFIG,
	KEYSPACE_STATS_WAIT,
	KEYSPACE_STATS_RUN,
	KEYSPACE_STATS_COUNTERS,
	KEYSPACE_PAUSED,
	KEYSPACE_FAILURES,
	KEYSPACE_GROUP,
	KEYSPACE_RELATED, /* dependencies or dependents of a job */
	KEYSPACE_SORTED,  /* any sorted set */
};

/* A key that exists. Good until the engine changes. */
struct keyspace_key {
	enum keyspace_type type;
	enum keyspace_kind kind;
	const struct qless *engine;
	const struct skiplist *list; /* KEYSPACE_ZSET: all there is to know; others use it inside */
	const struct qless_job *job;
	const struct qless_recur *recur;
	struct qless_str queue; /* statistics: of this queue */
	double day;
};

/* False if there is no such key. */
bool keyspace_find(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key);

/* "hash", "list", "set" or "zset". */
const char *keyspace_type_name(enum keyspace_type type);

/* The slices end with the call. */
typedef void keyspace_value_fn(void *arg, struct qless_str value);
typedef void keyspace_field_fn(void *arg, struct qless_str field, struct qless_str value);

/* All keys, in the order of their bytes. Takes time and memory for all of them. */
void keyspace_each_key(const struct qless *q, keyspace_value_fn *visit, void *arg);
/* How many there are. */
size_t keyspace_count(const struct qless *q);

/* ---- KEYSPACE_HASH ---- */

void keyspace_each_field(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg);

/* ---- KEYSPACE_LIST ---- */

size_t keyspace_list_length(const struct keyspace_key *key);
/* The elements from index `first`, up to `count` of them. */
void keyspace_each_element(const struct keyspace_key *key, size_t first, size_t count,
			   keyspace_value_fn *visit, void *arg);

/* ---- KEYSPACE_SET ---- */

/* In the order of their bytes. */
void keyspace_each_member(const struct keyspace_key *key, keyspace_value_fn *visit, void *arg);
size_t keyspace_set_size(const struct keyspace_key *key);
bool keyspace_set_has(const struct keyspace_key *key, struct qless_str member);

/* ---- KEYSPACE_ZSET ---- */

/* Members, ranks and scores are those of key->list. The score of a member, if it is in. */
bool keyspace_zset_score(const struct keyspace_key *key, struct qless_str member,
			 double *ret_score);

#endif
