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
#include "util/buf.h"
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
	/* Sorted sets, by what their members are: */
	KEYSPACE_JOBS,	       /* jobs in the list of a queue, or the completed ones */
	KEYSPACE_QUEUE_RECURS, /* recurring jobs of a queue */
	KEYSPACE_WORKER_JOBS,
	KEYSPACE_TAG_JOBS,
	KEYSPACE_QUEUES,
	KEYSPACE_WORKERS,
	KEYSPACE_TRACKED,
	KEYSPACE_TAGS,
};

/* A key that exists. Good until the engine changes, and as long as its name is there. */
struct keyspace_key {
	enum keyspace_type type;
	enum keyspace_kind kind;
	const struct qless *engine;
	const struct skiplist *list; /* KEYSPACE_ZSET: members, ranks, scores */
	const struct qless_job *job;
	const struct qless_recur *recur;
	struct qless_str name; /* within the key: of the queue, worker or tag */
	double day;
};

/* False if there is no such key. An engine that is NULL has none; the same holds below. */
bool keyspace_find(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key);

/* "hash", "list", "set" or "zset". */
const char *keyspace_type_name(enum keyspace_type type);

/* The slices end with the call. */
typedef void keyspace_value_fn(void *arg, struct qless_str value);
typedef void keyspace_field_fn(void *arg, struct qless_str field, struct qless_str value);

/* A number that follows from the type and the content of a key, 0 if there is none: if two such
 * numbers differ, so does the key, and if they are equal, it is the same. Takes time in proportion
 * to the content; so for a list, set or sorted set of more elements than this it follows from the
 * number of changes of the engine instead, and differs after any change at all. */
#define KEYSPACE_FINGERPRINT_MAX 1000
uint64_t keyspace_fingerprint(const struct qless *q, struct qless_str key);

/* ---- all keys ---- */

typedef void keyspace_key_fn(void *arg, struct qless_str key, enum keyspace_type type);

/* The keys, each once, in no particular order. Time is saved where none can begin with `prefix`,
 * but some that do not are visited nevertheless. */
void keyspace_each_key(const struct qless *q, struct qless_str prefix, keyspace_key_fn *visit,
		       void *arg);

/* The next few keys, with anything happening between the calls: start with cursor 0, go on with
 * what is returned until that is 0. A key that is there all the time is visited, and but once,
 * except for one that changes hands between two objects. What is no cursor ends the walk. */
uint64_t keyspace_scan(const struct qless *q, uint64_t cursor, struct qless_str prefix,
		       keyspace_key_fn *visit, void *arg);

/* How many there are. Takes time in proportion to the queues and the days of their statistics. A
 * key that one object keeps another from having counts twice. */
size_t keyspace_count(const struct qless *q);

/* One of the keys, chosen by a random number, none with a probability much above that of others.
 * False if there is none. */
bool keyspace_pick(const struct qless *q, uint64_t random, struct buf *ret_key);

/* ---- KEYSPACE_HASH ---- */

void keyspace_each_field(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg);
/* The same for less: the values are empty. */
void keyspace_each_field_name(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg);
/* Visits one field if it is there. The others are not put into words, so it costs what it is. */
void keyspace_find_field(const struct keyspace_key *key, struct qless_str name,
			 keyspace_field_fn *visit, void *arg);

/* ---- KEYSPACE_LIST ---- */

size_t keyspace_list_length(const struct keyspace_key *key);
/* The elements from index `first`, up to `count` of them. */
void keyspace_each_element(const struct keyspace_key *key, size_t first, size_t count,
			   keyspace_value_fn *visit, void *arg);

/* ---- KEYSPACE_SET ---- */

/* In the order of their bytes, the first `max` of them. */
void keyspace_each_member(const struct keyspace_key *key, size_t max, keyspace_value_fn *visit,
			  void *arg);
size_t keyspace_set_size(const struct keyspace_key *key);
bool keyspace_set_has(const struct keyspace_key *key, struct qless_str member);

/* ---- KEYSPACE_ZSET ---- */

/* Members, ranks and scores are those of key->list. The node of a member, or NULL if it is not in
 * it; found without searching the list. */
const struct skipnode *keyspace_zset_find(const struct keyspace_key *key, struct qless_str member);

#endif
