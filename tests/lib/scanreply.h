/*
 * Replies of servers as they arrive in parts, for the tests of their scanners.
 */
#ifndef TESTS_SCANREPLY_H
#define TESTS_SCANREPLY_H

#include <stddef.h>
#include <stdlib.h>

#include "benchmark/reply.h"
#include "unit.h"

typedef ptrdiff_t scanreply_fn(struct qless_str bytes, struct reply *ret_reply);

/* The bytes end where their memory ends, so that a sanitizer sees a read of the byte after them. */
static inline ptrdiff_t scanreply_part(scanreply_fn *scan, const char *bytes, size_t len,
				       struct reply *ret_reply)
{
	static char *copy;

	free(copy);
	copy = malloc(len != 0 ? len : 1);
	memcpy(copy, bytes, len);
	return scan(str_make(copy, len), ret_reply);
}

/* The whole is one reply, also if `more` follows, and no part of it is one or changes the reply,
 * which has the integer 77. */
static inline void scanreply_split(scanreply_fn *scan, const char *bytes, const char *more,
				   struct reply *ret_reply)
{
	size_t len = strlen(bytes), more_len = strlen(more);
	char *both = malloc(len + more_len);

	for (size_t part = 0; part < len; part++) {
		TEST_ASSERT_EQUAL_INT64(0, scanreply_part(scan, bytes, part, ret_reply));
		TEST_ASSERT_EQUAL_INT64(77, ret_reply->integer);
	}
	memcpy(both, bytes, len);
	memcpy(both + len, more, more_len);
	TEST_ASSERT_EQUAL_INT64((int64_t)len,
				scanreply_part(scan, both, len + more_len, ret_reply));
	free(both);
	TEST_ASSERT_EQUAL_INT64((int64_t)len, scanreply_part(scan, bytes, len, ret_reply));
}

#endif
