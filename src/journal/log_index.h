/*
 * An index of the log of a group: which segment holds which entries, their terms, and the entries
 * that are not operations. Pure.
 *
 * Recovery fills it, and the journal continues it. A segment that begins with a number that is
 * there already replaces all entries from there on: see record.c.
 */
#ifndef JOURNAL_LOG_INDEX_H
#define JOURNAL_LOG_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/record.h"
#include "journal/terms.h"
#include "util/buf.h"

struct log_segment {
	uint64_t number; /* of the file */
	uint64_t salt;
	uint64_t first; /* index of its first entry */
	uint64_t last;	/* index of the last entry that was written; first - 1: there is none */
	uint64_t end;	/* entries from here on were replaced, or are in a later segment */
	uint64_t bytes; /* its size, once it has ended */
};

/* Where an entry, or a mark or term before it, begins. */
struct log_place {
	uint64_t index;
	uint64_t segment; /* number of the file */
	uint64_t offset;
};

/* An entry that is not of operations. */
struct log_special {
	uint64_t index;
	enum record_type type;
	struct buf payload; /* RECORD_MEMBERS: the members */
};

/* The snapshot that the log continues. */
struct log_base {
	uint64_t index; /* of the last entry that it covers; 0: there is none */
	uint64_t term;
	uint64_t members_index;
	struct buf members;
};

struct log_index {
	struct log_base base;
	struct terms terms;
	struct log_segment *segments; /* ascending by number */
	size_t segment_count, segment_cap;
	struct log_place *places; /* ascending by index: some entries of each segment */
	size_t place_count, place_cap;
	struct log_special *specials; /* ascending by index */
	size_t special_count, special_cap;
	uint64_t last; /* index of the last entry */
};

void log_index_init(struct log_index *ix);
void log_index_done(struct log_index *ix);

/* A snapshot is current. Copies the members. */
void log_index_set_base(struct log_index *ix, uint64_t index, const struct record_group *group);
/* Forget the entries from `from` on, because a new segment will replace them. */
void log_index_cut(struct log_index *ix, uint64_t from);
/* The log goes on in a new segment, which begins with the entry `first`. Entries that were added
 * and not written may be there. */
void log_index_begin_segment(struct log_index *ix, uint64_t number, uint64_t salt, uint64_t first);
/* The current segment has ended with that size. */
void log_index_end_segment(struct log_index *ix, uint64_t bytes);
/* Forget the current segment, which has no entries. */
void log_index_drop_segment(struct log_index *ix);
/* Add the next entry. Copies the payload of RECORD_MEMBERS. */
void log_index_add(struct log_index *ix, uint64_t term, enum record_type type,
		   struct qless_str payload);
/* The current segment has the entries up to `last` from now on. The first of those that are new
 * begins at `offset`, or marks before it do. */
void log_index_note_written(struct log_index *ix, uint64_t last, uint64_t offset);
/* Forget the segments before the one with that number, and the entries that are only there. */
void log_index_forget_segments(struct log_index *ix, uint64_t number);
/* Forget everything but the base. */
void log_index_restart(struct log_index *ix);

/* Returns the index of the oldest entry that is in a segment, or last + 1 if there is none. */
uint64_t log_index_first(const struct log_index *ix);
/* Returns the number of the first segment that is needed if a snapshot covers the entries up to
 * `covered`. *ret_bytes is the size of those before it. */
uint64_t log_index_first_needed(const struct log_index *ix, uint64_t covered, uint64_t *ret_bytes);
/* Get the term and the type of an entry, or the term of the last one that the snapshot covers.
 * Returns false if it is neither. */
bool log_index_get(const struct log_index *ix, uint64_t index, uint64_t *ret_term,
		   enum record_type *ret_type);
/* Returns where to read from to find an entry, which is in a segment. *ret_segment is that one. */
const struct log_place *log_index_find(const struct log_index *ix, uint64_t index,
				       const struct log_segment **ret_segment);
/* Get term and members as of an entry, for the snapshot that ends with it. Returns false if the
 * index does not know them. */
bool log_index_describe(const struct log_index *ix, uint64_t index, struct record_group *ret_group);

#endif
