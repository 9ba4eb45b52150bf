/*
 * Moving out and in: the keys that an engine shows are built into another engine, which must be in
 * the same state.
 */
#ifndef CONFORMANCE_MOVED_H
#define CONFORMANCE_MOVED_H

#include <stdbool.h>

#include "qless.h"
#include "util/buf.h"

/* Returns false if the state differs, and the difference in `ret_difference`. */
bool moved_is_same(const struct qless *engine, struct buf *ret_difference);

#endif
