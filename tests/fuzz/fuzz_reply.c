/*
 * Any bytes as the replies of a server to qlessd-benchmark. The end of a reply is found regardless
 * of the bytes that follow, and never before all of it has arrived. Its parts make up the whole.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark/reply.h"
#include "util/mem.h"

/* Trying every prefix is quadratic. */
#define PREFIXES_MAX ((size_t)200)

/* In a block of just that size, so that a sanitizer sees a read of the byte after it. */
static ptrdiff_t scan(struct qless_str bytes, size_t len)
{
	char *copy = mem_alloc(len + (len == 0));
	struct reply reply;
	ptrdiff_t result;

	if (len != 0)
		memcpy(copy, bytes.ptr, len);
	result = reply_scan(str_make(copy, len), &reply);
	free(copy);
	return result;
}

static bool is_inside(struct qless_str part, struct qless_str whole)
{
	return part.len == 0 ||
	       (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void check_elements(const struct reply *reply)
{
	struct qless_str rest = reply->text;
	struct reply element;
	bool has_error = false;

	for (int64_t i = 0; i < reply->integer; i++) {
		assert(reply_next(&rest, &element));
		has_error = has_error || element.error.ptr != NULL;
	}
	assert(rest.len == 0 && !reply_next(&rest, &element));
	assert(has_error == (reply->error.ptr != NULL));
}

static void check_reply(struct qless_str bytes)
{
	struct reply reply;

	assert(reply_scan(bytes, &reply) == (ptrdiff_t)bytes.len);
	assert(is_inside(reply.text, bytes) && is_inside(reply.error, bytes));
	if (reply.type == REPLY_ARRAY)
		check_elements(&reply);
	else
		assert((reply.type == REPLY_ERROR) == (reply.error.ptr != NULL));
	for (size_t len = 0; len < bytes.len && len < PREFIXES_MAX; len++)
		assert(scan(bytes, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qless_str rest = str_make((const char *)data, size);
	ptrdiff_t len;

	while ((len = scan(rest, rest.len)) > 0) {
		assert((size_t)len <= rest.len);
		check_reply(str_make(rest.ptr, (size_t)len));
		rest.ptr += len;
		rest.len -= (size_t)len;
	}
	return 0;
}
