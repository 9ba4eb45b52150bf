/*
 * The ql:* keys: the state as a Redis with qless would store it.
 *
 * Nothing is stored under these keys; their content is computed from the engine on demand. Pure and
 * read-only. If two objects have the same key, such as a job `x-history` and the history of job
 * `x`, it belongs to the job.
 */
#ifndef KEYSPACE_KEYSPACE_H
#define KEYSPACE_KEYSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"
#include "util/buf.h"
#include "util/skiplist.h"
#include "util/skipmerge.h"
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
	/* Sorted sets, by what their members are: */
	KEYSPACE_JOBS,	       /* jobs of a list of a queue, or completed jobs */
	KEYSPACE_QUEUE_RECURS, /* recurring jobs of a queue */
	KEYSPACE_WORKER_JOBS,
	KEYSPACE_TAG_JOBS,
	KEYSPACE_QUEUES,
	KEYSPACE_WORKERS,
	KEYSPACE_TRACKED,
	KEYSPACE_TAGS,
};

/* A key that exists. Valid until the engine changes, and as long as its name is in memory. */
struct keyspace_key {
	enum keyspace_type type;
	enum keyspace_kind kind;
	const struct qless *engine;
	const struct skiplist *list; /* members of a list or a set */
	struct skipmerge order;	     /* KEYSPACE_ZSET: members, ranks, scores */
	const struct qless_job *job;
	const struct qless_recur *recur;
	struct qless_str name; /* of the queue, worker or tag */
	double day;
};

/* Returns false if there is no such key. An engine may be NULL in all functions; it has no keys. */
bool keyspace_find(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key);

/* "hash", "list", "set" or "zset". */
const char *keyspace_type_name(enum keyspace_type type);

/* The slices are valid during the call. */
typedef void keyspace_value_fn(void *arg, struct qless_str value);
typedef void keyspace_field_fn(void *arg, struct qless_str field, struct qless_str value);

/* A number derived from the type and the content of a key, or 0 if there is none. Two numbers are
 * equal if and only if the type and the content are. Takes time proportional to the content. So for
 * a list, set or sorted set with more elements than this, the number is derived from the number of
 * changes of the engine, and differs after any change. */
#define KEYSPACE_FINGERPRINT_MAX 1000
uint64_t keyspace_fingerprint(const struct qless *q, struct qless_str key);

/* ---- all keys ---- */

typedef void keyspace_key_fn(void *arg, struct qless_str key, enum keyspace_type type);

/* Visits each key once, in no particular order. Skips objects none of whose keys can begin with
 * `prefix`, but may visit keys that do not begin with it. */
void keyspace_each_key(const struct qless *q, struct qless_str prefix, keyspace_key_fn *visit,
		       void *arg);

/* Visits the next few keys; the engine may change between the calls. The first cursor is 0. Each
 * call returns the cursor of the next, and 0 at the end. A key that exists during the whole walk is
 * visited exactly once, unless it moves from one object to another. An invalid cursor ends the
 * walk. */
uint64_t keyspace_scan(const struct qless *q, uint64_t cursor, struct qless_str prefix,
		       keyspace_key_fn *visit, void *arg);

/* The number of keys. Takes time proportional to the queues and the days of their statistics. A key
 * that two objects claim counts twice. */
size_t keyspace_count(const struct qless *q);

/* Picks a key by a random number. No key is much more likely than the others. Returns false if
 * there are no keys. */
bool keyspace_pick(const struct qless *q, uint64_t random, struct buf *ret_key);

/* ---- KEYSPACE_HASH ---- */

void keyspace_each_field(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg);
/* keyspace_each_field() with empty values, which is cheaper. */
void keyspace_each_field_name(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg);
/* Visits one field if it exists. Does not format the others. */
void keyspace_find_field(const struct keyspace_key *key, struct qless_str name,
			 keyspace_field_fn *visit, void *arg);

/* ---- KEYSPACE_LIST ---- */

size_t keyspace_list_length(const struct keyspace_key *key);
/* The elements from index `first`, up to `count` of them. */
void keyspace_each_element(const struct keyspace_key *key, size_t first, size_t count,
			   keyspace_value_fn *visit, void *arg);

/* ---- KEYSPACE_SET ---- */

/* The first `max` members in the order of their bytes. */
void keyspace_each_member(const struct keyspace_key *key, size_t max, keyspace_value_fn *visit,
			  void *arg);
size_t keyspace_set_size(const struct keyspace_key *key);
bool keyspace_set_has(const struct keyspace_key *key, struct qless_str member);

/* ---- KEYSPACE_ZSET ---- */

/* Members, ranks and scores are those of key->order. Returns the node of a member, or NULL if it is
 * not in the list, without searching the list. */
const struct skipnode *keyspace_zset_find(const struct keyspace_key *key, struct qless_str member);

#endif
