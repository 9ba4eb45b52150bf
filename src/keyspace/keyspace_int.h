/*
 * Shared by the files of this folder: the suffixes of queues, and the single keys.
 */
#ifndef KEYSPACE_KEYSPACE_INT_H
#define KEYSPACE_KEYSPACE_INT_H

#include "engine/view.h"
#include "keyspace/keyspace.h"
#include "keyspace/names.h"

extern const struct qless_str keyspace_queue_suffixes[QUEUE_LISTS];

/* The keys there is one of each. */
#define KEYSPACE_SINGLES 8
extern const struct qless_str keyspace_singles[KEYSPACE_SINGLES];

/* Whether a day's statistics of that kind are there. */
bool keyspace_has_counts(const struct view_day *day, enum keyspace_kind kind);

#endif
