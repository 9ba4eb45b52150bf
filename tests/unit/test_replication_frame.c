/*
 * Frames between nodes: each type there and back, however its bytes arrive, and what a receiver
 * refuses.
 */
#include "replication/frame.h"
#include "unit.h"
#include "util/mem.h"
#include "util/wire.h"

#include <xxhash.h>

static struct buf out;

void setUp(void)
{
	buf_init(&out, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&out);
}

/* Puts a right checksum in a frame that was tampered with. */
static void seal(char *bytes, size_t len)
{
	size_t body = len - FRAME_HEADER_BYTES;

	wire_put_u32((unsigned char *)bytes, (uint32_t)body);
	wire_put_u32((unsigned char *)bytes + 4,
		     (uint32_t)XXH3_64bits_withSeed(bytes + 8, len - 8, body));
}

static enum frame_status decode(const char *bytes, size_t len, struct frame *frame, size_t *size,
				const char **error)
{
	/* A copy of exactly these bytes, so that a sanitizer sees a read after them. */
	char *copy = mem_alloc(len + 1);
	enum frame_status status;

	memcpy(copy, bytes, len);
	*error = NULL;
	*size = 0;
	status = frame_decode(copy, len, FRAME_MAX, frame, size, error);
	free(copy);
	return status;
}

/* Decodes the only frame in `out`. The slices of the frame are valid as long as `out` is. */
static struct frame decode_only(void)
{
	const char *error = "";
	struct frame frame;
	size_t size;

	TEST_ASSERT_EQUAL_INT(FRAME_READY, frame_decode(buf_data(&out), out.len, FRAME_MAX, &frame,
							&size, &error));
	TEST_ASSERT_EQUAL_size_t(out.len, size);
	return frame;
}

static void assert_refused(const char *bytes, size_t len, const char *expected)
{
	const char *error;
	struct frame frame;
	size_t size;

	TEST_ASSERT_EQUAL_INT(FRAME_INVALID, decode(bytes, len, &frame, &size, &error));
	TEST_ASSERT_EQUAL_STRING(expected, error);
}

/* Makes a body longer or shorter, or changes a byte of it, and expects a refusal. */
static void assert_refused_with(size_t at, const void *bytes, size_t len, const char *expected)
{
	char *copy = mem_alloc(out.len + len + 1);

	memcpy(copy, buf_data(&out), out.len);
	memcpy(copy + FRAME_HEADER_BYTES + at, bytes, len);
	seal(copy, out.len);
	assert_refused(copy, out.len, expected);
	free(copy);
}

static void append_entry(struct buf *to, uint64_t term, uint8_t kind, const char *payload)
{
	struct frame_entry entry = { .term = term, .kind = kind, .payload = str_from(payload) };

	frame_put_entry(to, &entry);
}

/*
 * One frame of each type
 */

static struct frame make_hello(void)
{
	struct frame f = {
		.type = FRAME_HELLO,
		.hello = { .version_min = 1,
			   .version_max = 7,
			   .group = "0123456789abcde",
			   .from = 3,
			   .to = INT64_MAX,
			   .purpose = FRAME_FOR_BASE,
			   .address = STR_INIT("queue-3.example:7538"),
			   .announce = STR_INIT("queue-3.example:7537") },
	};

	return f;
}

static struct frame make_message(enum core_message_kind kind)
{
	return (struct frame){ .type = FRAME_MESSAGE, .term = 9, .message = { .kind = kind } };
}

static const struct frame_base base = { .index = 70, .term = 8, .size = 5000, .salt = 0xabcdef };

static struct core_base make_offer(void)
{
	struct core_base offer = { .index = 70, .term = 8, .members_index = 12 };

	members_set(&offer.members, 1, "10.0.0.1:7538", true);
	members_set(&offer.members, 2, "[fd00::2]:7538", false);
	return offer;
}

#define KINDS 16

