/*
 * Portions: repairs as operations that each take little time.
 *
 *	struct portions p;
 *
 *	portions_begin(&p, &bytes);
 *	qless_find_repairs(q, now, portions_add, &p);
 *	portions_end(&p);
 *
 * The bytes are those of REPAIR operations, one after the other.
 */
#ifndef OPERATION_PORTION_H
#define OPERATION_PORTION_H

#include "qless.h"
#include "util/buf.h"

/* Weight of a portion at most, unless a single repair is heavier. Each unit is a search in O(log
 * n), so a portion takes a tenth of a millisecond. */
#define PORTION_WEIGHT_MAX 64

/* Repairs that are found at once at most. Those after them need another search. */
#define PORTION_REPAIRS_MAX ((size_t)100000)

struct portions {
	struct buf *out;
	struct portion_item *items; /* of the portion that is being collected */
	size_t count;
	size_t cap;
	size_t weight;
	struct buf texts; /* of the items */
	size_t left;	  /* repairs that may still be added */
};

/* Portions are appended to `out`. */
void portions_begin(struct portions *p, struct buf *out);
/* Add a repair to the struct portions `arg`, or drop it if there are PORTION_REPAIRS_MAX. */
void portions_add(void *arg, const struct qless_repair *repair, size_t weight);
void portions_end(struct portions *p);

#endif
