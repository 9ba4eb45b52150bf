/*
 * Connections from others than members: garbage, wrong greetings, and too many of them.
 */
#include <unistd.h>

#include "endpoint.h"
#include "raw_peer.h"
#include "unit.h"
#include "util/wire.h"

static struct endpoint *const one = &endpoints[1], *const two = &endpoints[2];

static struct raw_peer peer;

void setUp(void)
{
	endpoints_init();
	peer.fd = -1;
}

void tearDown(void)
{
	raw_close(&peer);
	endpoints_done();
}

/* Make node 1, with node 2 as a member that is not there. */
static void open_one(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };

	endpoint_open(1);
	two->id = 2;
	snprintf(two->address, sizeof two->address, "127.0.0.1:1");
	endpoint_set_members(one, ids);
}

/* Send a HELLO, and expect a refusal and the end of the connection. */
static void assert_refused(const struct frame *hello, enum frame_refusal expected)
{
	uint64_t before = endpoint_info(one).refused;
	struct frame f;

	peer = raw_connect(one->port);
	raw_send_frame(&peer, hello);
	f = raw_read_frame(&peer);
	TEST_ASSERT_EQUAL_INT(FRAME_REFUSED, f.type);
	TEST_ASSERT_EQUAL_INT(expected, f.refusal);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_UINT64(before + 1, endpoint_info(one).refused);
	TEST_ASSERT_EQUAL_size_t(0, endpoint_info(one).strangers);
	TEST_ASSERT_FALSE(endpoint_member(one, 2).is_receiving);
	raw_close(&peer);
}

static void a_node_of_another_group_is_refused(void)
{
	struct frame hello;

	open_one();
	hello = raw_make_hello(2, 1);
	hello.hello.group[15] ^= 1;
	assert_refused(&hello, FRAME_REFUSED_GROUP);
}

static void a_node_that_is_no_member_is_refused(void)
{
	struct frame hello;

	open_one();
	hello = raw_make_hello(3, 1);
	assert_refused(&hello, FRAME_REFUSED_NODE);
}

static void a_node_with_the_id_of_this_one_is_refused(void)
{
	struct frame hello;

	open_one();
	hello = raw_make_hello(1, 1);
	assert_refused(&hello, FRAME_REFUSED_NODE);
}

static void a_node_that_looks_for_another_one_is_refused(void)
{
	struct frame hello;

	open_one();
	hello = raw_make_hello(2, 3);
	assert_refused(&hello, FRAME_REFUSED_SELF);
}

static void a_node_without_a_common_version_is_refused(void)
{
	struct frame hello;

	open_one();
	hello = raw_make_hello(2, 1);
	hello.hello.version_min = hello.hello.version_max = FRAME_VERSION_MAX + 1;
	assert_refused(&hello, FRAME_REFUSED_VERSION);
	hello.hello.version_min = hello.hello.version_max = FRAME_VERSION_MIN - 1;
	assert_refused(&hello, FRAME_REFUSED_VERSION);
}

static void a_node_that_speaks_later_versions_as_well_is_accepted(void)
{
	struct frame hello, answer;

	open_one();
	hello = raw_make_hello(2, 1);
	hello.hello.version_max = UINT32_MAX;
	peer = raw_connect(one->port);
	raw_send_frame(&peer, &hello);
	answer = raw_read_frame(&peer);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, answer.type);
	TEST_ASSERT_EQUAL_UINT32(FRAME_VERSION_MIN, answer.hello.version_min);
	TEST_ASSERT_EQUAL_UINT32(FRAME_VERSION_MAX, answer.hello.version_max);
	TEST_ASSERT_EQUAL_UINT64(1, answer.hello.from);
	TEST_ASSERT_EQUAL_UINT64(2, answer.hello.to);
	TEST_ASSERT_EQUAL_size_t(strlen(one->address), answer.hello.address.len);
	TEST_ASSERT_EQUAL_MEMORY(one->address, answer.hello.address.ptr, strlen(one->address));
	TEST_ASSERT_TRUE(endpoint_member(one, 2).is_receiving);
	TEST_ASSERT_EQUAL_size_t(0, endpoint_info(one).strangers);
}

static void a_newer_connection_of_a_node_replaces_the_older_one(void)
{
	struct raw_peer older;

	open_one();
	older = raw_connect(one->port);
	raw_send_hello(&older, 2, 1, FRAME_FOR_MESSAGES);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&older).type);
	peer = raw_connect(one->port);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	LOOP_UNTIL(raw_is_closed(&older));
	TEST_ASSERT_TRUE(endpoint_member(one, 2).is_receiving);
	raw_close(&older);
}

