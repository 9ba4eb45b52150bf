/*
 * Replies of a server that speaks RESP2, parsed as far as a benchmark needs it.
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
	int64_t integer; /* the number, or the number of elements of an array */
	struct qless_str
		text; /* the line or the bulk string; for an array, the bytes of its elements */
	struct qless_str error; /* the first error in it, or empty */
};

/*
 * Find the end of the first reply in `bytes`. Returns its length and sets *ret_reply, whose slices
 * point into `bytes`. Returns 0 if the reply is incomplete, and -1 if the bytes are not a reply.
 */
ptrdiff_t reply_scan(struct qless_str bytes, struct reply *ret_reply);

/* Iterate over an array: takes the first reply from *rest, which reply_scan() found complete.
 * Returns false at the end. */
bool reply_next(struct qless_str *rest, struct reply *ret_reply);

#endif
