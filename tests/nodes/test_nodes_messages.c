/*
 * Messages and entries between nodes: what arrives, in which order, and what it costs.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint.h"
#include "raw_peer.h"
#include "unit.h"

static struct endpoint *const one = &endpoints[1], *const two = &endpoints[2],
			      *const three = &endpoints[3];

void setUp(void)
{
	endpoints_init();
}

void tearDown(void)
{
	endpoints_done();
}

static void open_two(void)
{
	endpoints_open(2);
	LOOP_UNTIL(endpoints_are_connected(2));
}

/* Give a node a log of entries of the same length, and let it lead. */
static void lead(struct endpoint *e, uint64_t last, size_t entry_bytes)
{
	e->leads = 5;
	e->first = 1;
	e->last = last;
	e->entry_bytes = entry_bytes;
}

/*
 * Messages
 */

static void two_nodes_connect_to_each_other(void)
{
	open_two();
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(two, 1).connects);
	TEST_ASSERT_EQUAL_STRING("", endpoint_member(one, 2).error);
	TEST_ASSERT_EQUAL_size_t(2, endpoint_info(one).connections);
	TEST_ASSERT_EQUAL_size_t(0, endpoint_info(one).strangers);
	TEST_ASSERT_EQUAL_UINT64(0, endpoint_info(one).refused);
}

static void a_message_arrives_as_it_was_sent(void)
{
	struct core_message m = { .kind = CORE_VOTE, .term = 7 };

	open_two();
	m.vote.last_index = 100;
	m.vote.last_term = 6;
	m.vote.is_trial = true;
	nodes_send(one->nodes, 2, &m);
	LOOP_UNTIL(two->messages == 1);
	TEST_ASSERT_EQUAL_UINT64(1, two->from);
	TEST_ASSERT_EQUAL_INT(CORE_VOTE, two->message.kind);
	TEST_ASSERT_EQUAL_UINT64(7, two->message.term);
	TEST_ASSERT_EQUAL_UINT64(100, two->message.vote.last_index);
	TEST_ASSERT_EQUAL_UINT64(6, two->message.vote.last_term);
	TEST_ASSERT_TRUE(two->message.vote.is_trial);

	m = (struct core_message){ .kind = CORE_VOTE_RESULT, .term = 7 };
	m.vote_result.is_granted = true;
	nodes_send(two->nodes, 1, &m);
	LOOP_UNTIL(one->messages == 1);
	TEST_ASSERT_EQUAL_INT(CORE_VOTE_RESULT, one->message.kind);
	TEST_ASSERT_TRUE(one->message.vote_result.is_granted);
}

static void a_flush_sends_without_another_turn_of_the_loop(void)
{
	uint64_t before;

	open_two();
	before = endpoint_member(one, 2).sent;
	endpoint_send_simple(one, 2, CORE_VOTE);
	TEST_ASSERT_EQUAL_UINT64(before, endpoint_member(one, 2).sent);
	nodes_flush(one->nodes);
	TEST_ASSERT_GREATER_THAN_UINT64(before, endpoint_member(one, 2).sent);
	LOOP_UNTIL(two->messages == 1);
}

static void three_nodes_send_to_each_other(void)
{
	endpoints_open(3);
	LOOP_UNTIL(endpoints_are_connected(3));
	for (unsigned round = 0; round < 100; round++) {
		for (unsigned from = 1; from <= 3; from++) {
			for (unsigned to = 1; to <= 3; to++) {
				if (from != to)
					endpoint_send_simple(&endpoints[from], to, CORE_VOTE);
			}
		}
	}
	LOOP_UNTIL(one->messages == 200 && two->messages == 200 && three->messages == 200);
}

static void a_probe_is_answered(void)
{
	open_two();
	nodes_send_probe(one->nodes, 2, 7, 12345);
	LOOP_UNTIL(one->probe_answers == 1);
	TEST_ASSERT_EQUAL_UINT64(1, two->probes);
	TEST_ASSERT_EQUAL_UINT64(2, one->from);
	TEST_ASSERT_EQUAL_UINT64(8, one->probe_term);
	TEST_ASSERT_EQUAL_UINT64(12345, one->probe_number);
}

