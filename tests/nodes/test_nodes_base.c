/*
 * Snapshots in pieces: all bytes arrive in order, also over broken connections, and no faster than
 * they may.
 */
#include <unistd.h>

#include "endpoint.h"
#include "raw_peer.h"
#include "unit.h"

static struct endpoint *const one = &endpoints[1], *const two = &endpoints[2];

void setUp(void)
{
	endpoints_init();
}

void tearDown(void)
{
	endpoints_done();
}

/* Make nodes 1 and 2. The first one has a snapshot of `size` bytes. */
static void open_two(uint64_t size)
{
	endpoints_open(2);
	LOOP_UNTIL(endpoints_are_connected(2));
	one->snapshot = (struct frame_base){ .index = 90, .term = 3, .size = size, .salt = 77 };
	one->base_read_from = UINT64_MAX;
}

static void a_snapshot_arrives_whole(void)
{
	const uint64_t size = 10 * FRAME_BASE_PIECE_BYTES + 123;

	open_two(size);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_COMPLETE, two->base_end);
	TEST_ASSERT_EQUAL_UINT64(size, two->base_bytes);
	TEST_ASSERT_EQUAL_UINT64(11, one->base_reads);
	/* Its connection has ended, those for messages are the same. */
	LOOP_UNTIL(endpoint_info(one).connections == 2 && endpoint_info(two).connections == 2);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(two, 1).connects);
}

static void a_snapshot_costs_little_memory(void)
{
	size_t most = 0;

	open_two(50 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	while (two->base_ends == 0) {
		size_t memory;

		loop_turn();
		memory = endpoint_info(one).memory + endpoint_info(two).memory;
		if (memory > most)
			most = memory;
	}
	TEST_ASSERT_EQUAL_UINT64(50 * FRAME_BASE_PIECE_BYTES, two->base_bytes);
	TEST_ASSERT_LESS_THAN_size_t(6 * FRAME_BASE_PIECE_BYTES, most);
}

static void messages_pass_a_snapshot(void)
{
	open_two(50 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes != 0);
	endpoint_send_simple(one, 2, CORE_VOTE);
	LOOP_UNTIL(two->messages == 1);
	TEST_ASSERT_LESS_THAN_UINT64(25 * FRAME_BASE_PIECE_BYTES, two->base_bytes);
	LOOP_UNTIL(two->base_ends == 1);
}

static void a_snapshot_goes_on_where_it_was(void)
{
	const uint64_t half = 2 * FRAME_BASE_PIECE_BYTES + 5;

	open_two(4 * FRAME_BASE_PIECE_BYTES);
	two->base_bytes = half;
	nodes_fetch_base(two->nodes, 1, &one->snapshot, half);
	TEST_ASSERT_EQUAL_UINT64(half, nodes_base_offset(two->nodes));
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_COMPLETE, two->base_end);
	TEST_ASSERT_EQUAL_UINT64(one->snapshot.size, two->base_bytes);
	TEST_ASSERT_EQUAL_UINT64(half, one->base_read_from);
	TEST_ASSERT_EQUAL_UINT64(0, nodes_base_offset(two->nodes));
}

static void a_snapshot_goes_on_after_the_other_node_was_restarted(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	uint64_t before;

	open_two(200 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes > 20 * FRAME_BASE_PIECE_BYTES);
	endpoint_close(one);
	loop_beats(3);
	before = two->base_bytes;
	TEST_ASSERT_LESS_THAN_UINT64(one->snapshot.size, before);
	one->base_read_from = UINT64_MAX;
	endpoint_open(1);
	endpoint_set_members(one, ids);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_COMPLETE, two->base_end);
	TEST_ASSERT_EQUAL_UINT64(one->snapshot.size, two->base_bytes);
	TEST_ASSERT_EQUAL_UINT64(before, one->base_read_from);
}

static void a_snapshot_that_is_gone_ends_the_fetching(void)
{
	struct frame_base older;

	open_two(10 * FRAME_BASE_PIECE_BYTES);
	older = one->snapshot;
	older.salt = 76;
	nodes_fetch_base(two->nodes, 1, &older, 0);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_GONE, two->base_end);
	TEST_ASSERT_EQUAL_UINT64(0, two->base_bytes);
}