/* Encodes a frame of the kind `i`, so that tests can go through all of them. */
static void encode_kind(struct buf *to, int i)
{
	struct core_base offer = make_offer();
	struct buf entries = BUF_INIT(BUF_NO_MAX);
	struct frame f = { .type = FRAME_ALIVE, .wall_us = 1800000000123456 };

	switch (i) {
	case 0:
		f = make_hello();
		break;
	case 1:
		f = (struct frame){ .type = FRAME_REFUSED, .refusal = FRAME_REFUSED_NODE };
		break;
	case 2:
		break;
	case 3:
		f = make_message(CORE_VOTE);
		f.message.vote.last_index = 1000;
		f.message.vote.last_term = 4;
		f.message.vote.is_forced = true;
		break;
	case 4:
		f = make_message(CORE_VOTE_RESULT);
		f.message.vote_result.is_granted = true;
		break;
	case 5:
		f = make_message(CORE_ENTRIES);
		f.message.entries.previous_index = 41;
		f.message.entries.previous_term = 7;
		f.message.entries.commit = 43;
		f.message.entries.count = 3;
		append_entry(&entries, 8, 7, "first");
		append_entry(&entries, 8, 10, "");
		append_entry(&entries, UINT64_C(1) << 40, 255, "third");
		f.entries = buf_str(&entries);
		break;
	case 6:
		f = make_message(CORE_ENTRIES);
		break;
	case 7:
		f = make_message(CORE_ENTRIES_RESULT);
		f.message.entries_result.rejected = 5;
		f.message.entries_result.last_index = 6;
		break;
	case 8:
		f = make_message(CORE_BASE_OFFER);
		f.message.offer = &offer;
		f.base = base;
		break;
	case 9:
		f = make_message(CORE_TIMEOUT_NOW);
		f.message.timeout_now.last_index = 44;
		f.message.timeout_now.last_term = 8;
		break;
	case 10:
		f = (struct frame){ .type = FRAME_PIECE,
				    .term = 9,
				    .piece = { .previous_index = 50,
					       .previous_term = 8,
					       .commit = 50,
					       .entry_term = 9,
					       .entry_kind = 7,
					       .size = 3000000,
					       .offset = 2999993,
					       .bytes = STR_INIT("the end") } };
		break;
	case 11:
		f = (struct frame){ .type = FRAME_PROBE, .term = 9, .probe = 77 };
		break;
	case 12:
		f = (struct frame){ .type = FRAME_PROBE_RESULT, .term = 10, .probe = 77 };
		break;
	case 13:
		f = (struct frame){
			.type = FRAME_BASE_ASK, .base = base, .offset = 4000, .length = 1000
		};
		break;
	case 14:
		f = (struct frame){ .type = FRAME_BASE_PIECE,
				    .base = base,
				    .offset = 4993,
				    .bytes = STR_INIT("the end") };
		break;
	case 15:
		f = (struct frame){ .type = FRAME_BASE_GONE, .base = base };
		break;
	default:
		TEST_FAIL();
	}
	frame_encode(to, &f);
	buf_done(&entries);
}

static void hello_arrives_with_all_fields(void)
{
	struct frame f;

	encode_kind(&out, 0);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, f.type);
	TEST_ASSERT_EQUAL_UINT32(1, f.hello.version_min);
	TEST_ASSERT_EQUAL_UINT32(7, f.hello.version_max);
	TEST_ASSERT_EQUAL_MEMORY("0123456789abcde", f.hello.group, FRAME_GROUP_BYTES);
	TEST_ASSERT_EQUAL_UINT64(3, f.hello.from);
	TEST_ASSERT_EQUAL_UINT64(INT64_MAX, f.hello.to);
	TEST_ASSERT_EQUAL_INT(FRAME_FOR_BASE, f.hello.purpose);
	ASSERT_STR("queue-3.example:7538", f.hello.address);
	ASSERT_STR("queue-3.example:7537", f.hello.announce);
	TEST_ASSERT_EQUAL_UINT64(0, f.term);
}

static void a_refusal_arrives_with_its_reason(void)
{
	struct frame f;

	encode_kind(&out, 1);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_REFUSED, f.type);
	TEST_ASSERT_EQUAL_INT(FRAME_REFUSED_NODE, f.refusal);
}

static void a_sign_of_life_arrives_with_the_clock(void)
{
	struct frame f;

	encode_kind(&out, 2);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_ALIVE, f.type);
	TEST_ASSERT_EQUAL_INT64(1800000000123456, f.wall_us);
}

static void a_request_for_a_vote_arrives_with_all_fields(void)
{
	struct frame f;

	encode_kind(&out, 3);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_MESSAGE, f.type);
	TEST_ASSERT_EQUAL_INT(CORE_VOTE, f.message.kind);
	TEST_ASSERT_EQUAL_UINT64(9, f.message.term);
	TEST_ASSERT_EQUAL_UINT64(1000, f.message.vote.last_index);
	TEST_ASSERT_EQUAL_UINT64(4, f.message.vote.last_term);
	TEST_ASSERT_TRUE(f.message.vote.is_forced);
	TEST_ASSERT_FALSE(f.message.vote.is_trial);
}