static void an_offer_of_a_snapshot_arrives_with_its_file(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	const struct frame_base base = { .index = 90, .term = 3, .size = 1000, .salt = 77 };
	struct core_base offer = { .index = 90, .term = 3, .members_index = 1 };
	const struct core_message m = {
		.kind = CORE_BASE_OFFER,
		.term = 4,
		.offer = &offer,
	};

	open_two();
	endpoint_make_members(&offer.members, ids);
	nodes_offer_base(one->nodes, 2, &m, &base);
	LOOP_UNTIL(two->messages == 1);
	TEST_ASSERT_EQUAL_INT(CORE_BASE_OFFER, two->message.kind);
	TEST_ASSERT_EQUAL_UINT64(4, two->message.term);
	TEST_ASSERT_TRUE(members_equal(&offer.members, &two->offered_members));
	TEST_ASSERT_EQUAL_MEMORY(&base, &two->offered, sizeof base);
}

static void a_message_to_a_node_without_a_connection_is_dropped(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	int port;
	int listener = raw_listen(&port);

	endpoint_open(1);
	endpoints[2].id = 2;
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", port);
	close(listener);
	endpoint_set_members(one, ids);
	endpoint_send_simple(one, 2, CORE_VOTE);
	endpoint_send_simple(one, 2, CORE_VOTE);
	TEST_ASSERT_EQUAL_UINT64(2, endpoint_member(one, 2).dropped);
	LOOP_UNTIL(strcmp(endpoint_member(one, 2).error, "Connection refused") == 0);
}

static void a_message_to_an_unknown_node_is_ignored(void)
{
	open_two();
	endpoint_send_simple(one, 3, CORE_VOTE);
	endpoint_send_simple(one, 1, CORE_VOTE);
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->messages);
}

static void nodes_tell_each_other_their_clocks_and_where_clients_reach_them(void)
{
	struct nodes_member_info info;

	endpoint_options.announce = "queue.example:7537";
	open_two();
	LOOP_UNTIL(endpoint_member(one, 2).has_clock && endpoint_member(two, 1).has_clock);
	info = endpoint_member(one, 2);
	/* Both read the same clock, and a frame takes less than a minute. */
	TEST_ASSERT_INT64_WITHIN(60 * INT64_C(1000000), 0, info.clock_ahead_us);
	TEST_ASSERT_EQUAL_STRING("queue.example:7537", info.announce);
	TEST_ASSERT_EQUAL_STRING("queue.example:7537", endpoint_member(two, 1).announce);
}

/*
 * Entries
 */

static void entries_arrive_in_order_with_their_terms(void)
{
	open_two();
	lead(one, 10, 100);
	endpoint_send_entries(one, 2, 1, 10, 4);
	LOOP_UNTIL(two->entries == 10);
	TEST_ASSERT_EQUAL_UINT64(1, two->messages);
	TEST_ASSERT_EQUAL_UINT64(4, two->message.entries.commit);
	TEST_ASSERT_EQUAL_UINT64(5, two->message.term);
}

static void messages_of_entries_that_follow_each_other_become_one(void)
{
	open_two();
	lead(one, 100, 10);
	for (unsigned i = 0; i < 50; i++)
		endpoint_send_entries(one, 2, 1 + 2 * i, 2, 2 * i);
	LOOP_UNTIL(two->entries == 100);
	TEST_ASSERT_EQUAL_UINT64(1, two->messages);
	TEST_ASSERT_EQUAL_UINT64(98, two->message.entries.commit);
}

static size_t most_memory, most_fetched;

/* Runs a turn, and notes what it costs. */
static void measure_turn(void)
{
	size_t before = one->fetched_bytes, memory;

	loop_turn();
	if (one->fetched_bytes - before > most_fetched)
		most_fetched = one->fetched_bytes - before;
	memory = endpoint_info(one).memory + endpoint_info(two).memory;
	if (memory > most_memory)
		most_memory = memory;
}

/* No turn moves more than what a connection may read or write in a turn, and no more bytes are in
 * memory than one output and one input. */
