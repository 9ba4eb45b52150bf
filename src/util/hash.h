/*
 * A hash table that grows and shrinks one bucket at a time (linear hashing).
 *
 * The caller owns the entries and embeds a struct hash_node in each. The table only points to them.
 * An insertion splits at most one bucket and a removal merges at most one, so only hash_done() and
 * a whole iteration take time proportional to the table. Buckets are in segments that never move.
 * Two things are sometimes copied as a whole: the list of segments, 64 KiB with ten million
 * entries, and the single segment of a small table, which is no larger. An empty table that was
 * never used owns no memory, and a table that shrinks frees memory. A table with more than about
 * 130,000 entries allocates huge pages if the kernel has them.
 *
 * The table does not detect two entries with the same key: search before inserting.
 */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* Entries that a table holds at most; asserted. */
#define HASH_COUNT_MAX (UINT32_MAX - 1)

struct hash_node {
	uint32_t hash;
	uint32_t aux; /* for the owner; the table ignores it */
};

/* Returns the key of an entry. It must not change while the entry is in a table. */
typedef struct qless_str hash_key_fn(const struct hash_node *node);

/* The fields belong to hash.c. */
struct hash {
	hash_key_fn *key;
	uint64_t seed;
	union {
		struct hash_line *first;     /* the only segment, if there is just one */
		struct hash_line **segments; /* otherwise all segments */
	} u;
	uint32_t count;
	uint32_t buckets; /* buckets in use */
	uint32_t more;	  /* lines that continue a bucket */
	uint32_t mask;	  /* the smallest power of two that is at least `buckets`, minus one */
	uint32_t cap;	  /* room for buckets in the only segment, or for segments in the list */
};

/* The same seed gives the same hashes and the same order of iteration. */
void hash_init(struct hash *h, hash_key_fn *key, uint64_t seed);

/* Frees the table. The entries belong to their owner and are not touched. */
void hash_done(struct hash *h);

static inline uint32_t hash_count(const struct hash *h)
{
	return h->count;
}

/* Bytes that the table has allocated, without the entries. */
size_t hash_memory(const struct hash *h);

/* Name and version of the library that computes hashes. */
const char *hash_library(void);

/* The hash of a key, the same for all tables with the same seed. */
uint32_t hash_compute(uint64_t seed, struct qless_str key);

/* A 64-bit hash. In practice, different strings have different hashes. To hash several strings,
 * pass the hash of one as the seed of the next. */
uint64_t hash_bytes(uint64_t seed, struct qless_str bytes);

/* A hash of 128 bits, the same in every process: it may be stored. */
#define HASH_WIDE_BYTES 16
/* A hash of such a hash for tables, at a fraction of the cost of hash_compute(). */
uint32_t hash_compute_wide(uint64_t seed, const unsigned char wide[HASH_WIDE_BYTES]);
void hash_bytes_wide(struct qless_str bytes, unsigned char ret_hash[HASH_WIDE_BYTES]);

/* Returns the entry with that key, or NULL. */
struct hash_node *hash_find(const struct hash *h, struct qless_str key);

/* hash_find() for a caller that knows hash_compute(h->seed, key). */
struct hash_node *hash_find_hashed(const struct hash *h, struct qless_str key, uint32_t hash);

/* Prefetch the bucket of a hash that will be searched for soon. */
void hash_prefetch(const struct hash *h, uint32_t hash);
/* Prefetch the bucket of a key. Returns its hash. */
uint32_t hash_prefetch_key(const struct hash *h, struct qless_str key);
/* Returns the hash_compute_wide() that it prefetches for. */
uint32_t hash_prefetch_wide(const struct hash *h, const unsigned char wide[HASH_WIDE_BYTES]);

/* Borrows the entry until it is removed. The table has no entry with the same key. */
void hash_insert(struct hash *h, struct hash_node *node);
void hash_insert_hashed(struct hash *h, struct hash_node *node, uint32_t hash);

/* Insert many entries. Returns false if some have keys that were in the table or occur twice; they
 * are inserted all the same. Faster than single insertions, because memory delivers many buckets at
 * a time. */
bool hash_insert_many(struct hash *h, struct hash_node *const *nodes, size_t count);

/* Remove an entry, which is in the table. Its owner may then free it. */
void hash_remove(struct hash *h, struct hash_node *node);

/* Remove and return the entry that is cheapest to remove, or NULL if the table is empty. For
 * freeing all entries. */
struct hash_node *hash_take(struct hash *h);

/*
 * Walk through all entries, in an order that callers must not rely on. During the walk the current
 * entry may be removed and freed. No other entry may be removed, and none inserted.
 *
 *	struct hash_iter it;
 *	struct hash_node *node;
 *
 *	HASH_FOREACH(node, &it, &table)
 *		...
 */
struct hash_iter {
	const struct hash *table;
	uint32_t bucket; /* the current bucket, with the positions `first` to `last` */
	uint32_t first;
	uint32_t last;
	uint32_t left;	/* its first `left` entries are not visited yet */
	uint32_t count; /* its entries at the last step */
};

struct hash_node *hash_first(struct hash_iter *it, const struct hash *h);
struct hash_node *hash_next(struct hash_iter *it);

#define HASH_FOREACH(node, it, h) \
	for ((node) = hash_first((it), (h)); (node) != NULL; (node) = hash_next(it))

/*
 * Walk through the table in steps; it may change between the calls. The call visits the next few
 * entries and returns the cursor for the next call. The first cursor is 0, and so is the one after
 * the last step. An entry that stays in the table during the whole walk is visited exactly once. An
 * entry that is inserted or removed in that time is visited once or not at all. `visit` must not
 * change the table.
 */
typedef void hash_visit_fn(struct hash_node *node, void *arg);

uint32_t hash_scan(const struct hash *h, uint32_t cursor, hash_visit_fn *visit, void *arg);

#endif
