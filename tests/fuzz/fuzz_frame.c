/*
 * Any bytes for the decoder of frames between nodes. It must not read past the end, must find the
 * same frames however the bytes are cut, and must keep the limits. A frame that is decoded is
 * encoded again, which must give the same bytes.
 *
 * The first byte of an input chooses the limit and how the rest is cut. A frame of the input has no
 * checksum, because the fuzzer would never find one: its first four bytes are the length of the
 * body, and the type and the term follow them. The target makes a real frame of it.
 */
#include <assert.h>
#include <stdint.h>
#include <xxhash.h>

#include "replication/frame.h"
#include "util/mem.h"
#include "util/wire.h"

/* Bytes of a header without its checksum. */
#define SHORT_HEADER (FRAME_HEADER_BYTES - 4)

/* Put checksums into the stream, as far as its frames are complete. */
static void add_checksums(struct qless_str stream, struct buf *out)
{
	while (stream.len != 0) {
		const unsigned char *from = (const unsigned char *)stream.ptr;
		size_t body = stream.len < 4 ? 0 : wire_get_u32(from), len = stream.len;
		size_t at = out->len;

		if (len >= SHORT_HEADER && body < len - SHORT_HEADER)
			len = SHORT_HEADER + body;
		buf_append(out, from, len < 4 ? len : 4);
		if (len > 4) {
			buf_append(out, "\0\0\0\0", 4);
			buf_append(out, from + 4, len - 4);
		}
		if (len >= SHORT_HEADER && len - SHORT_HEADER == body) {
			unsigned char *frame = (unsigned char *)buf_data(out) + at;

			wire_put_u32(frame + 4,
				     (uint32_t)XXH3_64bits_withSeed(
					     frame + 8, FRAME_HEADER_BYTES - 8 + body, body));
		}
		stream = str_make(stream.ptr + len, stream.len - len);
	}
}

static void check_round_trip(const struct frame *frame, struct qless_str bytes)
{
	struct buf again = BUF_INIT(BUF_NO_MAX);

	frame_encode(&again, frame);
	assert(again.len == bytes.len);
	assert(memcmp(buf_data(&again), bytes.ptr, bytes.len) == 0);
	buf_done(&again);
}

static void check_entries(const struct frame *frame)
{
	struct qless_str entries = frame->entries;
	struct buf again = BUF_INIT(BUF_NO_MAX);
	struct core_message message = frame->message;
	struct frame_entry entry;
	size_t at = frame_begin_entries(&again);
	uint32_t count = 0;

	while (frame_take_entry(&entries, &entry)) {
		size_t before = again.len;

		frame_put_entry(&again, &entry);
		assert(again.len - before == frame_entry_size(entry.term, entry.payload.len));
		count++;
	}
	assert(entries.len == 0);
	assert(count == frame->message.entries.count);
	assert(count <= FRAME_ENTRIES_COUNT);
	/* A varint may have come with more bytes than it needs. */
	assert(again.len - at <= FRAME_MAX);
	frame_end_entries(&again, at, &message);
	buf_done(&again);
}

/* Members have more than one encoding, because their numbers are varints. */
static void check_offer(const struct frame *frame)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	const char *error;
	struct frame again;
	size_t size;

	assert(frame->message.offer == &frame->offer);
	assert(members_are_valid(&frame->offer.members));
	frame_encode(&bytes, frame);
	assert(frame_decode(buf_data(&bytes), bytes.len, FRAME_MAX, &again, &size, &error) ==
	       FRAME_READY);
	assert(members_equal(&again.offer.members, &frame->offer.members));
	assert(again.offer.index == frame->offer.index);
	assert(again.offer.term == frame->offer.term);
	assert(again.offer.members_index == frame->offer.members_index);
	buf_done(&bytes);
}

static void check_frame(const struct frame *frame, struct qless_str bytes)
{
	if (frame->type == FRAME_MESSAGE && frame->message.kind == CORE_BASE_OFFER) {
		check_offer(frame);
		return;
	}
	if (frame->type == FRAME_MESSAGE && frame->message.kind == CORE_ENTRIES)
		check_entries(frame);
	check_round_trip(frame, bytes);
}

/* The frames of the stream, if each delivery brings up to `max_piece` more bytes. */
static struct buf read_stream(struct qless_str stream, size_t max, size_t max_piece)
{
	struct buf log = BUF_INIT(BUF_NO_MAX);
	size_t start = 0, end = 0;
	bool failed = false;

	while (end < stream.len && !failed) {
		size_t piece = max_piece < stream.len - end ? max_piece : stream.len - end, len;
		enum frame_status status;
		struct frame frame;
		const char *error;
		size_t at = 0, size;
		char *bytes;

		end += piece;
		len = end - start;
		bytes = mem_alloc(len);
		memcpy(bytes, stream.ptr + start, len);
		while ((status = frame_decode(bytes + at, len - at, max, &frame, &size, &error)) ==
		       FRAME_READY) {
			assert(size >= FRAME_HEADER_BYTES && size <= len - at && size <= max);
			buf_printf(&log, "[%d %zu %u]", (int)frame.type, size, bytes[at + 4]);
			check_frame(&frame, str_make(bytes + at, size));
			at += size;
		}
		if (status == FRAME_INVALID) {
			buf_printf(&log, "!%s", error);
			failed = true;
		} else {
			assert(size > len - at && size <= max);
		}
		start += at;
		free(bytes);
	}
	return log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf stream = BUF_INIT(BUF_NO_MAX), whole, pieces, single;
	size_t max;

	if (size < 2)
		return 0;
	max = (data[0] & 1) != 0 ? FRAME_HELLO_MAX : FRAME_MAX;
	add_checksums(str_make((const char *)data + 1, size - 1), &stream);
	whole = read_stream(buf_str(&stream), max, stream.len);
	pieces = read_stream(buf_str(&stream), max, 2 + data[0] / 2 % 60);
	single = read_stream(buf_str(&stream), max, 1);
	assert(str_equal(buf_str(&whole), buf_str(&pieces)));
	assert(str_equal(buf_str(&whole), buf_str(&single)));
	buf_done(&whole);
	buf_done(&pieces);
	buf_done(&single);
	buf_done(&stream);
	return 0;
}