static void a_hundred_megabytes_of_entries_cost_little_memory(void)
{
	most_memory = most_fetched = 0;
	open_two();
	lead(one, 100000, 1000);
	endpoint_send_entries(one, 2, 1, 100000, 0);
	LOOP_UNTIL((measure_turn(), two->entries == 100000));
	TEST_ASSERT_EQUAL_size_t(100000000, one->fetched_bytes);
	TEST_ASSERT_LESS_THAN_size_t(6 * NODES_TURN_BYTES, most_memory);
	/* A turn may write twice: when the socket is ready, and when it ends. */
	TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * NODES_TURN_BYTES, most_fetched);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
}

static void an_entry_of_a_mebibyte_travels_in_one_frame_and_a_larger_one_in_pieces(void)
{
	open_two();
	lead(one, 3, 100);
	one->large_index = 2;
	one->large_bytes = FRAME_ENTRIES_BYTES - 5;
	endpoint_send_entries(one, 2, 1, 3, 0);
	LOOP_UNTIL(two->entries == 3);
	TEST_ASSERT_EQUAL_UINT64(3, one->fetches);
	two->next = 0;
	one->fetches = 0;
	one->large_bytes = FRAME_ENTRIES_BYTES;
	endpoint_send_entries(one, 2, 1, 3, 0);
	LOOP_UNTIL(two->entries == 6);
	/* The first one, the size of the second one, four pieces and the last one. */
	TEST_ASSERT_EQUAL_UINT64(1 + 1 + 4 + 1, one->fetches);
}

static void heartbeats_pass_a_large_entry(void)
{
	open_two();
	lead(one, 3, 100);
	one->large_index = 2;
	one->large_bytes = 40 * 1024 * 1024;
	endpoint_send_entries(one, 2, 1, 3, 0);
	/* The core sends one with each heartbeat, for the end of its log. */
	LOOP_UNTIL((endpoint_send_entries(one, 2, 4, 0, 3), two->entries == 3));
	TEST_ASSERT_GREATER_THAN_UINT64(10, two->heartbeats_before_large);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
	TEST_ASSERT_LESS_THAN_size_t(6 * NODES_TURN_BYTES, endpoint_info(one).memory);
}

static void a_heartbeat_that_passes_has_the_entry_before_the_large_one_as_previous(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	struct raw_peer peer;
	unsigned beats = 0;
	int listener = raw_listen(&two->port);
	uint64_t offset = 0;

	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", two->port);
	endpoint_set_members(one, ids);
	peer = raw_accept(listener);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
	LOOP_UNTIL(endpoint_member(one, 2).is_sending);
	lead(one, 3, 100);
	one->large_index = 2;
	one->large_bytes = 40 * 1024 * 1024;
	endpoint_send_entries(one, 2, 1, 3, 0);
	while (offset < one->large_bytes) {
		struct frame f;

		endpoint_send_entries(one, 2, 4, 0, 3);
		f = raw_read_frame(&peer);
		if (f.type == FRAME_PIECE) {
			TEST_ASSERT_EQUAL_UINT64(1, f.piece.previous_index);
			TEST_ASSERT_EQUAL_UINT32(offset, f.piece.offset);
			TEST_ASSERT_LESS_OR_EQUAL_UINT64(2, f.piece.commit);
			offset += f.piece.bytes.len;
		} else if (f.message.entries.count == 0) {
			beats++;
			TEST_ASSERT_EQUAL_UINT64(1, f.message.entries.previous_index);
			TEST_ASSERT_EQUAL_UINT64(1, f.message.entries.previous_term);
			TEST_ASSERT_EQUAL_UINT64(1, f.message.entries.commit);
		}
		/* A node that says nothing is given up. */
		raw_send_frame(&peer, &(struct frame){ .type = FRAME_ALIVE });
	}
	TEST_ASSERT_GREATER_THAN_UINT(10, beats);
	raw_close(&peer);
	close(listener);
}

static void a_heartbeat_arrives_alone_if_no_entries_wait(void)
{
	open_two();
	lead(one, 3, 100);
	endpoint_send_entries(one, 2, 4, 0, 2);
	LOOP_UNTIL(two->messages == 1);
	TEST_ASSERT_EQUAL_UINT64(3, two->message.entries.previous_index);
	TEST_ASSERT_EQUAL_UINT64(3, two->message.entries.previous_term);
	TEST_ASSERT_EQUAL_UINT64(2, two->message.entries.commit);
}

