/*
 * Stoppers: what wakes calls that wait, see include/qless_store.h.
 */
#ifndef EMBED_STOPPER_H
#define EMBED_STOPPER_H

#include "qless_store.h"

/* Readable while the stopper is stopped. -1 if `stopper` is NULL, which poll(2) ignores. */
int stopper_fd(const struct qless_stopper *stopper);

#endif
