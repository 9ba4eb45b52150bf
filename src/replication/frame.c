/*
 * Bodies of frames. Numbers have a fixed size unless the table says varint.
 *
 *	HELLO		8 "QLESSNOD", 4 lowest and 4 highest version, 16 group, 8 from, 8 to,
 *			1 purpose, 2 length of the address, address, the rest: announced address
 *	REFUSED		1 reason
 *	ALIVE		8 wall clock in microseconds since 1970
 *	MESSAGE		1 kind, then by kind:
 *	  VOTE			8 last index, 8 last term, 1 flags: 1 trial, 2 forced
 *	  VOTE_RESULT		1 flags: 1 trial, 2 granted
 *	  ENTRIES		8 previous index, 8 its term, 8 commit, 4 count, the rest: entries
 *	  ENTRIES_RESULT	8 rejected, 8 last index
 *	  BASE_OFFER		base, 8 index of the members, the rest: members
 *	  TIMEOUT_NOW		8 last index, 8 last term
 *	PIECE		8 previous index, 8 its term, 8 commit, 8 term of the entry, 1 its kind,
 *			4 its size, 4 offset, the rest: bytes
 *	PROBE		8 number
 *	PROBE_RESULT	8 number
 *	BASE_ASK	base, 8 offset, 4 length
 *	BASE_PIECE	base, 8 offset, the rest: bytes
 *	BASE_GONE	base
 *
 * A base is 8 index, 8 term, 8 size, 8 salt.
 *
 * A change of a body raises FRAME_VERSION_MAX, and the encoder learns which version the other node
 * speaks. HELLO and REFUSED never change, because they come before the versions are known.
 */
#include "replication/frame.h"

#include <assert.h>
#include <xxhash.h>

#include "util/wire.h"

#define MAGIC	    "QLESSNOD"
#define MAGIC_BYTES 8

#define BASE_BYTES ((size_t)32)

/* Bytes of bodies, or of their fixed parts. */
#define HELLO_BYTES	 ((size_t)MAGIC_BYTES + 8 + FRAME_GROUP_BYTES + 16 + 1 + 2)
#define ENTRIES_BYTES	 ((size_t)1 + 28)
#define OFFER_BYTES	 (1 + BASE_BYTES + 8)
#define PIECE_BYTES	 ((size_t)8 * 4 + 1 + 8)
#define BASE_PIECE_BYTES (BASE_BYTES + 8)

/* The longest body that starts with a fixed part. */
#define FIXED_MAX ((size_t)64)

enum {
	VOTE_TRIAL = 1,
	VOTE_FORCED = 2,
	RESULT_TRIAL = 1,
	RESULT_GRANTED = 2,
};

static_assert(HELLO_BYTES <= FIXED_MAX && ENTRIES_BYTES <= FIXED_MAX && OFFER_BYTES <= FIXED_MAX &&
		      PIECE_BYTES <= FIXED_MAX && BASE_PIECE_BYTES <= FIXED_MAX,
	      "FRAME_MAX has room for the fixed part of each body");
static_assert(FRAME_HEADER_BYTES + HELLO_BYTES + (size_t)2 * MEMBERS_ADDRESS_SIZE <=
		      FRAME_HELLO_MAX,
	      "a stranger may send every valid HELLO");
static_assert(FRAME_PIECE_BYTES <= FRAME_ENTRIES_BYTES, "FRAME_MAX has room for a piece");

/*
 * Writing
 */

/* A frame that is being written. Its place does not move until it is closed, except for the part
 * after the fixed one. */
static unsigned char *open_frame(struct buf *out, size_t body)
{
	char *to = buf_reserve(out, FRAME_HEADER_BYTES + body);

	assert(to != NULL);
	return (unsigned char *)to + FRAME_HEADER_BYTES;
}

static uint32_t checksum(const unsigned char *frame, size_t body)
{
	return (uint32_t)XXH3_64bits_withSeed(frame + 8, FRAME_HEADER_BYTES - 8 + body, body);
}