static void a_commit_index_is_never_above_the_previous_entry_of_a_heartbeat(void)
{
	open_two();
	lead(one, 3, 100);
	endpoint_send_entries(one, 2, 3, 0, 3);
	LOOP_UNTIL(two->messages == 1);
	TEST_ASSERT_EQUAL_UINT64(2, two->message.entries.previous_index);
	TEST_ASSERT_EQUAL_UINT64(2, two->message.entries.commit);
}

static void entries_that_are_gone_are_not_sent(void)
{
	open_two();
	lead(one, 10, 100);
	one->first = 5;
	endpoint_send_entries(one, 2, 3, 8, 0);
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->messages);
	endpoint_send_entries(one, 2, 5, 6, 0);
	LOOP_UNTIL(two->entries == 6);
}

static void entries_of_a_term_in_which_the_node_led_are_not_sent_later(void)
{
	open_two();
	lead(one, 10, 100);
	endpoint_send_entries(one, 2, 1, 10, 0);
	/* Another leader has replaced them before the socket took them. */
	one->leads = 6;
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->messages);
	TEST_ASSERT_EQUAL_UINT64(1, one->fetches);
}

static void a_large_entry_that_is_gone_half_way_is_not_handed_over(void)
{
	open_two();
	lead(one, 3, 100);
	one->large_index = 1;
	one->large_bytes = 200 * 1024 * 1024;
	endpoint_send_entries(one, 2, 1, 3, 0);
	LOOP_UNTIL(one->fetched_bytes > 4 * 1024 * 1024);
	one->first = 2;
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->entries);
	endpoint_send_entries(one, 2, 2, 2, 0);
	LOOP_UNTIL(two->entries == 2);
	TEST_ASSERT_EQUAL_UINT64(4, two->next);
	/* The pieces that had arrived are freed. */
	TEST_ASSERT_LESS_THAN_size_t(4 * NODES_TURN_BYTES, endpoint_info(two).memory);
}

static void entries_that_are_being_read_leave_when_they_are_there(void)
{
	open_two();
	lead(one, 10, 100);
	one->is_reading = true;
	endpoint_send_entries(one, 2, 1, 10, 0);
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->entries);
	endpoint_send_simple(one, 2, CORE_TIMEOUT_NOW);
	LOOP_UNTIL(two->messages == 1);
	one->is_reading = false;
	nodes_wake(one->nodes);
	LOOP_UNTIL(two->entries == 10);
}

static void entries_that_the_core_repeats_are_sent_once(void)
{
	open_two();
	lead(one, 20000, 1000);
	LOOP_UNTIL((endpoint_send_entries(one, 2, 1, 20000, 0), loop_turn(),
		    one->fetched_bytes > 10000000));
	/* The other node checks that none comes twice. */
	LOOP_UNTIL(two->entries == 20000);
}

/*
 * Nodes that do not read, or do not answer
 */

/* Let node 1 connect to a peer that says that it is node 2. */
static struct raw_peer open_raw_member(int *ret_listener)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	struct raw_peer peer;

	*ret_listener = raw_listen(&two->port);
	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", two->port);
	endpoint_set_members(one, ids);
	peer = raw_accept(*ret_listener);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
	LOOP_UNTIL(endpoint_member(one, 2).is_sending);
	return peer;
}