static void each_flag_of_a_vote_arrives_alone(void)
{
	for (unsigned flags = 0; flags < 4; flags++) {
		struct frame f = make_message(CORE_VOTE);

		f.message.vote.is_trial = (flags & 1) != 0;
		f.message.vote.is_forced = (flags & 2) != 0;
		buf_clear(&out);
		frame_encode(&out, &f);
		f = decode_only();
		TEST_ASSERT_EQUAL_INT((flags & 1) != 0, f.message.vote.is_trial);
		TEST_ASSERT_EQUAL_INT((flags & 2) != 0, f.message.vote.is_forced);

		f = make_message(CORE_VOTE_RESULT);
		f.message.vote_result.is_trial = (flags & 1) != 0;
		f.message.vote_result.is_granted = (flags & 2) != 0;
		buf_clear(&out);
		frame_encode(&out, &f);
		f = decode_only();
		TEST_ASSERT_EQUAL_INT((flags & 1) != 0, f.message.vote_result.is_trial);
		TEST_ASSERT_EQUAL_INT((flags & 2) != 0, f.message.vote_result.is_granted);
	}
}

static void entries_arrive_in_order(void)
{
	struct frame_entry entry;
	struct frame f;

	encode_kind(&out, 5);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(CORE_ENTRIES, f.message.kind);
	TEST_ASSERT_EQUAL_UINT64(9, f.message.term);
	TEST_ASSERT_EQUAL_UINT64(41, f.message.entries.previous_index);
	TEST_ASSERT_EQUAL_UINT64(7, f.message.entries.previous_term);
	TEST_ASSERT_EQUAL_UINT64(43, f.message.entries.commit);
	TEST_ASSERT_EQUAL_UINT32(3, f.message.entries.count);
	TEST_ASSERT_NULL(f.message.entries.heads);

	TEST_ASSERT_TRUE(frame_take_entry(&f.entries, &entry));
	TEST_ASSERT_EQUAL_UINT64(8, entry.term);
	TEST_ASSERT_EQUAL_UINT8(7, entry.kind);
	ASSERT_STR("first", entry.payload);
	TEST_ASSERT_TRUE(frame_take_entry(&f.entries, &entry));
	TEST_ASSERT_EQUAL_UINT8(10, entry.kind);
	ASSERT_STR("", entry.payload);
	TEST_ASSERT_TRUE(frame_take_entry(&f.entries, &entry));
	TEST_ASSERT_EQUAL_UINT64(UINT64_C(1) << 40, entry.term);
	TEST_ASSERT_EQUAL_UINT8(255, entry.kind);
	ASSERT_STR("third", entry.payload);
	TEST_ASSERT_FALSE(frame_take_entry(&f.entries, &entry));
}

static void entries_written_in_place_are_the_same_frame(void)
{
	struct core_message message = {
		.kind = CORE_ENTRIES,
		.term = 9,
		.entries = { .previous_index = 41, .previous_term = 7, .commit = 43, .count = 3 },
	};
	struct buf in_place = BUF_INIT(BUF_NO_MAX);
	size_t at;

	encode_kind(&out, 5);
	buf_append_str(&in_place, STR("another frame"));
	at = frame_begin_entries(&in_place);
	append_entry(&in_place, 8, 7, "first");
	append_entry(&in_place, 8, 10, "");
	append_entry(&in_place, UINT64_C(1) << 40, 255, "third");
	frame_end_entries(&in_place, at, &message);
	TEST_ASSERT_EQUAL_size_t(13, at);
	TEST_ASSERT_EQUAL_size_t(out.len, in_place.len - at);
	TEST_ASSERT_EQUAL_MEMORY(buf_data(&out), buf_data(&in_place) + at, out.len);
	buf_done(&in_place);
}

static void pieces_written_in_place_are_the_same_frames(void)
{
	struct buf in_place = BUF_INIT(BUF_NO_MAX);
	struct frame f;
	size_t at;

	encode_kind(&out, 10);
	f = decode_only();
	at = frame_begin_piece(&in_place);
	buf_append_str(&in_place, STR("the end"));
	TEST_ASSERT_EQUAL_size_t(7, frame_piece_written(&in_place, at));
	frame_end_piece(&in_place, at, f.term, &f.piece);
	TEST_ASSERT_TRUE(str_equal(buf_str(&out), buf_str(&in_place)));

	buf_clear(&out);
	buf_clear(&in_place);
	encode_kind(&out, 14);
	at = frame_begin_base_piece(&in_place);
	buf_append_str(&in_place, STR("the end"));
	TEST_ASSERT_EQUAL_size_t(7, frame_base_piece_written(&in_place, at));
	frame_end_base_piece(&in_place, at, &base, 4993);
	TEST_ASSERT_TRUE(str_equal(buf_str(&out), buf_str(&in_place)));
	buf_done(&in_place);
}

static void a_result_arrives_with_all_fields(void)
{
	struct frame f;

	encode_kind(&out, 7);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(CORE_ENTRIES_RESULT, f.message.kind);
	TEST_ASSERT_EQUAL_UINT64(5, f.message.entries_result.rejected);
	TEST_ASSERT_EQUAL_UINT64(6, f.message.entries_result.last_index);
}