/* Write the header before a body that is complete. */
static void seal(unsigned char *frame, enum frame_type type, uint64_t term, size_t body)
{
	assert(FRAME_HEADER_BYTES + body <= FRAME_MAX);
	wire_put_u32(frame, (uint32_t)body);
	frame[8] = (unsigned char)type;
	wire_put_u64(frame + 9, term);
	wire_put_u32(frame + 4, checksum(frame, body));
}

static unsigned char *put_u8(unsigned char *to, unsigned value)
{
	*to = (unsigned char)value;
	return to + 1;
}

static unsigned char *put_u32(unsigned char *to, uint32_t value)
{
	wire_put_u32(to, value);
	return to + 4;
}

static unsigned char *put_u64(unsigned char *to, uint64_t value)
{
	wire_put_u64(to, value);
	return to + 8;
}

static unsigned char *put_str(unsigned char *to, struct qless_str s)
{
	if (s.len != 0)
		memcpy(to, s.ptr, s.len);
	return to + s.len;
}

static unsigned char *put_base(unsigned char *to, const struct frame_base *base)
{
	to = put_u64(to, base->index);
	to = put_u64(to, base->term);
	to = put_u64(to, base->size);
	return put_u64(to, base->salt);
}

static unsigned char *put_hello(unsigned char *to, const struct frame_hello *hello)
{
	assert(hello->address.len < MEMBERS_ADDRESS_SIZE);
	assert(hello->announce.len < MEMBERS_ADDRESS_SIZE);
	to = put_str(to, STR(MAGIC));
	to = put_u32(to, hello->version_min);
	to = put_u32(to, hello->version_max);
	to = put_str(to, str_make((const char *)hello->group, FRAME_GROUP_BYTES));
	to = put_u64(to, hello->from);
	to = put_u64(to, hello->to);
	to = put_u8(to, hello->purpose);
	to = put_u8(to, hello->address.len & 0xff);
	to = put_u8(to, (unsigned)(hello->address.len >> 8));
	return put_str(put_str(to, hello->address), hello->announce);
}

/* The fixed part of a message of kind CORE_ENTRIES. */
static unsigned char *put_entries_head(unsigned char *to, const struct core_message *message)
{
	assert(message->entries.count <= FRAME_ENTRIES_COUNT);
	to = put_u8(to, CORE_ENTRIES);
	to = put_u64(to, message->entries.previous_index);
	to = put_u64(to, message->entries.previous_term);
	to = put_u64(to, message->entries.commit);
	return put_u32(to, message->entries.count);
}

static unsigned char *put_message(unsigned char *to, const struct frame *frame)
{
	const struct core_message *m = &frame->message;

	switch (m->kind) {
	case CORE_VOTE:
		to = put_u8(to, m->kind);
		to = put_u64(to, m->vote.last_index);
		to = put_u64(to, m->vote.last_term);
		return put_u8(to, (m->vote.is_trial ? VOTE_TRIAL : 0U) |
					  (m->vote.is_forced ? VOTE_FORCED : 0U));
	case CORE_VOTE_RESULT:
		to = put_u8(to, m->kind);
		return put_u8(to, (m->vote_result.is_trial ? RESULT_TRIAL : 0U) |
					  (m->vote_result.is_granted ? RESULT_GRANTED : 0U));
	case CORE_ENTRIES:
		assert(frame->entries.len <= FRAME_ENTRIES_BYTES);
		return put_str(put_entries_head(to, m), frame->entries);
	case CORE_ENTRIES_RESULT:
		to = put_u8(to, m->kind);
		to = put_u64(to, m->entries_result.rejected);
		return put_u64(to, m->entries_result.last_index);
	case CORE_TIMEOUT_NOW:
		to = put_u8(to, m->kind);
		to = put_u64(to, m->timeout_now.last_index);
		return put_u64(to, m->timeout_now.last_term);
	case CORE_BASE_OFFER:
		break;
	}
	assert(false);
	return to;
}