static void hello_may_come_byte_by_byte(void)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct frame hello;

	open_one();
	hello = raw_make_hello(2, 1);
	frame_encode(&bytes, &hello);
	peer = raw_connect(one->port);
	for (size_t i = 0; i < bytes.len; i++) {
		raw_send(&peer, buf_data(&bytes) + i, 1);
		loop_turn();
	}
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	buf_done(&bytes);
}

static void messages_may_follow_hello_at_once(void)
{
	struct frame vote = { .type = FRAME_MESSAGE, .term = 3, .message = { .kind = CORE_VOTE } };
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct frame hello;

	open_one();
	hello = raw_make_hello(2, 1);
	frame_encode(&bytes, &hello);
	for (int i = 0; i < 100; i++)
		frame_encode(&bytes, &vote);
	peer = raw_connect(one->port);
	raw_send(&peer, buf_data(&bytes), bytes.len);
	LOOP_UNTIL(one->messages == 100);
	buf_done(&bytes);
}

/* Bytes that are no frames end the connection, and nothing else. */
static void garbage_ends_the_connection(void)
{
	unsigned long long seed = 7;

	open_one();
	for (int round = 0; round < 200; round++) {
		unsigned char bytes[200];

		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (unsigned char)unit_random(&seed);
		peer = raw_connect(one->port);
		raw_send(&peer, bytes, sizeof bytes);
		LOOP_UNTIL(raw_is_closed(&peer));
		raw_close(&peer);
	}
	TEST_ASSERT_EQUAL_UINT64(200, endpoint_info(one).refused);
	TEST_ASSERT_EQUAL_size_t(0, endpoint_info(one).strangers);
	TEST_ASSERT_EQUAL_UINT64(0, one->messages);
}

static void a_client_of_redis_or_http_is_disconnected(void)
{
	static const char *const texts[] = { "*1\r\n$4\r\nPING\r\n........",
					     "GET / HTTP/1.1\r\n\r\n" };

	open_one();
	for (size_t i = 0; i < 2; i++) {
		peer = raw_connect(one->port);
		raw_send(&peer, texts[i], strlen(texts[i]));
		LOOP_UNTIL(raw_is_closed(&peer));
		raw_close(&peer);
	}
}

static void a_stranger_may_not_send_messages(void)
{
	struct frame vote = { .type = FRAME_MESSAGE, .term = 3, .message = { .kind = CORE_VOTE } };

	open_one();
	peer = raw_connect(one->port);
	raw_send_frame(&peer, &vote);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_UINT64(0, one->messages);
}

static void a_stranger_may_not_announce_more_than_a_hello(void)
{
	unsigned char header[FRAME_HEADER_BYTES] = { 0 };
	size_t before;

	open_one();
	before = endpoint_info(one).memory;
	wire_put_u32(header, (uint32_t)FRAME_ENTRIES_BYTES);
	header[8] = FRAME_MESSAGE;
	peer = raw_connect(one->port);
	LOOP_UNTIL(endpoint_info(one).strangers == 1);
	raw_send(&peer, header, sizeof header);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_LESS_THAN_size_t(before + 16384, endpoint_info(one).memory);
}

static void a_member_may_not_send_frames_that_are_not_for_it(void)
{
	static const enum frame_type types[] = { FRAME_HELLO, FRAME_REFUSED, FRAME_BASE_ASK,
						 FRAME_BASE_PIECE, FRAME_BASE_GONE };

	open_one();
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct frame f = types[i] == FRAME_HELLO ? raw_make_hello(2, 1)
							 : (struct frame){ .type = types[i] };

		f.base = (struct frame_base){ .index = 1, .term = 1, .size = 10 };
		f.length = 5;
		f.bytes = STR("12345");
		peer = raw_connect(one->port);
		raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
		TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
		raw_send_frame(&peer, &f);
		LOOP_UNTIL(raw_is_closed(&peer));
		raw_close(&peer);
	}
}

static void a_piece_without_the_pieces_before_it_ends_the_connection(void)
{
	struct frame f = { .type = FRAME_PIECE,
			   .term = 2,
			   .piece = { .previous_index = 1,
				      .entry_term = 1,
				      .size = 100,
				      .offset = 50,
				      .bytes = STR_INIT("12345") } };

	open_one();
	peer = raw_connect(one->port);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	f.piece.offset = 0;
	raw_send_frame(&peer, &f);
	f.piece.offset = 5;
	raw_send_frame(&peer, &f);
	loop_beats(2);
	TEST_ASSERT_FALSE(raw_is_closed(&peer));
	/* Another entry. */
	f.piece.offset = 10;
	f.piece.entry_term = 2;
	raw_send_frame(&peer, &f);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_UINT64(0, one->messages);
}