static void an_offer_arrives_with_its_members_and_file(void)
{
	struct core_base offer = make_offer();
	struct frame f;

	encode_kind(&out, 8);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(CORE_BASE_OFFER, f.message.kind);
	TEST_ASSERT_EQUAL_UINT64(70, f.offer.index);
	TEST_ASSERT_EQUAL_UINT64(8, f.offer.term);
	TEST_ASSERT_EQUAL_UINT64(12, f.offer.members_index);
	TEST_ASSERT_TRUE(members_equal(&offer.members, &f.offer.members));
	TEST_ASSERT_EQUAL_UINT64(5000, f.base.size);
	TEST_ASSERT_EQUAL_UINT64(0xabcdef, f.base.salt);
}

static void a_hand_over_arrives_with_all_fields(void)
{
	struct frame f;

	encode_kind(&out, 9);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(CORE_TIMEOUT_NOW, f.message.kind);
	TEST_ASSERT_EQUAL_UINT64(44, f.message.timeout_now.last_index);
	TEST_ASSERT_EQUAL_UINT64(8, f.message.timeout_now.last_term);
}

static void a_piece_of_an_entry_arrives_with_all_fields(void)
{
	struct frame f;

	encode_kind(&out, 10);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_PIECE, f.type);
	TEST_ASSERT_EQUAL_UINT64(9, f.term);
	TEST_ASSERT_EQUAL_UINT64(50, f.piece.previous_index);
	TEST_ASSERT_EQUAL_UINT64(8, f.piece.previous_term);
	TEST_ASSERT_EQUAL_UINT64(50, f.piece.commit);
	TEST_ASSERT_EQUAL_UINT64(9, f.piece.entry_term);
	TEST_ASSERT_EQUAL_UINT8(7, f.piece.entry_kind);
	TEST_ASSERT_EQUAL_UINT32(3000000, f.piece.size);
	TEST_ASSERT_EQUAL_UINT32(2999993, f.piece.offset);
	ASSERT_STR("the end", f.piece.bytes);
}

static void probes_arrive_with_number_and_term(void)
{
	struct frame f;

	encode_kind(&out, 11);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_PROBE, f.type);
	TEST_ASSERT_EQUAL_UINT64(9, f.term);
	TEST_ASSERT_EQUAL_UINT64(77, f.probe);
	buf_clear(&out);
	encode_kind(&out, 12);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_PROBE_RESULT, f.type);
	TEST_ASSERT_EQUAL_UINT64(10, f.term);
}

static void pieces_of_a_snapshot_arrive_with_all_fields(void)
{
	struct frame f;

	encode_kind(&out, 13);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_BASE_ASK, f.type);
	TEST_ASSERT_EQUAL_MEMORY(&base, &f.base, sizeof base);
	TEST_ASSERT_EQUAL_UINT64(4000, f.offset);
	TEST_ASSERT_EQUAL_UINT32(1000, f.length);
	buf_clear(&out);
	encode_kind(&out, 14);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_BASE_PIECE, f.type);
	TEST_ASSERT_EQUAL_MEMORY(&base, &f.base, sizeof base);
	TEST_ASSERT_EQUAL_UINT64(4993, f.offset);
	ASSERT_STR("the end", f.bytes);
	buf_clear(&out);
	encode_kind(&out, 15);
	f = decode_only();
	TEST_ASSERT_EQUAL_INT(FRAME_BASE_GONE, f.type);
	TEST_ASSERT_EQUAL_MEMORY(&base, &f.base, sizeof base);
}

/*
 * Bytes that arrive in pieces, and wrong ones
 */

static void each_frame_is_complete_with_its_last_byte_and_not_before(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		struct frame frame;
		const char *error;
		size_t size;

		buf_clear(&out);
		encode_kind(&out, kind);
		for (size_t len = 0; len < out.len; len++) {
			TEST_ASSERT_EQUAL_INT(FRAME_NEED_MORE,
					      decode(buf_data(&out), len, &frame, &size, &error));
			TEST_ASSERT_EQUAL_size_t(
				len < FRAME_HEADER_BYTES ? FRAME_HEADER_BYTES : out.len, size);
		}
		TEST_ASSERT_EQUAL_INT(FRAME_READY,
				      decode(buf_data(&out), out.len, &frame, &size, &error));
		TEST_ASSERT_EQUAL_size_t(out.len, size);
	}
}

static void frames_follow_each_other_in_a_stream(void)
{
	size_t at = 0;
	int count = 0;

	for (int kind = 0; kind < KINDS; kind++)
		encode_kind(&out, kind);
	while (at < out.len) {
		const char *error = "";
		struct frame frame;
		size_t size;

		TEST_ASSERT_EQUAL_INT(FRAME_READY, frame_decode(buf_data(&out) + at, out.len - at,
								FRAME_MAX, &frame, &size, &error));
		at += size;
		count++;
	}
	TEST_ASSERT_EQUAL_INT(KINDS, count);
}

