/*
 * Puts that create nothing, because their terms say so.
 */
#ifndef ENGINE_PUT_END_H
#define ENGINE_PUT_END_H

#include <stddef.h>

#include "qless.h"

/* A put of the current call that created nothing. */
struct refused_put {
	size_t index; /* of the put in the call */
	struct qless_str holder;
};

/* Note that put number `index` of the current call creates nothing, for qless_read_put_end(). Calls
 * are in the order of the puts. `holder` is the jid of the job that has the unique key; its ptr is
 * NULL if the jid of the put was not free. */
void put_refuse(struct qless *q, size_t index, struct qless_str holder);

#endif
