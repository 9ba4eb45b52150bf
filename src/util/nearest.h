/*
 * The name that somebody probably meant: the nearest one to a mistyped name.
 *
 *	struct nearest nearest;
 *
 *	nearest_begin(&nearest, typed);
 *	for (...)
 *		nearest_try(&nearest, name);
 *	if (nearest.found.ptr != NULL)
 *		printf("did you mean ...?");
 */
#ifndef UTIL_NEAREST_H
#define UTIL_NEAREST_H

#include <stddef.h>

#include "util/str.h"

/* Longest name in bytes that is compared. A longer one is near to nothing. */
#define NEAREST_MAX 64

struct nearest {
	struct qless_str typed; /* borrowed */
	struct qless_str found; /* ptr is NULL if no name is near */
	size_t distance;	/* of `found` */
};

void nearest_begin(struct nearest *n, struct qless_str typed);
/* Keeps the name if it is nearer than those before it. The case of letters does not matter. */
void nearest_try(struct nearest *n, struct qless_str name);

/* Returns the number of letters that must be inserted, removed, replaced, or swapped with their
 * neighbour, to make one name of the other. Neither is longer than NEAREST_MAX. */
size_t nearest_distance(struct qless_str a, struct qless_str b);

#endif