static void a_frame_with_any_bit_flipped_is_never_taken_for_another(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		buf_clear(&out);
		encode_kind(&out, kind);
		for (size_t bit = 0; bit < out.len * 8; bit++) {
			struct frame frame;
			const char *error;
			size_t size;

			buf_data(&out)[bit / 8] ^= (char)(1 << bit % 8);
			/* A wrong length may ask for more bytes than there are. */
			TEST_ASSERT_NOT_EQUAL_INT(FRAME_READY, decode(buf_data(&out), out.len,
								      &frame, &size, &error));
			if (bit >= 32)
				TEST_ASSERT_EQUAL_INT(FRAME_INVALID, decode(buf_data(&out), out.len,
									    &frame, &size, &error));
			buf_data(&out)[bit / 8] ^= (char)(1 << bit % 8);
		}
	}
}

/* Bodies that are too short or too long in frames with a right checksum. */
static void a_body_without_its_end_is_refused(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		struct frame frame;
		const char *error;
		size_t size;

		/* The address of HELLO, the entries, the members and the bytes of pieces go to the
		 * end of the frame, so a shorter body may be one of another frame. */
		size_t fixed = kind == 0 ? 51 + 20 : kind == 10 ? 42 : kind == 14 ? 41 : SIZE_MAX;

		buf_clear(&out);
		encode_kind(&out, kind);
		for (size_t len = FRAME_HEADER_BYTES; len < out.len; len++) {
			char *copy = mem_dup(buf_data(&out), len);

			seal(copy, len);
			if (len - FRAME_HEADER_BYTES < fixed)
				TEST_ASSERT_EQUAL_INT(FRAME_INVALID,
						      decode(copy, len, &frame, &size, &error));
			else
				TEST_ASSERT_EQUAL_INT(FRAME_READY,
						      decode(copy, len, &frame, &size, &error));
			free(copy);
		}
	}
}

static void a_body_with_more_than_its_fields_is_refused(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		struct frame frame;
		const char *error;
		size_t size;

		/* Another byte of the address, and of a piece that is not the last one. */
		if (kind == 0)
			continue;
		buf_clear(&out);
		encode_kind(&out, kind);
		buf_append_char(&out, '\0');
		seal(buf_data(&out), out.len);
		TEST_ASSERT_EQUAL_INT(FRAME_INVALID,
				      decode(buf_data(&out), out.len, &frame, &size, &error));
		TEST_ASSERT_NOT_NULL(error);
	}
}

/*
 * Limits
 */

/* The header of a frame with any length, which nothing has to follow. */
static void assert_header(unsigned type, size_t body, size_t max, bool is_accepted)
{
	unsigned char header[FRAME_HEADER_BYTES] = { 0 };
	const char *error = NULL;
	struct frame frame;
	size_t size = 0;

	wire_put_u32(header, (uint32_t)body);
	header[8] = (unsigned char)type;
	if (is_accepted) {
		TEST_ASSERT_EQUAL_INT(FRAME_NEED_MORE,
				      frame_decode((const char *)header, sizeof header, max, &frame,
						   &size, &error));
		TEST_ASSERT_EQUAL_size_t(FRAME_HEADER_BYTES + body, size);
	} else {
		TEST_ASSERT_EQUAL_INT(FRAME_INVALID,
				      frame_decode((const char *)header, sizeof header, max, &frame,
						   &size, &error));
		TEST_ASSERT_EQUAL_STRING("a frame is too long", error);
	}
}