/* The members of an offer have no size that is known before they are encoded. */
static void encode_offer(struct buf *out, const struct frame *frame)
{
	const struct core_base *offer = frame->message.offer;
	size_t at = out->len;
	unsigned char *to = open_frame(out, OFFER_BYTES);

	to = put_u8(to, CORE_BASE_OFFER);
	to = put_base(to, &frame->base);
	put_u64(to, offer->members_index);
	buf_commit(out, FRAME_HEADER_BYTES + OFFER_BYTES);
	members_encode(&offer->members, out);
	seal((unsigned char *)buf_data(out) + at, FRAME_MESSAGE, frame->term,
	     out->len - at - FRAME_HEADER_BYTES);
}

/* The fixed part of a piece of an entry. */
static unsigned char *put_piece_head(unsigned char *to, const struct frame_piece *piece)
{
	to = put_u64(to, piece->previous_index);
	to = put_u64(to, piece->previous_term);
	to = put_u64(to, piece->commit);
	to = put_u64(to, piece->entry_term);
	to = put_u8(to, piece->entry_kind);
	to = put_u32(to, piece->size);
	return put_u32(to, piece->offset);
}

void frame_encode(struct buf *out, const struct frame *frame)
{
	struct qless_str rest = { .len = 0 };
	unsigned char *body, *to;
	size_t room;

	switch (frame->type) {
	case FRAME_MESSAGE:
		if (frame->message.kind == CORE_BASE_OFFER) {
			encode_offer(out, frame);
			return;
		}
		if (frame->message.kind == CORE_ENTRIES)
			rest = frame->entries;
		break;
	case FRAME_PIECE:
		rest = frame->piece.bytes;
		break;
	case FRAME_BASE_PIECE:
		rest = frame->bytes;
		break;
	default:
		break;
	}
	room = frame->type == FRAME_HELLO ? FRAME_HELLO_MAX : FIXED_MAX + rest.len;
	body = to = open_frame(out, room);
	switch (frame->type) {
	case FRAME_HELLO:
		to = put_hello(to, &frame->hello);
		break;
	case FRAME_REFUSED:
		to = put_u8(to, frame->refusal);
		break;
	case FRAME_ALIVE:
		to = put_u64(to, (uint64_t)frame->wall_us);
		break;
	case FRAME_MESSAGE:
		to = put_message(to, frame);
		break;
	case FRAME_PIECE:
		assert(frame->piece.bytes.len <= FRAME_PIECE_BYTES);
		to = put_str(put_piece_head(to, &frame->piece), frame->piece.bytes);
		break;
	case FRAME_PROBE:
	case FRAME_PROBE_RESULT:
		to = put_u64(to, frame->probe);
		break;
	case FRAME_BASE_ASK:
		to = put_base(to, &frame->base);
		to = put_u64(to, frame->offset);
		to = put_u32(to, frame->length);
		break;
	case FRAME_BASE_PIECE:
		assert(frame->bytes.len <= FRAME_BASE_PIECE_BYTES);
		to = put_base(to, &frame->base);
		to = put_u64(to, frame->offset);
		to = put_str(to, frame->bytes);
		break;
	case FRAME_BASE_GONE:
		to = put_base(to, &frame->base);
		break;
	}
	seal(body - FRAME_HEADER_BYTES, frame->type, frame->term, (size_t)(to - body));
	buf_commit(out, FRAME_HEADER_BYTES + (size_t)(to - body));
}

/* Begin a frame whose bytes follow a fixed part. */
static size_t begin(struct buf *out, size_t fixed)
{
	size_t at = out->len;

	open_frame(out, fixed);
	buf_commit(out, FRAME_HEADER_BYTES + fixed);
	return at;
}

static size_t written(const struct buf *out, size_t at, size_t fixed)
{
	return out->len - at - FRAME_HEADER_BYTES - fixed;
}

/* The frame that was begun at `at`. */
static unsigned char *begun(const struct buf *out, size_t at)
{
	return (unsigned char *)buf_data(out) + at;
}

size_t frame_begin_entries(struct buf *out)
{
	return begin(out, ENTRIES_BYTES);
}

