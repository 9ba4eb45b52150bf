/*
 * For models that run random operations: an engine, and a second one that replays each record. Both
 * may be loaded anew from their snapshots, and end in the same state.
 */
#ifndef TESTS_REPLAYED_H
#define TESTS_REPLAYED_H

#include "engine/state.h"
#include "operation/operation.h"

#include "engine.h"

static struct qless *replayed;
static struct buf bytes; /* of the last record */
static struct operation_room room;
static uint64_t drawn; /* state of the generator */
static double now;

static void replayed_set_up(uint64_t seed)
{
	engine_set_up();
	is_heard = false;
	replayed = qless_new(&(struct qless_hooks){ .listens = somebody_listens, .hash_seed = 9 });
	buf_init(&bytes, BUF_NO_MAX);
	drawn = seed;
	now = 1000;
}

static void replayed_tear_down(void)
{
	operation_room_done(&room);
	qless_free(replayed);
	buf_done(&bytes);
	engine_tear_down();
}

static unsigned draw(unsigned below)
{
	drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(drawn >> 33) % below;
}

/* Run an operation, record it if it changed something, and replay the record. */
static int run(struct operation *op, struct operation_outcome *outcome)
{
	struct operation_outcome again;
	struct operation decoded;
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct qless_str record;
	int rc;

	op->now = now;
	rc = operation_run(q, op, outcome);
	if (!outcome->changed)
		return rc;
	buf_clear(&bytes);
	operation_encode(op, &bytes);
	record = buf_str(&bytes);
	TEST_ASSERT_EQUAL_INT(0, operation_decode(&record, &room, &decoded, &error));
	TEST_ASSERT_EQUAL_INT(rc, operation_run(replayed, &decoded, &again));
	buf_done(&error);
	return rc;
}

static bool keep_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
	return true;
}

static struct qless_str take_piece(void *arg)
{
	struct qless_str *left = arg, piece = *left;

	left->len = 0;
	return piece;
}

/* Replace an engine by one that is loaded from its snapshot. */
static void reload_engine(struct qless **engine, uint64_t seed)
{
	struct qless *loaded =
		qless_new(&(struct qless_hooks){ .listens = somebody_listens, .hash_seed = seed });
	struct buf state = BUF_INIT(BUF_NO_MAX);
	struct qless_str left;

	TEST_ASSERT_TRUE(state_save(*engine, keep_piece, &state));
	left = buf_str(&state);
	TEST_ASSERT_EQUAL_INT(0, state_load(loaded, take_piece, &left));
	buf_done(&state);
	qless_free(*engine);
	*engine = loaded;
}

static void compare_engines(void)
{
	struct buf one = BUF_INIT(BUF_NO_MAX), other = BUF_INIT(BUF_NO_MAX);

	qless_dump(q, append_piece, &one);
	qless_dump(replayed, append_piece, &other);
	buf_append_char(&one, '\0');
	buf_append_char(&other, '\0');
	TEST_ASSERT_EQUAL_STRING(buf_data(&one), buf_data(&other));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(replayed, on_finding, NULL));
	buf_done(&one);
	buf_done(&other);
}

#endif
