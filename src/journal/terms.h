/*
 * The terms of a range of entries, as runs of entries with the same term. Pure.
 */
#ifndef JOURNAL_TERMS_H
#define JOURNAL_TERMS_H

#include <stddef.h>
#include <stdint.h>

struct term_run {
	uint64_t first; /* index of its first entry */
	uint64_t term;
};

struct terms {
	struct term_run *runs; /* ascending by index */
	size_t count, cap;
};

void terms_done(struct terms *t);
/* Note the term of the entry after those that are there. */
void terms_add(struct terms *t, uint64_t index, uint64_t term);
/* Forget the entries from `from` on. */
void terms_cut(struct terms *t, uint64_t from);
/* Forget the entries before `first`. */
void terms_forget(struct terms *t, uint64_t first);
/* Returns the term of an entry that is there, or 0 if it is before all of them. */
uint64_t terms_at(const struct terms *t, uint64_t index);

#endif
