/*
 * Interned strings: one object for all equal strings, counted by reference.
 *
 * For names that many objects share. Two strings of one table are equal if and only if their
 * pointers are.
 */
#ifndef UTIL_INTERN_H
#define UTIL_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"
#include "util/str.h"

/* Bytes of a string at most; asserted, so callers need a lower limit of their own. */
#define INTERN_LEN_MAX ((size_t)1024 * 1024 * 1024)

struct intern {
	struct hash_node node; /* `aux` counts the references */
	void *user;	       /* for the caller: the object with this name */
	uint32_t len;
	char text[]; /* followed by a NUL */
};

struct intern_table {
	struct hash hash;
	size_t bytes;	       /* of all strings, with headers */
	struct intern *recent; /* the last string found or added; NULL if it was freed */
};

void intern_init(struct intern_table *table, uint64_t seed);

/* Frees the table and the strings that are still in it. */
void intern_done(struct intern_table *table);

/* Bytes of the table and its strings. */
size_t intern_memory(const struct intern_table *table);

static inline uint32_t intern_count(const struct intern_table *table)
{
	return hash_count(&table->hash);
}

/* Returns the string with a new reference. A string that is not in the table is copied into it,
 * with NULL as `user`. */
struct intern *intern_get(struct intern_table *table, struct qless_str s);

/* Returns the string, or NULL if it is not in the table. Takes no reference: the string stays valid
 * as long as another reference exists. */
struct intern *intern_find(const struct intern_table *table, struct qless_str s);

/* intern_find() for a name that is often asked for several times in a row: the table remembers the
 * last one, which is then found without hashing. */
struct intern *intern_recall(struct intern_table *table, struct qless_str s);

/* Takes one more reference and returns `s`. */
struct intern *intern_ref(struct intern *s);

/* Drops a reference; NULL is a no-op. The last one frees the string, whose `user` must then be
 * NULL. */
void intern_unref(struct intern_table *table, struct intern *s);

static inline struct qless_str intern_str(const struct intern *s)
{
	return str_make(s->text, s->len);
}

/* Removes a string regardless of its references, the one that is cheapest to remove. The caller
 * frees it. Returns NULL if the table is empty. */
struct intern *intern_take(struct intern_table *table);

/* The string of a hash node of the table, for HASH_FOREACH. */
struct intern *intern_from_node(struct hash_node *node);

#endif