size_t frame_entries_written(const struct buf *out, size_t at)
{
	return written(out, at, ENTRIES_BYTES);
}

void frame_end_entries(struct buf *out, size_t at, const struct core_message *message)
{
	assert(frame_entries_written(out, at) <= FRAME_ENTRIES_BYTES);
	put_entries_head(begun(out, at) + FRAME_HEADER_BYTES, message);
	seal(begun(out, at), FRAME_MESSAGE, message->term, out->len - at - FRAME_HEADER_BYTES);
}

size_t frame_begin_piece(struct buf *out)
{
	return begin(out, PIECE_BYTES);
}

size_t frame_piece_written(const struct buf *out, size_t at)
{
	return written(out, at, PIECE_BYTES);
}

void frame_end_piece(struct buf *out, size_t at, uint64_t term, const struct frame_piece *piece)
{
	assert(frame_piece_written(out, at) <= FRAME_PIECE_BYTES);
	put_piece_head(begun(out, at) + FRAME_HEADER_BYTES, piece);
	seal(begun(out, at), FRAME_PIECE, term, out->len - at - FRAME_HEADER_BYTES);
}

size_t frame_begin_base_piece(struct buf *out)
{
	return begin(out, BASE_PIECE_BYTES);
}

size_t frame_base_piece_written(const struct buf *out, size_t at)
{
	return written(out, at, BASE_PIECE_BYTES);
}

void frame_end_base_piece(struct buf *out, size_t at, const struct frame_base *base,
			  uint64_t offset)
{
	assert(frame_base_piece_written(out, at) <= FRAME_BASE_PIECE_BYTES);
	put_u64(put_base(begun(out, at) + FRAME_HEADER_BYTES, base), offset);
	seal(begun(out, at), FRAME_BASE_PIECE, 0, out->len - at - FRAME_HEADER_BYTES);
}

/*
 * Reading
 */

/* The part of a body that has not been read. */
struct reader {
	const unsigned char *at;
	size_t left;
	bool is_short; /* more was read than there is */
};

static const unsigned char *take(struct reader *r, size_t len)
{
	const unsigned char *at = r->at;

	if (r->left < len) {
		r->is_short = true;
		r->left = 0;
		return NULL;
	}
	r->at += len;
	r->left -= len;
	return at;
}

static unsigned take_u8(struct reader *r)
{
	const unsigned char *at = take(r, 1);

	return at != NULL ? *at : 0;
}

static uint32_t take_u32(struct reader *r)
{
	const unsigned char *at = take(r, 4);

	return at != NULL ? wire_get_u32(at) : 0;
}

static uint64_t take_u64(struct reader *r)
{
	const unsigned char *at = take(r, 8);

	return at != NULL ? wire_get_u64(at) : 0;
}

static struct qless_str take_rest(struct reader *r)
{
	size_t len = r->left;

	return str_make((const char *)take(r, len), len);
}

static void take_base(struct reader *r, struct frame_base *ret_base)
{
	ret_base->index = take_u64(r);
	ret_base->term = take_u64(r);
	ret_base->size = take_u64(r);
	ret_base->salt = take_u64(r);
}

static const char *take_hello(struct reader *r, struct frame_hello *hello)
{
	const unsigned char *magic = take(r, MAGIC_BYTES), *group;
	size_t len;

	if (magic == NULL || memcmp(magic, MAGIC, MAGIC_BYTES) != 0)
		return "the peer is not a node of a group";
	hello->version_min = take_u32(r);
	hello->version_max = take_u32(r);
	group = take(r, FRAME_GROUP_BYTES);
	if (group != NULL)
		memcpy(hello->group, group, FRAME_GROUP_BYTES);
	hello->from = take_u64(r);
	hello->to = take_u64(r);
	hello->purpose = (enum frame_purpose)take_u8(r);
	len = take_u8(r);
	len |= (size_t)take_u8(r) << 8;
	hello->address = str_make((const char *)take(r, len), len);
	hello->announce = take_rest(r);
	if (hello->from == 0 || hello->from > INT64_MAX || hello->to == 0 || hello->to > INT64_MAX)
		return "HELLO has a node id that is out of range";
	if (hello->purpose != FRAME_FOR_MESSAGES && hello->purpose != FRAME_FOR_BASE)
		return "HELLO has an unknown purpose";
	if (hello->address.len >= MEMBERS_ADDRESS_SIZE ||
	    hello->announce.len >= MEMBERS_ADDRESS_SIZE)
		return "HELLO has an address that is too long";
	return NULL;
}