static void a_node_that_does_not_read_costs_a_bounded_amount_of_memory(void)
{
	static const struct frame alive = { .type = FRAME_ALIVE };
	struct nodes_member_info info;
	uint64_t expected = 1;
	struct raw_peer peer;
	int listener;

	most_memory = 0;
	peer = open_raw_member(&listener);
	lead(one, 1000000, 1000);
	endpoint_send_entries(one, 2, 1, 1000000, 0);
	for (unsigned i = 0; i < 300; i++) {
		uint64_t fetched = one->fetched_bytes;

		for (unsigned j = 0; j < 100; j++)
			endpoint_send_simple(one, 2, CORE_VOTE);
		raw_send_frame(&peer, &alive);
		loop_turn();
		info = endpoint_member(one, 2);
		if (info.memory > most_memory)
			most_memory = info.memory;
		/* At some point the kernel takes no more. */
		if (i > 200)
			TEST_ASSERT_EQUAL_UINT64(fetched, one->fetched_bytes);
	}
	TEST_ASSERT_LESS_THAN_size_t(4 * NODES_TURN_BYTES, most_memory);
	TEST_ASSERT_GREATER_THAN_UINT64(1000, info.dropped);

	/* Now it reads: all entries are there, without a gap. */
	while (expected < 50000) {
		struct frame f = raw_read_frame(&peer);

		raw_send_frame(&peer, &alive);
		if (f.type != FRAME_MESSAGE || f.message.kind != CORE_ENTRIES)
			continue;
		TEST_ASSERT_EQUAL_UINT64(expected - 1, f.message.entries.previous_index);
		expected += f.message.entries.count;
	}
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
	raw_close(&peer);
	close(listener);
}

static void a_node_without_a_sign_of_life_is_given_up_and_called_again(void)
{
	struct raw_peer peer, again;
	int listener;

	endpoint_options.silent_beats = ENDPOINT_SILENT_BEATS;
	peer = open_raw_member(&listener);
	/* The peer sends nothing, but its kernel acknowledges all. */
	LOOP_UNTIL(!endpoint_member(one, 2).is_sending);
	TEST_ASSERT_EQUAL_STRING("there was no sign of life for 50 ms",
				 endpoint_member(one, 2).error);
	again = raw_accept(listener);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&again).type);
	raw_send_hello(&again, 2, 1, FRAME_FOR_MESSAGES);
	LOOP_UNTIL(endpoint_member(one, 2).connects == 2);
	raw_close(&peer);
	raw_close(&again);
	close(listener);
}

static void a_sender_without_a_sign_of_life_is_given_up(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	struct raw_peer peer;

	endpoint_options.silent_beats = ENDPOINT_SILENT_BEATS;
	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:1");
	endpoint_set_members(one, ids);
	peer = raw_connect(one->port);
	raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
	TEST_ASSERT_TRUE(endpoint_member(one, 2).is_receiving);
	LOOP_UNTIL(raw_is_closed(&peer));
	TEST_ASSERT_FALSE(endpoint_member(one, 2).is_receiving);
	raw_close(&peer);
}

static void idle_nodes_keep_their_connections(void)
{
	endpoint_options.silent_beats = ENDPOINT_SILENT_BEATS;
	open_two();
	loop_beats(5 * ENDPOINT_SILENT_BEATS);
	TEST_ASSERT_TRUE(endpoints_are_connected(2));
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(two, 1).connects);
}

static void a_node_that_does_not_answer_hello_is_called_again(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	int listener = raw_listen(&two->port);
	struct raw_peer peer, again;

	endpoint_options.hello_ms = 10 * ENDPOINT_BEAT_MS;
	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", two->port);
	endpoint_set_members(one, ids);
	peer = raw_accept(listener);
	LOOP_UNTIL(strcmp(endpoint_member(one, 2).error, "there is no answer") == 0);
	again = raw_accept(listener);
	raw_close(&peer);
	raw_close(&again);
	close(listener);
}

/* Otherwise two nodes with the same id would keep each other and the log busy. */
static void a_node_that_hangs_up_after_hello_is_called_less_and_less_often(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	int listener = raw_listen(&two->port);
	int64_t begin_ms = wait_now_ms();

	endpoint_open(1);
	snprintf(two->address, sizeof two->address, "127.0.0.1:%d", two->port);
	endpoint_set_members(one, ids);
	for (unsigned i = 1; i <= 6; i++) {
		struct raw_peer peer = raw_accept(listener);

		TEST_ASSERT_EQUAL_INT(FRAME_HELLO, raw_read_frame(&peer).type);
		raw_send_hello(&peer, 2, 1, FRAME_FOR_MESSAGES);
		LOOP_UNTIL(endpoint_member(one, 2).connects == i);
		raw_close(&peer);
		LOOP_UNTIL(!endpoint_member(one, 2).is_sending);
	}
	/* At least the pauses: half of 20, 40, 80, 160 and 320 ms. Timers may be a little early. */
	TEST_ASSERT_GREATER_OR_EQUAL_INT64(300, wait_now_ms() - begin_ms);
	close(listener);
}