static void a_length_above_the_limit_of_its_type_is_refused_with_the_header(void)
{
	static const struct {
		unsigned type;
		size_t longest;
	} rows[] = {
		{ FRAME_HELLO, FRAME_HELLO_MAX - FRAME_HEADER_BYTES },
		{ FRAME_REFUSED, 64 },
		{ FRAME_ALIVE, 64 },
		{ FRAME_MESSAGE, 29 + FRAME_ENTRIES_BYTES },
		{ FRAME_PIECE, 41 + FRAME_PIECE_BYTES },
		{ FRAME_PROBE, 64 },
		{ FRAME_PROBE_RESULT, 64 },
		{ FRAME_BASE_ASK, 64 },
		{ FRAME_BASE_PIECE, 40 + FRAME_BASE_PIECE_BYTES },
		{ FRAME_BASE_GONE, 64 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_header(rows[i].type, rows[i].longest, FRAME_MAX, true);
		assert_header(rows[i].type, rows[i].longest + 1, FRAME_MAX, false);
		assert_header(rows[i].type, UINT32_MAX, FRAME_MAX, false);
	}
}

static void a_stranger_may_not_announce_more_than_a_hello(void)
{
	assert_header(FRAME_HELLO, FRAME_HELLO_MAX - FRAME_HEADER_BYTES, FRAME_HELLO_MAX, true);
	assert_header(FRAME_MESSAGE, FRAME_HELLO_MAX - FRAME_HEADER_BYTES, FRAME_HELLO_MAX, true);
	assert_header(FRAME_MESSAGE, FRAME_HELLO_MAX - FRAME_HEADER_BYTES + 1, FRAME_HELLO_MAX,
		      false);
}

static void an_unknown_type_is_refused_with_the_header(void)
{
	unsigned char header[FRAME_HEADER_BYTES] = { 0 };

	for (unsigned type = 0; type < 256; type++) {
		if (type >= FRAME_HELLO && type <= FRAME_BASE_GONE)
			continue;
		header[8] = (unsigned char)type;
		assert_refused((const char *)header, sizeof header, "a frame has an unknown type");
	}
}

static void a_term_out_of_range_is_refused(void)
{
	struct frame f = { .type = FRAME_PROBE, .term = FRAME_INDEX_MAX };

	frame_encode(&out, &f);
	decode_only();
	buf_clear(&out);
	f.term++;
	frame_encode(&out, &f);
	assert_refused(buf_data(&out), out.len, "a frame has a term that is out of range");
}

static void a_hello_of_another_protocol_is_refused(void)
{
	encode_kind(&out, 0);
	assert_refused_with(7, "X", 1, "the peer is not a node of a group");
}

static void a_hello_with_bad_fields_is_refused(void)
{
	static const char zero[8] = "", negative[8] = { 0, 0, 0, 0, 0, 0, 0, (char)0x80 };

	encode_kind(&out, 0);
	assert_refused_with(32, zero, 8, "HELLO has a node id that is out of range");
	assert_refused_with(32, negative, 8, "HELLO has a node id that is out of range");
	assert_refused_with(40, zero, 8, "HELLO has a node id that is out of range");
	assert_refused_with(40, negative, 8, "HELLO has a node id that is out of range");
	assert_refused_with(48, "\0", 1, "HELLO has an unknown purpose");
	assert_refused_with(48, "\3", 1, "HELLO has an unknown purpose");
}

static void an_address_may_have_as_many_bytes_as_that_of_a_member(void)
{
	char address[MEMBERS_ADDRESS_SIZE];
	struct frame f = make_hello();

	memset(address, 'h', sizeof address);
	f.hello.address = str_make(address, MEMBERS_ADDRESS_SIZE - 1);
	f.hello.announce = f.hello.address;
	frame_encode(&out, &f);
	f = decode_only();
	TEST_ASSERT_EQUAL_size_t(MEMBERS_ADDRESS_SIZE - 1, f.hello.address.len);
	TEST_ASSERT_EQUAL_size_t(MEMBERS_ADDRESS_SIZE - 1, f.hello.announce.len);
	/* The length is 263: one more, and then one less. */
	assert_refused_with(49, "\x08", 1, "HELLO has an address that is too long");
	assert_refused_with(49, "\x06", 1, "HELLO has an address that is too long");
	assert_refused_with(50, "\xff", 1, "HELLO has an address that is too long");
}

static void unknown_kinds_and_flags_of_messages_are_refused(void)
{
	encode_kind(&out, 3);
	assert_refused_with(0, "\0", 1, "a message has an unknown kind");
	assert_refused_with(0, "\7", 1, "a message has an unknown kind");
	assert_refused_with(17, "\4", 1, "a message has unknown flags");
	buf_clear(&out);
	encode_kind(&out, 4);
	assert_refused_with(1, "\4", 1, "a message has unknown flags");
}

/* A message with `count` empty entries. */
static void encode_empty_entries(uint32_t count)
{
	struct core_message message = {
		.kind = CORE_ENTRIES,
		.entries = { .count = count },
	};
	size_t at;

	buf_clear(&out);
	at = frame_begin_entries(&out);
	for (uint32_t i = 0; i < count; i++)
		append_entry(&out, 1, 7, "");
	frame_end_entries(&out, at, &message);
}

static void a_message_may_have_4096_entries(void)
{
	static const unsigned char more[4] = { 1, 16, 0, 0 };

	encode_empty_entries(FRAME_ENTRIES_COUNT);
	TEST_ASSERT_EQUAL_UINT32(FRAME_ENTRIES_COUNT, decode_only().message.entries.count);
	append_entry(&out, 1, 7, "");
	assert_refused_with(25, more, 4, "a message has too many entries");
}

static void a_message_may_have_a_mebibyte_of_entries(void)
{
	size_t payload = FRAME_ENTRIES_BYTES - 5;
	struct core_message message = { .kind = CORE_ENTRIES, .entries = { .count = 1 } };
	char *bytes = mem_zalloc(payload + 1);
	size_t at = frame_begin_entries(&out);

	frame_put_entry_header(&out, 1, 7, payload);
	TEST_ASSERT_EQUAL_size_t(FRAME_ENTRIES_BYTES, frame_entry_size(1, payload));
	buf_append(&out, bytes, payload);
	frame_end_entries(&out, at, &message);
	TEST_ASSERT_EQUAL_size_t(FRAME_ENTRIES_BYTES, decode_only().entries.len);
	buf_append_char(&out, 'x');
	seal(buf_data(&out), out.len);
	assert_refused(buf_data(&out), out.len, "a frame is too long");
	free(bytes);
}

static void a_count_that_is_not_that_of_the_entries_is_refused(void)
{
	encode_kind(&out, 5);
	assert_refused_with(25, "\2", 1, "a message has invalid entries");
	assert_refused_with(25, "\4", 1, "a message has invalid entries");
	assert_refused_with(25, "\0", 1, "a message has invalid entries");
}

static void an_entry_that_is_longer_than_its_message_is_refused(void)
{
	encode_kind(&out, 5);
	/* The length of the first entry, and then of the last one. */
	assert_refused_with(29 + 2, "\xff", 1, "a message has invalid entries");
	assert_refused_with(29 + 8 + 3 + 7, "\6", 1, "a message has invalid entries");
	assert_refused_with(29 + 8 + 3 + 7, "\4", 1, "a message has invalid entries");
}

static void indices_out_of_range_are_refused(void)
{
	unsigned char index[8];

	encode_kind(&out, 5);
	wire_put_u64(index, FRAME_INDEX_MAX - 3);
	memcpy(buf_data(&out) + FRAME_HEADER_BYTES + 1, index, 8);
	seal(buf_data(&out), out.len);
	decode_only();
	wire_put_u64(index, FRAME_INDEX_MAX - 2);
	assert_refused_with(1, index, 8, "a message has an index that is out of range");

	buf_clear(&out);
	encode_kind(&out, 10);
	wire_put_u64(index, FRAME_INDEX_MAX);
	assert_refused_with(0, index, 8, "a piece of an entry has an index that is out of range");

	buf_clear(&out);
	encode_kind(&out, 8);
	wire_put_u64(index, FRAME_INDEX_MAX + 1);
	assert_refused_with(1, index, 8,
			    "an offer of a snapshot has an index that is out of range");
}

static void pieces_outside_of_their_entry_are_refused(void)
{
	unsigned char number[4];

	encode_kind(&out, 10);
	wire_put_u32(number, 2999994);
	assert_refused_with(37, number, 4, "a piece is not inside of its entry");
	wire_put_u32(number, UINT32_MAX);
	assert_refused_with(37, number, 4, "a piece is not inside of its entry");
	wire_put_u32(number, 2999999);
	assert_refused_with(33, number, 4, "a piece is not inside of its entry");
	wire_put_u32(number, UINT32_C(0x80000000));
	assert_refused_with(33, number, 4, "a piece belongs to an entry that is too large");
	wire_put_u32(number, UINT32_C(0x7fffffff));
	memcpy(buf_data(&out) + FRAME_HEADER_BYTES + 33, number, 4);
	seal(buf_data(&out), out.len);
	decode_only();
}

static void pieces_outside_of_their_snapshot_are_refused(void)
{
	unsigned char number[8];

	encode_kind(&out, 13);
	wire_put_u32(number, 1001);
	assert_refused_with(40, number, 4, "a piece is not inside of its snapshot");
	wire_put_u32(number, 0);
	assert_refused_with(40, number, 4, "a piece is not inside of its snapshot");
	wire_put_u64(number, UINT64_MAX);
	assert_refused_with(32, number, 8, "a piece is not inside of its snapshot");
	buf_clear(&out);
	encode_kind(&out, 14);
	wire_put_u64(number, 4994);
	assert_refused_with(32, number, 8, "a piece is not inside of its snapshot");
	wire_put_u64(number, 5000);
	assert_refused_with(32, number, 8, "a piece is not inside of its snapshot");
}

static void a_request_for_more_than_a_piece_of_a_snapshot_is_refused(void)
{
	struct frame f = { .type = FRAME_BASE_ASK,
			   .base = { .index = 1, .term = 1, .size = UINT64_C(1) << 40 },
			   .length = (uint32_t)FRAME_BASE_PIECE_BYTES };

	frame_encode(&out, &f);
	decode_only();
	buf_clear(&out);
	f.length++;
	frame_encode(&out, &f);
	assert_refused(buf_data(&out), out.len, "a piece is not inside of its snapshot");
}

static void an_offer_with_bad_members_is_refused(void)
{
	encode_kind(&out, 8);
	assert_refused_with(41, "\xff", 1, "an offer of a snapshot has invalid members");
	/* The members are younger than the snapshot. */
	assert_refused_with(33, "\x47", 1,
			    "an offer of a snapshot has an index that is out of range");
}

/*
 * Entries
 */

static void the_size_of_an_entry_is_known_before_it_is_written(void)
{
	static const size_t lengths[] = { 0, 1, 127, 128, 16383, 16384, 100000 };
	char *bytes = mem_zalloc(100000);

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		for (unsigned bits = 0; bits < 63; bits += 7) {
			struct frame_entry entry = { .term = UINT64_C(1) << bits,
						     .payload = str_make(bytes, lengths[i]) };

			buf_clear(&out);
			frame_put_entry(&out, &entry);
			TEST_ASSERT_EQUAL_size_t(frame_entry_size(entry.term, lengths[i]), out.len);
			TEST_ASSERT_LESS_OR_EQUAL_size_t(FRAME_ENTRY_HEADER_MAX + lengths[i],
							 out.len);
		}
	}
	free(bytes);
}