static void a_snapshot_that_goes_half_way_ends_the_fetching(void)
{
	open_two(200 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes > 20 * FRAME_BASE_PIECE_BYTES);
	one->snapshot.salt = 78;
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_GONE, two->base_end);
	/* The next one can be fetched. */
	two->base_bytes = 0;
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_ends == 2);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_COMPLETE, two->base_end);
}

static void a_node_that_cannot_store_a_piece_stops(void)
{
	open_two(200 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes > 2 * FRAME_BASE_PIECE_BYTES);
	two->is_base_full = true;
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_STOPPED, two->base_end);
}

static void a_fetching_that_is_stopped_has_no_end(void)
{
	open_two(200 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes > 2 * FRAME_BASE_PIECE_BYTES);
	nodes_stop_base(two->nodes);
	LOOP_UNTIL(endpoint_info(one).connections == 2);
	TEST_ASSERT_EQUAL_UINT64(0, two->base_ends);
	TEST_ASSERT_EQUAL_UINT64(0, nodes_base_offset(two->nodes));
}

static void another_snapshot_replaces_the_one_that_is_fetched(void)
{
	open_two(200 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes > 2 * FRAME_BASE_PIECE_BYTES);
	one->snapshot.salt = 78;
	one->snapshot.size = 3 * FRAME_BASE_PIECE_BYTES;
	two->base_bytes = 0;
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_COMPLETE, two->base_end);
	TEST_ASSERT_EQUAL_UINT64(one->snapshot.size, two->base_bytes);
}

static void a_snapshot_of_a_node_that_leaves_is_gone(void)
{
	static const uint64_t ids[] = { 2, 0 };

	open_two(200 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes > 2 * FRAME_BASE_PIECE_BYTES);
	endpoint_set_members(two, ids);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_GONE, two->base_end);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_ends == 2);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_GONE, two->base_end);
}

static void a_snapshot_that_is_there_already_is_complete(void)
{
	open_two(1000);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 1000);
	TEST_ASSERT_EQUAL_UINT64(0, two->base_ends);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_INT(NODES_BASE_COMPLETE, two->base_end);
	TEST_ASSERT_EQUAL_UINT64(0, one->base_reads);
}

static void pieces_that_are_being_read_leave_when_they_are_there(void)
{
	open_two(10 * FRAME_BASE_PIECE_BYTES);
	one->is_reading = true;
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(one->base_reads != 0);
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->base_bytes);
	one->is_reading = false;
	nodes_wake(one->nodes);
	LOOP_UNTIL(two->base_ends == 1);
	TEST_ASSERT_EQUAL_UINT64(one->snapshot.size, two->base_bytes);
}

/* A rate of a byte in a second: after the first piece nothing may leave for twelve days. */
static void pieces_leave_no_faster_than_they_may(void)
{
	endpoint_options.base_rate = 1;
	open_two(10 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	LOOP_UNTIL(two->base_bytes == FRAME_BASE_PIECE_BYTES);
	loop_beats(20);
	TEST_ASSERT_EQUAL_UINT64(1, one->base_reads);
	TEST_ASSERT_EQUAL_UINT64(FRAME_BASE_PIECE_BYTES, two->base_bytes);
	endpoint_send_simple(one, 2, CORE_VOTE);
	LOOP_UNTIL(two->messages == 1);
}

/* With the bytes of one piece for each heartbeat, no heartbeat sends two. */
static void pieces_leave_as_fast_as_they_may(void)
{
	uint64_t turns = 0, most = 0;

	endpoint_options.base_rate = FRAME_BASE_PIECE_BYTES * 1000 / ENDPOINT_BEAT_MS;
	open_two(30 * FRAME_BASE_PIECE_BYTES);
	nodes_fetch_base(two->nodes, 1, &one->snapshot, 0);
	while (two->base_ends == 0) {
		uint64_t before = one->base_reads;

		loop_turn();
		turns++;
		if (one->base_reads - before > most)
			most = one->base_reads - before;
	}
	TEST_ASSERT_EQUAL_UINT64(30, one->base_reads);
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(2, most);
	TEST_ASSERT_GREATER_THAN_UINT64(28, turns);
}

/*
 * Wrong frames
 */

static void a_node_that_asks_for_too_much_at_once_is_disconnected(void)
{
	struct raw_peer peer;
	struct frame ask = { .type = FRAME_BASE_ASK, .length = 100 };

	open_two(10 * FRAME_BASE_PIECE_BYTES);
	one->is_reading = true;
	ask.base = one->snapshot;
	peer = raw_connect(one->port);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_BASE);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	for (int i = 0; i < 4; i++)
		raw_send_frame(&peer, &ask);
	LOOP_UNTIL(one->base_reads != 0);
	loop_beats(2);
	TEST_ASSERT_FALSE(raw_is_closed(&peer));
	raw_send_frame(&peer, &ask);
	LOOP_UNTIL(raw_is_closed(&peer));
	raw_close(&peer);
}

