/*
 * A hash table that grows and shrinks one bucket at a time (linear hashing).
 *
 * The entries belong to the caller, who embeds a struct hash_node in them; the table only points to
 * them. No call but hash_done() and a whole iteration does work in proportion to the table: an
 * insertion splits at most one bucket, a removal merges at most one, and the buckets are in
 * segments that never move. What is copied as a whole now and then is the list of the segments,
 * 64 KiB at ten million entries, and the only segment of a small table, which is no larger. A table
 * that was never used owns no memory, and one that shrinks gives it back. One of more than about
 * 130,000 entries takes memory a huge page at a time, where the kernel has such pages.
 *
 * The table does not notice two entries with one key: look before you insert.
 */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* How many entries a table takes; asserted. */
#define HASH_COUNT_MAX (UINT32_MAX - 1)

struct hash_node {
	uint32_t hash;
	uint32_t aux; /* the owner's, never looked at here */
};

/* The key of an entry. It must not change while the entry is in a table. */
typedef struct qless_str hash_key_fn(const struct hash_node *node);

/* The fields are for hash.c alone. */
struct hash {
	hash_key_fn *key;
	uint64_t seed;
	union {
		struct hash_line *first;     /* the only segment, while it suffices */
		struct hash_line **segments; /* otherwise all of them */
	} u;
	uint32_t count;
	uint32_t buckets; /* in use */
	uint32_t more;	  /* lines of buckets that have more entries than a line takes */
	uint32_t mask;	  /* one less than the power of two that is not below `buckets` */
	uint32_t cap;	  /* buckets in the only segment, or room for so many segments */
};

/* The same seed gives the same hashes and the same order of iteration. */
void hash_init(struct hash *h, hash_key_fn *key, uint64_t seed);

/* Frees the table; the entries are the owner's and are not touched. */
void hash_done(struct hash *h);

static inline uint32_t hash_count(const struct hash *h)
{
	return h->count;
}

/* Bytes the table itself has allocated, without the entries. */
size_t hash_memory(const struct hash *h);

/* The hash of a key, the same for all tables with the same seed. */
uint32_t hash_compute(uint64_t seed, struct qless_str key);

/* All the bits of such a hash: strings that differ have different ones, for all practical purposes.
 * To hash several strings, let the hash of one be the seed of the next. */
uint64_t hash_bytes(uint64_t seed, struct qless_str bytes);

/* The entry with that key, or NULL. */
struct hash_node *hash_find(const struct hash *h, struct qless_str key);

/* The same for a caller who knows hash_compute(h->seed, key). */
struct hash_node *hash_find_hashed(const struct hash *h, struct qless_str key, uint32_t hash);

/* Somebody is going to look for that hash soon: have memory get its bucket ready. */
void hash_prefetch(const struct hash *h, uint32_t hash);

/* Borrows the entry until it is removed. No entry of its key is in the table. */
void hash_insert(struct hash *h, struct hash_node *node);
void hash_insert_hashed(struct hash *h, struct hash_node *node, uint32_t hash);

/* Insert many entries, all of them even if there are others of their keys: false then. Quicker than
 * one after the other, as memory gets the buckets of many of them ready at a time. */
bool hash_insert_many(struct hash *h, struct hash_node *const *nodes, size_t count);

/* Takes out an entry, which is in the table; the owner may then free it. */
void hash_remove(struct hash *h, struct hash_node *node);

/* Take out an entry, whichever is the cheapest; NULL when the table is empty. For freeing all there
 * are. */
struct hash_node *hash_take(struct hash *h);

/*
 * Walk through all entries, in no order anybody should rely on. During the walk the entry it stands
 * at may be removed and freed; nothing else may be removed, and nothing inserted.
 *
 *	struct hash_iter it;
 *	struct hash_node *node;
 *
 *	HASH_FOREACH(node, &it, &table)
 *		...
 */
struct hash_iter {
	const struct hash *table;
	uint32_t bucket; /* the one being walked, with the positions `first` to `last` */
	uint32_t first;
	uint32_t last;
	uint32_t left;	/* of its entries, the first `left` are still to be visited */
	uint32_t count; /* so many it had at the last step */
};

struct hash_node *hash_first(struct hash_iter *it, const struct hash *h);
struct hash_node *hash_next(struct hash_iter *it);

#define HASH_FOREACH(node, it, h) \
	for ((node) = hash_first((it), (h)); (node) != NULL; (node) = hash_next(it))

/*
 * Walk through the table a little at a time, with anything happening to it between the calls: visit
 * the next few entries and return the cursor for the next call, 0 at the end. Start with 0. An
 * entry that is in the table during the whole walk is visited exactly once, however the table grows
 * and shrinks; one that comes or goes meanwhile is visited once or not at all. `visit` must not
 * change the table.
 */
typedef void hash_visit_fn(struct hash_node *node, void *arg);

uint32_t hash_scan(const struct hash *h, uint32_t cursor, hash_visit_fn *visit, void *arg);

#endif
