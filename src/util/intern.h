/*
 * Interned strings: one object for all equal strings, counted by reference.
 *
 * For names that many objects share. Two strings from one table are equal if and only if their
 * pointers are.
 */
#ifndef UTIL_INTERN_H
#define UTIL_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"
#include "util/str.h"

/* How long a string may be; asserted, so a caller has a lower limit of its own. */
#define INTERN_LEN_MAX ((size_t)1024 * 1024 * 1024)

struct intern {
	struct hash_node node; /* its aux counts the references */
	void *user;	       /* for the caller: what goes by that name */
	uint32_t len;
	char text[]; /* with a NUL behind it, not counted */
};

struct intern_table {
	struct hash hash;
	size_t bytes;	       /* of all strings, their headers included */
	struct intern *recent; /* the last one that was asked for; NULL if it is gone */
};

void intern_init(struct intern_table *table, uint64_t seed);

/* Frees the table and what strings are still in it. */
void intern_done(struct intern_table *table);

/* Bytes of the table and its strings. */
size_t intern_memory(const struct intern_table *table);

static inline uint32_t intern_count(const struct intern_table *table)
{
	return hash_count(&table->hash);
}

/* The string, copied into the table if it is new, with a reference for the caller. A new one has
 * NULL for `user`. */
struct intern *intern_get(struct intern_table *table, struct qless_str s);

/* The string if it is in the table, or NULL. Takes no reference: good while somebody else has one.
 */
struct intern *intern_find(const struct intern_table *table, struct qless_str s);

/* The same, for names that are often asked for several times in a row: the table remembers the last
 * one, and it is found without hashing. */
struct intern *intern_recall(struct intern_table *table, struct qless_str s);

/* One more reference; returns `s`. */
struct intern *intern_ref(struct intern *s);

/* One reference less; NULL is a no-op. The last one frees the string, whose `user` must then be
 * NULL. */
void intern_unref(struct intern_table *table, struct intern *s);

static inline struct qless_str intern_str(const struct intern *s)
{
	return str_make(s->text, s->len);
}

/* Take out a string, whoever has references to it and whichever is the cheapest; the caller frees
 * it. NULL when the table is empty. */
struct intern *intern_take(struct intern_table *table);

/* The string of a node of the table's hash, for walking through it with HASH_FOREACH. */
struct intern *intern_from_node(struct hash_node *node);

#endif