static void a_stranger_who_says_nothing_is_disconnected(void)
{
	endpoint_options.hello_ms = 10 * ENDPOINT_BEAT_MS;
	open_one();
	peer = raw_connect(one->port);
	LOOP_UNTIL(endpoint_info(one).strangers == 1);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_size_t(0, endpoint_info(one).strangers);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_info(one).refused);
}

/* The oldest give up their places, so a member gets one. */
static void many_strangers_take_no_more_than_their_places(void)
{
	struct raw_peer crowd[3 * NODES_STRANGERS_MAX];
	const unsigned count = sizeof crowd / sizeof *crowd;
	size_t memory, closed = 0;

	open_one();
	memory = endpoint_info(one).memory;
	for (unsigned i = 0; i < count; i++) {
		crowd[i] = raw_connect(one->port);
		raw_send(&crowd[i], "\1", 1);
		loop_turn(); /* the kernel keeps only some that are not accepted */
	}
	LOOP_UNTIL(endpoint_info(one).refused == count - NODES_STRANGERS_MAX);
	loop_beats(3);
	TEST_ASSERT_EQUAL_size_t(NODES_STRANGERS_MAX, endpoint_info(one).strangers);
	TEST_ASSERT_LESS_THAN_size_t(memory + NODES_STRANGERS_MAX * 16384,
				     endpoint_info(one).memory);
	for (unsigned i = 0; i < count; i++)
		closed += raw_is_closed(&crowd[i]);
	TEST_ASSERT_EQUAL_size_t(count - NODES_STRANGERS_MAX, closed);

	peer = raw_connect(one->port);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	for (unsigned i = 0; i < count; i++)
		raw_close(&crowd[i]);
	LOOP_UNTIL(endpoint_info(one).strangers == 0);
	TEST_ASSERT_TRUE(endpoint_member(one, 2).is_receiving);
}

/* The answering side may be a stranger as well. */

static void assert_answer_refused(const struct frame *answer, const char *expected)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	int listener = raw_listen(&two->port);

	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", two->port);
	endpoint_set_members(one, ids);
	peer = raw_accept(listener);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	raw_send_frame(&peer, answer);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_EQUAL_STRING(expected, endpoint_member(one, 2).error);
	TEST_ASSERT_EQUAL_UINT64(0, endpoint_member(one, 2).connects);
	close(listener);
}

static void a_node_of_another_group_that_answers_is_left(void)
{
	struct frame hello = raw_make_hello(2, 1);

	hello.hello.group[0] ^= 1;
	assert_answer_refused(&hello, "it belongs to another group");
}

static void another_node_that_answers_is_left(void)
{
	struct frame hello = raw_make_hello(3, 1);

	assert_answer_refused(&hello, "it is another node");
}

static void a_node_of_another_version_that_answers_is_left(void)
{
	struct frame hello = raw_make_hello(2, 1);

	hello.hello.version_min = hello.hello.version_max = FRAME_VERSION_MAX + 1;
	assert_answer_refused(&hello, "there is no version of the protocol that both nodes speak");
}

static void an_answer_that_is_no_hello_ends_the_connection(void)
{
	struct frame alive = { .type = FRAME_PROBE };

	assert_answer_refused(&alive, "it has not answered HELLO");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_node_of_another_group_is_refused);
	RUN(a_node_that_is_no_member_is_refused);
	RUN(a_node_with_the_id_of_this_one_is_refused);
	RUN(a_node_that_looks_for_another_one_is_refused);
	RUN(a_node_without_a_common_version_is_refused);
	RUN(a_node_that_speaks_later_versions_as_well_is_accepted);
	RUN(a_newer_connection_of_a_node_replaces_the_older_one);
	RUN(hello_may_come_byte_by_byte);
	RUN(messages_may_follow_hello_at_once);
	RUN(garbage_ends_the_connection);
	RUN(a_client_of_redis_or_http_is_disconnected);
	RUN(a_stranger_may_not_send_messages);
	RUN(a_stranger_may_not_announce_more_than_a_hello);
	RUN(a_member_may_not_send_frames_that_are_not_for_it);
	RUN(a_piece_without_the_pieces_before_it_ends_the_connection);
	RUN(a_stranger_who_says_nothing_is_disconnected);
	RUN(many_strangers_take_no_more_than_their_places);
	RUN(a_node_of_another_group_that_answers_is_left);
	RUN(another_node_that_answers_is_left);
	RUN(a_node_of_another_version_that_answers_is_left);
	RUN(an_answer_that_is_no_hello_ends_the_connection);
	return UNIT_RESULT();
}
