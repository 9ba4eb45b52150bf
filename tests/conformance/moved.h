/*
 * Moving out and in again: the keys that an engine shows, as a Redis would hold them, built into
 * another engine, which must be in the same state.
 */
#ifndef CONFORMANCE_MOVED_H
#define CONFORMANCE_MOVED_H

#include <stdbool.h>

#include "qless.h"
#include "util/buf.h"

/* False if the state is another, with what differs in `ret_difference`. */
bool moved_is_same(const struct qless *engine, struct buf *ret_difference);

#endif
