/*
 * Replies of a server that speaks RESP2, as far as a benchmark looks at them.
 */
#ifndef BENCHMARK_REPLY_H
#define BENCHMARK_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

#define REPLY_LINE_MAX	((size_t)64 * 1024)
#define REPLY_BULK_MAX	((int64_t)512 * 1024 * 1024)
#define REPLY_ARRAY_MAX ((int64_t)16 * 1024 * 1024)

enum reply_type {
	REPLY_STATUS,
	REPLY_ERROR,
	REPLY_INTEGER,
	REPLY_BULK,
	REPLY_NULL,
	REPLY_ARRAY,
};

struct reply {
	enum reply_type type;
	int64_t integer; /* the number, or how many elements an array has */
	struct qless_str
		text; /* the line or the bulk string; of an array, the bytes of its elements */
	struct qless_str error; /* the first error in it; empty if there is none */
};

/*
 * Find the end of the first reply in `bytes`. Returns its length, with *ret_reply set, whose slices
 * are of `bytes`; 0 if it is not all there; -1 if this is not a reply.
 */
ptrdiff_t reply_scan(struct qless_str bytes, struct reply *ret_reply);

/* Step through an array: take the first reply off *rest, which reply_scan() has found whole. False
 * at the end. */
bool reply_next(struct qless_str *rest, struct reply *ret_reply);

#endif
