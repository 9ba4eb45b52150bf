/*
 * Frames that leave. The bytes of entries are fetched when the output is empty, so a node that does
 * not read costs one frame of memory.
 */
#include "server/nodes_int.h"

#include <assert.h>

#include "sys/clock.h"
#include "util/minmax.h"

void output_put_alive(struct node_link *l)
{
	const struct frame frame = { .type = FRAME_ALIVE, .wall_us = clock_wall_us() };

	frame_encode(&l->out, &frame);
}

/* Returns the term of the last entry, or 0 if the bytes are not `count` entries of at most this
 * term. */
static uint64_t last_term(struct qless_str entries, uint64_t count, uint64_t term)
{
	struct frame_entry entry = { .term = 0 };

	for (; count != 0; count--) {
		if (!frame_take_entry(&entries, &entry) || entry.term > term)
			return 0;
	}
	return entries.len == 0 ? entry.term : 0;
}

/* Append a piece of the next entry. Returns false if there is none. */
static bool put_piece(struct node_link *l)
{
	const struct nodes_ops *ops = &l->nodes->options.ops;
	struct range *r = &l->node->range;
	struct core_message message = range_message(r, 1);
	struct frame_piece piece = {
		.previous_index = message.entries.previous_index,
		.previous_term = message.entries.previous_term,
		.commit = message.entries.commit,
		.offset = r->offset,
	};
	struct frame_entry entry = { .term = 0 };
	size_t at = frame_begin_piece(&l->out), len;
	enum nodes_fetched fetched;

	fetched = ops->fetch_piece(ops->arg, r->term, r->next, r->offset, FRAME_PIECE_BYTES,
				   &l->out, &entry);
	len = frame_piece_written(&l->out, at);
	if (fetched != NODES_FETCHED) {
		buf_truncate(&l->out, at);
		if (fetched != NODES_LATER)
			range_drop(r);
		return false;
	}
	assert(entry.term <= r->term && entry.payload.len <= FRAME_PAYLOAD_MAX);
	assert(len == min_u64(FRAME_PIECE_BYTES, entry.payload.len - r->offset));
	piece.entry_term = entry.term;
	piece.entry_kind = entry.kind;
	piece.size = (uint32_t)entry.payload.len;
	frame_end_piece(&l->out, at, r->term, &piece);
	range_advance_piece(r, (uint32_t)len, piece.size, entry.term);
	return true;
}

/* Append the next entries. Returns false if there are none. */
static bool put_entries(struct node_link *l)
{
	const struct nodes_ops *ops = &l->nodes->options.ops;
	struct range *r = &l->node->range;
	uint64_t wanted = min_u64(r->end - r->next + 1, FRAME_ENTRIES_COUNT), count = 0, term;
	size_t at = frame_begin_entries(&l->out), len;
	enum nodes_fetched fetched;
	struct core_message message;

	fetched = ops->fetch(ops->arg, r->term, r->next, wanted, FRAME_ENTRIES_BYTES, &l->out,
			     &count);
	if (fetched != NODES_FETCHED) {
		buf_truncate(&l->out, at);
		if (fetched == NODES_GONE)
			range_drop(r);
		return fetched == NODES_LARGE && put_piece(l);
	}
	len = frame_entries_written(&l->out, at);
	assert(count >= 1 && count <= wanted && len <= FRAME_ENTRIES_BYTES);
	term = last_term(str_make(buf_data(&l->out) + l->out.len - len, len), count, r->term);
	assert(term != 0);
	message = range_message(r, (uint32_t)count);
	frame_end_entries(&l->out, at, &message);
	range_advance(r, count, term);
	return true;
}

/* Append the heartbeat that leaves between two pieces. */
static void put_beat(struct node_link *l)
{
	struct range *r = &l->node->range;
	struct frame frame = { .type = FRAME_MESSAGE, .term = r->term };

	frame.message = range_message(r, 0);
	frame_encode(&l->out, &frame);
	range_note_beat(r);
}

bool output_fill(struct node_link *l)
{
	struct node *node = l->node;

	assert(l->out.len == 0);
	if (l->state != LINK_OPEN)
		return false;
	if (l->purpose == FRAME_FOR_BASE)
		return l->dial == NULL && base_fill(l);
	if (l->dial == NULL)
		return false;
	buf_append_str(&l->out, buf_str(&node->small));
	buf_clear(&node->small);
	if (node->range.wants_beat)
		put_beat(l);
	if (range_is_waiting(&node->range)) {
		if (node->range.offset != 0)
			put_piece(l);
		else
			put_entries(l);
	}
	return l->out.len != 0;
}