/* Let node 1 fetch from a peer that says that it is node 2. Returns the connection after HELLO. */
static struct raw_peer fetch_from_peer(int *ret_listener, const struct frame_base *base)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	struct raw_peer peer;

	*ret_listener = raw_listen(&two->port);
	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", two->port);
	endpoint_set_members(one, ids);
	nodes_fetch_base(one->nodes, 2, base, 0);
	for (;;) {
		struct frame hello;

		peer = raw_accept(*ret_listener);
		hello = raw_read_frame(&peer);
		TEST_ASSERT_EQUAL_INT(FRAME_HELLO, hello.type);
		if (hello.hello.purpose == FRAME_FOR_BASE)
			break;
		raw_close(&peer);
	}
	raw_send_hello(&peer, 2, 1, FRAME_FOR_BASE);
	return peer;
}

static void a_piece_that_was_not_asked_for_ends_the_connection(void)
{
	const struct frame_base base = { .index = 9, .term = 1, .size = 1000, .salt = 5 };
	struct frame piece = { .type = FRAME_BASE_PIECE, .base = base };
	char bytes[1000];
	struct raw_peer peer;
	struct frame ask;
	int listener;

	peer = fetch_from_peer(&listener, &base);
	ask = raw_read_frame(&peer);
	TEST_ASSERT_EQUAL_INT(FRAME_BASE_ASK, ask.type);
	TEST_ASSERT_EQUAL_UINT64(0, ask.offset);
	TEST_ASSERT_EQUAL_UINT32(1000, ask.length);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = endpoint_base_byte(i);
	piece.bytes = str_make(bytes, 500);
	raw_send_frame(&peer, &piece);
	LOOP_UNTIL(one->base_bytes == 500);
	/* The same piece again. */
	raw_send_frame(&peer, &piece);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_UINT64(500, one->base_bytes);
	TEST_ASSERT_EQUAL_UINT64(0, one->base_ends);
	raw_close(&peer);
	close(listener);
}

static void a_piece_of_another_snapshot_ends_the_connection(void)
{
	const struct frame_base base = { .index = 9, .term = 1, .size = 1000, .salt = 5 };
	struct frame piece = { .type = FRAME_BASE_PIECE, .base = base, .bytes = STR_INIT("x") };
	struct raw_peer peer;
	int listener;

	peer = fetch_from_peer(&listener, &base);
	TEST_ASSERT_EQUAL_INT(FRAME_BASE_ASK, raw_read_frame(&peer).type);
	piece.base.salt = 6;
	raw_send_frame(&peer, &piece);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_UINT64(0, one->base_bytes);
	raw_close(&peer);
	close(listener);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_snapshot_arrives_whole);
	RUN(a_snapshot_costs_little_memory);
	RUN(messages_pass_a_snapshot);
	RUN(a_snapshot_goes_on_where_it_was);
	RUN(a_snapshot_goes_on_after_the_other_node_was_restarted);
	RUN(a_snapshot_that_is_gone_ends_the_fetching);
	RUN(a_snapshot_that_goes_half_way_ends_the_fetching);
	RUN(a_node_that_cannot_store_a_piece_stops);
	RUN(a_fetching_that_is_stopped_has_no_end);
	RUN(another_snapshot_replaces_the_one_that_is_fetched);
	RUN(a_snapshot_of_a_node_that_leaves_is_gone);
	RUN(a_snapshot_that_is_there_already_is_complete);
	RUN(pieces_that_are_being_read_leave_when_they_are_there);
	RUN(pieces_leave_no_faster_than_they_may);
	RUN(pieces_leave_as_fast_as_they_may);
	RUN(a_node_that_asks_for_too_much_at_once_is_disconnected);
	RUN(a_piece_that_was_not_asked_for_ends_the_connection);
	RUN(a_piece_of_another_snapshot_ends_the_connection);
	return UNIT_RESULT();
}