/*
 * Nodes that come and go
 */

static void nodes_find_each_other_again_after_a_restart(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };

	open_two();
	for (unsigned i = 2; i <= 5; i++) {
		endpoint_close(two);
		LOOP_UNTIL(!endpoint_member(one, 2).is_sending);
		endpoint_open(2);
		endpoint_set_members(two, ids);
		LOOP_UNTIL(endpoints_are_connected(2));
		TEST_ASSERT_EQUAL_UINT64(i, endpoint_member(one, 2).connects);
		endpoint_send_simple(one, 2, CORE_VOTE);
		endpoint_send_simple(two, 1, CORE_VOTE);
		LOOP_UNTIL(two->messages == i - 1 && one->messages == i - 1);
	}
}

static void a_new_connection_begins_without_old_entries(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };

	open_two();
	lead(one, 100000, 1000);
	endpoint_send_entries(one, 2, 1, 100000, 0);
	LOOP_UNTIL(two->entries > 1000);
	endpoint_close(two);
	LOOP_UNTIL(!endpoint_member(one, 2).is_sending);
	two->next = 0;
	two->entries = 0;
	endpoint_open(2);
	endpoint_set_members(two, ids);
	LOOP_UNTIL(endpoints_are_connected(2));
	loop_beats(3);
	TEST_ASSERT_EQUAL_UINT64(0, two->entries);
	/* The core asks for what the other node lacks. */
	endpoint_send_entries(one, 2, 500, 10, 0);
	LOOP_UNTIL(two->entries == 10);
	TEST_ASSERT_EQUAL_UINT64(510, two->next);
}

static void a_member_that_leaves_is_disconnected(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };
	struct nodes_member_info info;

	endpoints_open(3);
	LOOP_UNTIL(endpoints_are_connected(3));
	endpoint_set_members(one, ids);
	TEST_ASSERT_FALSE(nodes_get_member(one->nodes, 3, &info));
	LOOP_UNTIL(!endpoint_member(three, 1).is_sending);
	LOOP_UNTIL(strcmp(endpoint_member(three, 1).error,
			  "it refuses this node: it does not know this node as a member") == 0);
	TEST_ASSERT_TRUE(endpoints_are_connected(2));
	endpoint_send_simple(two, 1, CORE_VOTE);
	LOOP_UNTIL(one->messages == 1);
}

static void a_member_with_another_address_is_called_there(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };

	open_two();
	endpoint_close(two);
	two->port = 0;
	endpoint_open(2);
	endpoint_set_members(one, ids);
	endpoint_set_members(two, ids);
	LOOP_UNTIL(endpoints_are_connected(2));
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
}

static void an_unknown_node_that_is_admitted_gets_answers(void)
{
	static const uint64_t both[] = { 1, 2, 0 }, only_two[] = { 2, 0 };
	struct nodes_member_info info;

	endpoint_open(1);
	endpoint_open(2);
	two->admits = true;
	endpoint_set_members(two, only_two);
	endpoint_set_members(one, both);
	LOOP_UNTIL(endpoints_are_connected(2));
	TEST_ASSERT_EQUAL_UINT64(1, two->admitted);
	endpoint_send_simple(one, 2, CORE_VOTE);
	LOOP_UNTIL(two->messages == 1);
	endpoint_send_simple(two, 1, CORE_VOTE);
	LOOP_UNTIL(one->messages == 1);
	/* It goes with its connection. */
	endpoint_close(one);
	LOOP_UNTIL(!nodes_get_member(two->nodes, 1, &info));
}

