/*
 * Keys of a Redis with what they hold, in memory: read from one place, written to another, built
 * into an engine, compared.
 *
 * Elements are kept as they came, one after the other: of a hash a field and its value, of a list
 * or set the elements, of a sorted set a member and its score as text, in the order of the set.
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
	KEY_OTHER, /* a string or a stream, which qless never makes: not looked into */
	KEY_TYPES,
};

/* "hash" and so on; "other". */
const char *key_type_text(enum key_type type);
/* The type of that name; KEY_OTHER for all that is none of ours. */
enum key_type key_type_from(struct qless_str text);
/* Elements that make one: a field with its value, a member with its score. */
static inline size_t key_type_stride(enum key_type type)
{
	return type == KEY_HASH || type == KEY_ZSET ? 2 : 1;
}

struct key {
	struct hash_node hash;
	struct qless_str name; /* the key's own copy */
	enum key_type type;
	size_t count;	    /* fields, elements, members */
	struct buf content; /* for keys.c */
	bool was_found;	    /* scratch for comparisons */
};

struct key *key_new(struct qless_str name, enum key_type type);
void key_free(struct key *key);
/* The next element; for hashes and sorted sets these come in pairs. */
void key_add(struct key *key, struct qless_str element);
void key_add_pair(struct key *key, struct qless_str first, struct qless_str second);
/* Give back what was allocated in advance. */
void key_end(struct key *key);

/* Step through the elements, `*at` starting as 0. Slices are good as long as the key is. */
bool key_next(const struct key *key, size_t *at, struct qless_str *ret_element);
bool key_next_pair(const struct key *key, size_t *at, struct qless_str *ret_first,
		   struct qless_str *ret_second);
/* The value of a field of a hash; ptr is NULL if it has none. */
struct qless_str key_field(const struct key *key, struct qless_str field);

/* Hashes and sets as such, lists and sorted sets in their order. `same` compares the elements of a
 * key that are not names of fields; NULL: by their bytes, but scores as numbers. */
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
/* Takes the key; there is none of its name. */
void keys_add(struct keys *keys, struct key *key);
size_t keys_count(const struct keys *keys);

/* All keys, by their names, in an array of the caller's to free. */
struct key **keys_sorted(const struct keys *keys, size_t *ret_count);

#endif