/* Checks that the bytes are exactly `count` entries. */
static bool are_entries(struct qless_str bytes, uint32_t count)
{
	struct frame_entry entry;

	for (; count != 0; count--) {
		if (!frame_take_entry(&bytes, &entry) || entry.term > FRAME_INDEX_MAX)
			return false;
	}
	return bytes.len == 0;
}

static const char *take_entries(struct reader *r, struct frame *frame)
{
	struct core_message *m = &frame->message;

	m->entries.previous_index = take_u64(r);
	m->entries.previous_term = take_u64(r);
	m->entries.commit = take_u64(r);
	m->entries.count = take_u32(r);
	m->entries.heads = NULL;
	frame->entries = take_rest(r);
	if (m->entries.count > FRAME_ENTRIES_COUNT)
		return "a message has too many entries";
	if (frame->entries.len > FRAME_ENTRIES_BYTES)
		return "a message has too many bytes of entries";
	if (m->entries.previous_index > FRAME_INDEX_MAX - m->entries.count)
		return "a message has an index that is out of range";
	if (!r->is_short && !are_entries(frame->entries, m->entries.count))
		return "a message has invalid entries";
	return NULL;
}

static const char *take_offer(struct reader *r, struct frame *frame)
{
	struct core_base *offer = &frame->offer;
	struct qless_str members;

	take_base(r, &frame->base);
	offer->index = frame->base.index;
	offer->term = frame->base.term;
	offer->members_index = take_u64(r);
	members = take_rest(r);
	frame->message.offer = offer;
	if (r->is_short || !members_decode(&offer->members, members.ptr, members.len))
		return "an offer of a snapshot has invalid members";
	if (offer->index == 0 || offer->index > FRAME_INDEX_MAX ||
	    offer->members_index > offer->index)
		return "an offer of a snapshot has an index that is out of range";
	return NULL;
}

static const char *take_message(struct reader *r, struct frame *frame)
{
	struct core_message *m = &frame->message;
	unsigned kind = take_u8(r), flags;

	m->kind = (enum core_message_kind)kind;
	m->term = frame->term;
	switch (kind) {
	case CORE_VOTE:
		m->vote.last_index = take_u64(r);
		m->vote.last_term = take_u64(r);
		flags = take_u8(r);
		m->vote.is_trial = (flags & VOTE_TRIAL) != 0;
		m->vote.is_forced = (flags & VOTE_FORCED) != 0;
		return (flags & ~(unsigned)(VOTE_TRIAL | VOTE_FORCED)) == 0
			       ? NULL
			       : "a message has unknown flags";
	case CORE_VOTE_RESULT:
		flags = take_u8(r);
		m->vote_result.is_trial = (flags & RESULT_TRIAL) != 0;
		m->vote_result.is_granted = (flags & RESULT_GRANTED) != 0;
		return (flags & ~(unsigned)(RESULT_TRIAL | RESULT_GRANTED)) == 0
			       ? NULL
			       : "a message has unknown flags";
	case CORE_ENTRIES:
		return take_entries(r, frame);
	case CORE_ENTRIES_RESULT:
		m->entries_result.rejected = take_u64(r);
		m->entries_result.last_index = take_u64(r);
		return NULL;
	case CORE_BASE_OFFER:
		return take_offer(r, frame);
	case CORE_TIMEOUT_NOW:
		m->timeout_now.last_index = take_u64(r);
		m->timeout_now.last_term = take_u64(r);
		return NULL;
	default:
		return "a message has an unknown kind";
	}
}