static void a_node_without_a_group_joins_the_one_that_calls_it(void)
{
	static const uint64_t both[] = { 1, 2, 0 };

	endpoint_open(1);
	endpoint_options.has_group = false;
	memset(endpoint_options.group, 0, FRAME_GROUP_BYTES);
	endpoint_open(2);
	two->admits = two->joins = true;
	endpoint_set_members(one, both);
	LOOP_UNTIL(endpoints_are_connected(2));
	TEST_ASSERT_EQUAL_UINT64(1, two->admitted);
	endpoint_send_simple(two, 1, CORE_VOTE);
	LOOP_UNTIL(one->messages == 1);
}

static void a_node_without_a_group_that_does_not_join_refuses(void)
{
	static const uint64_t both[] = { 1, 2, 0 };

	endpoint_open(1);
	endpoint_options.has_group = false;
	endpoint_open(2);
	endpoint_set_members(one, both);
	endpoint_set_members(two, both);
	LOOP_UNTIL(strcmp(endpoint_member(one, 2).error,
			  "it refuses this node: it does not know this node as a member") == 0);
	/* And it does not call others. */
	loop_beats(3);
	TEST_ASSERT_FALSE(endpoint_member(one, 2).is_receiving);
	TEST_ASSERT_EQUAL_UINT64(0, endpoint_member(two, 1).connects);
}

static void an_address_that_is_none_is_an_error_of_the_member(void)
{
	static const char *const addresses[] = { "nowhere",    "host:",	 ":1",	   "host:0",
						 "host:65536", "::1:80", "host:1x" };

	endpoint_open(1);
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		struct members members = { .count = 0 };

		members_set(&members, 2, addresses[i], true);
		nodes_set_members(one->nodes, &members);
		LOOP_UNTIL(strcmp(endpoint_member(one, 2).error, "its address is not host:port") ==
			   0);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(two_nodes_connect_to_each_other);
	RUN(a_message_arrives_as_it_was_sent);
	RUN(a_flush_sends_without_another_turn_of_the_loop);
	RUN(three_nodes_send_to_each_other);
	RUN(a_probe_is_answered);
	RUN(an_offer_of_a_snapshot_arrives_with_its_file);
	RUN(a_message_to_a_node_without_a_connection_is_dropped);
	RUN(a_message_to_an_unknown_node_is_ignored);
	RUN(nodes_tell_each_other_their_clocks_and_where_clients_reach_them);
	RUN(entries_arrive_in_order_with_their_terms);
	RUN(messages_of_entries_that_follow_each_other_become_one);
	RUN(a_hundred_megabytes_of_entries_cost_little_memory);
	RUN(an_entry_of_a_mebibyte_travels_in_one_frame_and_a_larger_one_in_pieces);
	RUN(heartbeats_pass_a_large_entry);
	RUN(a_heartbeat_that_passes_has_the_entry_before_the_large_one_as_previous);
	RUN(a_heartbeat_arrives_alone_if_no_entries_wait);
	RUN(a_commit_index_is_never_above_the_previous_entry_of_a_heartbeat);
	RUN(entries_that_are_gone_are_not_sent);
	RUN(entries_of_a_term_in_which_the_node_led_are_not_sent_later);
	RUN(a_large_entry_that_is_gone_half_way_is_not_handed_over);
	RUN(entries_that_are_being_read_leave_when_they_are_there);
	RUN(entries_that_the_core_repeats_are_sent_once);
	RUN(a_node_that_does_not_read_costs_a_bounded_amount_of_memory);
	RUN(a_node_without_a_sign_of_life_is_given_up_and_called_again);
	RUN(a_sender_without_a_sign_of_life_is_given_up);
	RUN(idle_nodes_keep_their_connections);
	RUN(a_node_that_does_not_answer_hello_is_called_again);
	RUN(a_node_that_hangs_up_after_hello_is_called_less_and_less_often);
	RUN(nodes_find_each_other_again_after_a_restart);
	RUN(a_new_connection_begins_without_old_entries);
	RUN(a_member_that_leaves_is_disconnected);
	RUN(a_member_with_another_address_is_called_there);
	RUN(an_unknown_node_that_is_admitted_gets_answers);
	RUN(a_node_without_a_group_joins_the_one_that_calls_it);
	RUN(a_node_without_a_group_that_does_not_join_refuses);
	RUN(an_address_that_is_none_is_an_error_of_the_member);
	return UNIT_RESULT();
}