static void an_entry_that_is_cut_off_is_not_taken(void)
{
	append_entry(&out, 300, 7, "payload");
	for (size_t len = 0; len < out.len; len++) {
		char *copy = mem_dup(buf_data(&out), len);
		struct qless_str entries = str_make(copy, len);
		struct frame_entry entry;

		TEST_ASSERT_FALSE(frame_take_entry(&entries, &entry));
		TEST_ASSERT_EQUAL_size_t(len, entries.len);
		free(copy);
	}
}

static void each_reason_for_a_refusal_has_a_text_of_its_own(void)
{
	for (int a = FRAME_REFUSED_GROUP; a <= FRAME_REFUSED_CERTIFICATE + 1; a++) {
		for (int b = FRAME_REFUSED_GROUP; b < a; b++)
			TEST_ASSERT_NOT_EQUAL_INT(
				0, strcmp(frame_refusal_text((enum frame_refusal)a),
					  frame_refusal_text((enum frame_refusal)b)));
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(hello_arrives_with_all_fields);
	RUN(a_refusal_arrives_with_its_reason);
	RUN(a_sign_of_life_arrives_with_the_clock);
	RUN(a_request_for_a_vote_arrives_with_all_fields);
	RUN(each_flag_of_a_vote_arrives_alone);
	RUN(entries_arrive_in_order);
	RUN(entries_written_in_place_are_the_same_frame);
	RUN(pieces_written_in_place_are_the_same_frames);
	RUN(a_result_arrives_with_all_fields);
	RUN(an_offer_arrives_with_its_members_and_file);
	RUN(a_hand_over_arrives_with_all_fields);
	RUN(a_piece_of_an_entry_arrives_with_all_fields);
	RUN(probes_arrive_with_number_and_term);
	RUN(pieces_of_a_snapshot_arrive_with_all_fields);
	RUN(each_frame_is_complete_with_its_last_byte_and_not_before);
	RUN(frames_follow_each_other_in_a_stream);
	RUN(a_frame_with_any_bit_flipped_is_never_taken_for_another);
	RUN(a_body_without_its_end_is_refused);
	RUN(a_body_with_more_than_its_fields_is_refused);
	RUN(a_length_above_the_limit_of_its_type_is_refused_with_the_header);
	RUN(a_stranger_may_not_announce_more_than_a_hello);
	RUN(an_unknown_type_is_refused_with_the_header);
	RUN(a_term_out_of_range_is_refused);
	RUN(a_hello_of_another_protocol_is_refused);
	RUN(a_hello_with_bad_fields_is_refused);
	RUN(an_address_may_have_as_many_bytes_as_that_of_a_member);
	RUN(unknown_kinds_and_flags_of_messages_are_refused);
	RUN(a_message_may_have_4096_entries);
	RUN(a_message_may_have_a_mebibyte_of_entries);
	RUN(a_count_that_is_not_that_of_the_entries_is_refused);
	RUN(an_entry_that_is_longer_than_its_message_is_refused);
	RUN(indices_out_of_range_are_refused);
	RUN(pieces_outside_of_their_entry_are_refused);
	RUN(pieces_outside_of_their_snapshot_are_refused);
	RUN(a_request_for_more_than_a_piece_of_a_snapshot_is_refused);
	RUN(an_offer_with_bad_members_is_refused);
	RUN(the_size_of_an_entry_is_known_before_it_is_written);
	RUN(an_entry_that_is_cut_off_is_not_taken);
	RUN(each_reason_for_a_refusal_has_a_text_of_its_own);
	return UNIT_RESULT();
}
