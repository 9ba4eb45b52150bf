/*
 * Shared by the files of this folder.
 */
#ifndef KEYSPACE_KEYSPACE_INT_H
#define KEYSPACE_KEYSPACE_INT_H

#include "engine/view.h"
#include "keyspace/keyspace.h"
#include "keyspace/names.h"

/* Keys without the name of an object. */
#define KEYSPACE_SINGLES 8
extern const struct qless_str keyspace_singles[KEYSPACE_SINGLES];

/* Whether there are statistics of that kind for the day. */
bool keyspace_has_counts(const struct view_day *day, enum keyspace_kind kind);

#endif
