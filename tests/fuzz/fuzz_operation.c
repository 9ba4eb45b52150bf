/*
 * Arbitrary bytes as operations. Decoding must return an operation or an error. An operation must
 * survive another encoding, must have a description, and must leave the engine consistent.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "operation/operation.h"
#include "qless.h"
#include "util/buf.h"
#include "util/mem.h"

/* At later times, rounding loses the interval of a recurring job. */
#define NOW_MAX 1e12
/* Larger counts take too long for a fuzzer. */
#define COUNT_MAX 1000

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

static void check_encoding(const struct operation *op)
{
	struct buf first = BUF_INIT(BUF_NO_MAX), second = BUF_INIT(BUF_NO_MAX);
	struct buf text = BUF_INIT(BUF_NO_MAX), text_again = BUF_INIT(BUF_NO_MAX);
	struct operation_room room = { 0 };
	struct operation again;
	struct qless_str rest;
	int rc;

	operation_encode(op, &first);
	rest = buf_str(&first);
	rc = operation_decode(&rest, &room, &again, &text);
	assert(rc == 0 && rest.len == 0);
	operation_encode(&again, &second);
	assert(str_equal(buf_str(&first), buf_str(&second)));
	operation_describe(op, &text);
	operation_describe(&again, &text_again);
	assert(str_equal(buf_str(&text), buf_str(&text_again)));
	assert(operation_mentions(op, STR("j")) == operation_mentions(&again, STR("j")));
	operation_room_done(&room);
	buf_done(&first);
	buf_done(&second);
	buf_done(&text);
	buf_done(&text_again);
}

static bool is_quick(const struct operation *op)
{
	return fabs(op->now) < NOW_MAX &&
	       !(op->kind == OPERATION_POP && op->pop.count > COUNT_MAX) &&
	       !(op->kind == OPERATION_ADVANCE && op->advance.max > COUNT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of exactly this size: a sanitizer notices a read of the next byte. */
	char *copy = mem_realloc_array(NULL, size, 1);
	struct qless_str rest = str_make(copy, size);
	struct buf error = BUF_INIT(4096);
	struct operation_room room = { 0 };
	struct operation_outcome outcome;
	struct qless *q = qless_new(NULL);
	struct operation op;

	if (size != 0)
		memcpy(copy, data, size);
	while (rest.len > 0) {
		size_t before = rest.len;

		if (operation_decode(&rest, &room, &op, &error) < 0) {
			assert(error.len > 0 && rest.len == before);
			break;
		}
		assert(rest.len < before);
		check_encoding(&op);
		if (operation_is_for_engine(&op) && is_quick(&op))
			operation_run(q, &op, &outcome);
	}
	qless_check(q, fail_finding, NULL);
	qless_free(q);
	operation_room_done(&room);
	buf_done(&error);
	free(copy);
	return 0;
}
