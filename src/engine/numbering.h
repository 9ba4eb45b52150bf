/*
 * Jobs that the caller numbers: 1, 2, 3 and so on, in each engine.
 */
#ifndef ENGINE_NUMBERING_H
#define ENGINE_NUMBERING_H

#include "qless.h"

/* Integers up to this one are exact as doubles. */
#define NUMBERING_MAX 9007199254740991.0

/* Note that the numbers up to the one in the terms are used; NULL is a no-op. */
void numbering_use(struct qless *q, const struct qless_terms *terms);

#endif