static const char *take_piece(struct reader *r, struct frame_piece *piece)
{
	piece->previous_index = take_u64(r);
	piece->previous_term = take_u64(r);
	piece->commit = take_u64(r);
	piece->entry_term = take_u64(r);
	piece->entry_kind = (uint8_t)take_u8(r);
	piece->size = take_u32(r);
	piece->offset = take_u32(r);
	piece->bytes = take_rest(r);
	if (piece->previous_index >= FRAME_INDEX_MAX || piece->entry_term > FRAME_INDEX_MAX)
		return "a piece of an entry has an index that is out of range";
	if (piece->size > FRAME_PAYLOAD_MAX)
		return "a piece belongs to an entry that is too large";
	if (piece->bytes.len == 0 || piece->bytes.len > FRAME_PIECE_BYTES ||
	    piece->offset > piece->size || piece->bytes.len > piece->size - piece->offset)
		return "a piece is not inside of its entry";
	return NULL;
}

static const char *take_base_request(struct reader *r, struct frame *frame)
{
	take_base(r, &frame->base);
	frame->offset = take_u64(r);
	frame->length = take_u32(r);
	if (frame->length == 0 || frame->length > FRAME_BASE_PIECE_BYTES ||
	    frame->offset >= frame->base.size || frame->length > frame->base.size - frame->offset)
		return "a piece is not inside of its snapshot";
	return NULL;
}

static const char *take_base_piece(struct reader *r, struct frame *frame)
{
	take_base(r, &frame->base);
	frame->offset = take_u64(r);
	frame->bytes = take_rest(r);
	if (frame->bytes.len == 0 || frame->bytes.len > FRAME_BASE_PIECE_BYTES ||
	    frame->offset >= frame->base.size ||
	    frame->bytes.len > frame->base.size - frame->offset)
		return "a piece is not inside of its snapshot";
	return NULL;
}

static const char *take_body(struct reader *r, struct frame *frame)
{
	switch (frame->type) {
	case FRAME_HELLO:
		return take_hello(r, &frame->hello);
	case FRAME_REFUSED:
		frame->refusal = (enum frame_refusal)take_u8(r);
		return NULL;
	case FRAME_ALIVE:
		frame->wall_us = (int64_t)take_u64(r);
		return NULL;
	case FRAME_MESSAGE:
		return take_message(r, frame);
	case FRAME_PIECE:
		return take_piece(r, &frame->piece);
	case FRAME_PROBE:
	case FRAME_PROBE_RESULT:
		frame->probe = take_u64(r);
		return NULL;
	case FRAME_BASE_ASK:
		return take_base_request(r, frame);
	case FRAME_BASE_PIECE:
		return take_base_piece(r, frame);
	case FRAME_BASE_GONE:
		take_base(r, &frame->base);
		return NULL;
	}
	return "a frame has an unknown type";
}

/* Returns the bytes of the longest body of this type, or 0 if there is no such type. */
static size_t longest_body(unsigned type)
{
	switch (type) {
	case FRAME_HELLO:
		return FRAME_HELLO_MAX - FRAME_HEADER_BYTES;
	case FRAME_MESSAGE:
		return ENTRIES_BYTES + FRAME_ENTRIES_BYTES;
	case FRAME_PIECE:
		return PIECE_BYTES + FRAME_PIECE_BYTES;
	case FRAME_BASE_PIECE:
		return BASE_PIECE_BYTES + FRAME_BASE_PIECE_BYTES;
	case FRAME_REFUSED:
	case FRAME_ALIVE:
	case FRAME_PROBE:
	case FRAME_PROBE_RESULT:
	case FRAME_BASE_ASK:
	case FRAME_BASE_GONE:
		return FIXED_MAX;
	default:
		return 0;
	}
}

