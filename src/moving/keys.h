/*
 * Keys of a Redis with their content, in memory: to be read, written, compared, and built into an
 * engine.
 *
 * Elements keep their order. A hash has fields and values, a list or a set its elements, and a
 * sorted set members and scores as text.
 */
#ifndef MOVING_KEYS_H
#define MOVING_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/hash.h"
#include "util/str.h"

enum key_type {
	KEY_HASH,
	KEY_LIST,
	KEY_SET,
	KEY_ZSET,
	KEY_OTHER, /* a string or a stream, which qless never writes; its content is not read */
	KEY_TYPES,
};

/* "hash", "list", "set", "zset" or "other". */
const char *key_type_text(enum key_type type);
/* The type with that name, otherwise KEY_OTHER. */
enum key_type key_type_from(struct qless_str text);
/* Strings for each element: a field and its value, or a member and its score. */
static inline size_t key_type_stride(enum key_type type)
{
	return type == KEY_HASH || type == KEY_ZSET ? 2 : 1;
}

struct key {
	struct hash_node hash;
	struct qless_str name; /* a copy that belongs to the key */
	enum key_type type;
	size_t count;	    /* fields, elements, members */
	struct buf content; /* private to keys.c */
	bool was_found;	    /* for comparisons */
};

struct key *key_new(struct qless_str name, enum key_type type);
void key_free(struct key *key);
/* Append an element. Those of hashes and sorted sets are pairs. */
void key_add(struct key *key, struct qless_str element);
void key_add_pair(struct key *key, struct qless_str first, struct qless_str second);
/* Free memory that was reserved for more elements. */
void key_end(struct key *key);

/* Iterate over the elements; `*at` starts as 0. The slices are valid as long as the key. */
bool key_next(const struct key *key, size_t *at, struct qless_str *ret_element);
bool key_next_pair(const struct key *key, size_t *at, struct qless_str *ret_first,
		   struct qless_str *ret_second);
/* The value of a field of a hash. Its ptr is NULL if there is no such field. */
struct qless_str key_field(const struct key *key, struct qless_str field);

/* Compares hashes and sets regardless of order, and lists and sorted sets with their order. `same`
 * compares elements other than names of fields. If it is NULL, their bytes are compared, and scores
 * as numbers. */
typedef bool key_same_fn(const struct key *key, struct qless_str field, struct qless_str a,
			 struct qless_str b);
bool key_equal(const struct key *a, const struct key *b, key_same_fn *same);

/* ---- many of them ---- */

struct keys {
	struct hash table;
	uint64_t bytes; /* of names and content */
};

void keys_init(struct keys *keys, uint64_t seed);
void keys_done(struct keys *keys);
struct key *keys_find(const struct keys *keys, struct qless_str name);
/* Takes ownership of the key. No other key has its name. */
void keys_add(struct keys *keys, struct key *key);
size_t keys_count(const struct keys *keys);

/* All keys in the order of their names, in an array that the caller frees. */
struct key **keys_sorted(const struct keys *keys, size_t *ret_count);

#endif