enum frame_status frame_decode(const char *base, size_t len, size_t max, struct frame *ret_frame,
			       size_t *ret_size, const char **ret_error)
{
	const unsigned char *bytes = (const unsigned char *)base;
	struct reader r;
	size_t body;

	if (len < FRAME_HEADER_BYTES) {
		*ret_size = FRAME_HEADER_BYTES;
		return FRAME_NEED_MORE;
	}
	body = wire_get_u32(bytes);
	if (longest_body(bytes[8]) == 0) {
		*ret_error = "a frame has an unknown type";
		return FRAME_INVALID;
	}
	if (body > longest_body(bytes[8]) || body > max - FRAME_HEADER_BYTES) {
		*ret_error = "a frame is too long";
		return FRAME_INVALID;
	}
	if (len - FRAME_HEADER_BYTES < body) {
		*ret_size = FRAME_HEADER_BYTES + body;
		return FRAME_NEED_MORE;
	}
	if (wire_get_u32(bytes + 4) != checksum(bytes, body)) {
		*ret_error = "a frame has a wrong checksum";
		return FRAME_INVALID;
	}
	r = (struct reader){ .at = bytes + FRAME_HEADER_BYTES, .left = body };
	*ret_frame = (struct frame){ .type = (enum frame_type)bytes[8],
				     .term = wire_get_u64(bytes + 9) };
	*ret_error = take_body(&r, ret_frame);
	if (*ret_error == NULL && r.is_short)
		*ret_error = "a frame is too short";
	if (*ret_error == NULL && r.left != 0)
		*ret_error = "a frame has more bytes than its type has";
	if (*ret_error == NULL && ret_frame->term > FRAME_INDEX_MAX)
		*ret_error = "a frame has a term that is out of range";
	if (*ret_error != NULL)
		return FRAME_INVALID;
	*ret_size = FRAME_HEADER_BYTES + body;
	return FRAME_READY;
}

/*
 * Entries
 */

size_t frame_entry_size(uint64_t term, size_t payload_len)
{
	return wire_varint_size(term) + 1 + wire_varint_size(payload_len) + payload_len;
}

void frame_put_entry_header(struct buf *out, uint64_t term, uint8_t kind, size_t payload_len)
{
	unsigned char *to = (unsigned char *)buf_reserve(out, 2 * WIRE_VARINT_MAX + 1);
	size_t len;

	assert(to != NULL && payload_len <= FRAME_PAYLOAD_MAX);
	len = wire_put_varint(to, term);
	to[len++] = kind;
	len += wire_put_varint(to + len, payload_len);
	buf_commit(out, len);
}

void frame_put_entry(struct buf *out, const struct frame_entry *entry)
{
	frame_put_entry_header(out, entry->term, entry->kind, entry->payload.len);
	buf_append_str(out, entry->payload);
}

bool frame_take_entry(struct qless_str *entries, struct frame_entry *ret_entry)
{
	const unsigned char *bytes = (const unsigned char *)entries->ptr;
	size_t left = entries->len, used;
	uint64_t term, len;
	uint8_t kind;

	used = wire_get_varint(bytes, left, &term);
	if (used == 0 || used == left)
		return false;
	kind = bytes[used];
	bytes += used + 1;
	left -= used + 1;
	used = wire_get_varint(bytes, left, &len);
	if (used == 0 || len > left - used)
		return false;
	*ret_entry = (struct frame_entry){
		.term = term,
		.kind = kind,
		.payload = str_make((const char *)bytes + used, (size_t)len),
	};
	bytes += used + len;
	*entries = str_make((const char *)bytes, left - used - (size_t)len);
	return true;
}

const char *frame_refusal_text(enum frame_refusal refusal)
{
	switch (refusal) {
	case FRAME_REFUSED_GROUP:
		return "it belongs to another group";
	case FRAME_REFUSED_NODE:
		return "it does not know this node as a member";
	case FRAME_REFUSED_SELF:
		return "it is another node";
	case FRAME_REFUSED_VERSION:
		return "there is no version of the protocol that both nodes speak";
	case FRAME_REFUSED_CERTIFICATE:
		return "the certificate of this node does not have its address as a name";
	}
	return "for a reason that this version does not know";
}
