/*
 * Frames that arrive on a connection that is open.
 */
#include "server/nodes_int.h"

#include "sys/clock.h"
#include "util/minmax.h"

/* Bytes of room for input if the length of the next frame is unknown. */
#define ROOM_BYTES ((size_t)64 * 1024)

static size_t frame_max(const struct node_link *l)
{
	return l->state == LINK_OPEN ? FRAME_MAX : FRAME_HELLO_MAX;
}

size_t input_room(const struct node_link *l)
{
	const char *error;
	struct frame frame;
	size_t size = 0;

	if (l->state != LINK_OPEN)
		return FRAME_HELLO_MAX - l->in.len;
	if (l->in.len == 0 || frame_decode(buf_data(&l->in), l->in.len, FRAME_MAX, &frame, &size,
					   &error) != FRAME_NEED_MORE)
		return ROOM_BYTES;
	return max_u64(ROOM_BYTES, min_u64(NODES_ROOM_MAX_BYTES, size - l->in.len));
}

static void take_message(struct node_link *l, const struct frame *frame)
{
	const struct nodes_ops *ops = &l->nodes->options.ops;
	const struct core_message *m = &frame->message;
	struct node *node = l->node;

	if (m->kind == CORE_ENTRIES_RESULT && m->entries_result.rejected != 0)
		range_refuse(&node->range, m->term);
	/* The sender has given up an entry in pieces. */
	if (m->kind == CORE_ENTRIES && m->entries.count != 0)
		buf_done(&l->entry_bytes);
	if (m->kind == CORE_BASE_OFFER) {
		if (ops->base_offered != NULL)
			ops->base_offered(ops->arg, node->id, m, &frame->base);
		return;
	}
	ops->received(ops->arg, node->id, m, frame->entries);
}

static bool is_same_entry(const struct node_link *l, const struct frame *frame)
{
	const struct frame_piece *a = &l->piece, *b = &frame->piece;

	return l->piece_term == frame->term && a->previous_index == b->previous_index &&
	       a->previous_term == b->previous_term && a->entry_term == b->entry_term &&
	       a->entry_kind == b->entry_kind && a->size == b->size;
}

/* All pieces of an entry are here: hand it over as a message. */
static void complete_entry(struct node_link *l)
{
	const struct nodes_ops *ops = &l->nodes->options.ops;
	const struct frame_piece *piece = &l->piece;
	const struct core_message message = {
		.kind = CORE_ENTRIES,
		.term = l->piece_term,
		.entries = { .previous_index = piece->previous_index,
			     .previous_term = piece->previous_term,
			     .commit = min_u64(piece->commit, piece->previous_index + 1),
			     .count = 1 },
	};
	struct buf bytes = l->entry_bytes;

	buf_init(&l->entry_bytes, BUF_NO_MAX);
	ops->received(ops->arg, l->node->id, &message, buf_str(&bytes));
	buf_done(&bytes);
}

/* Memory for the entry grows with the pieces that arrive, not with the size that they announce. */
static bool take_piece(struct node_link *l, const struct frame *frame)
{
	const struct frame_piece *piece = &frame->piece;
	size_t header = frame_entry_size(piece->entry_term, piece->size) - piece->size;

	if (piece->offset == 0) {
		buf_clear(&l->entry_bytes);
		frame_put_entry_header(&l->entry_bytes, piece->entry_term, piece->entry_kind,
				       piece->size);
	} else if (!is_same_entry(l, frame) || l->entry_bytes.len != header + piece->offset) {
		return false;
	}
	l->piece = *piece;
	l->piece_term = frame->term;
	buf_append_str(&l->entry_bytes, piece->bytes);
	if (l->entry_bytes.len == header + piece->size)
		complete_entry(l);
	return true;
}

/* Returns false if a node does not send such a frame to one that it sends messages to. */
static bool take_from_sender(struct node_link *l, const struct frame *frame)
{
	const struct nodes_ops *ops = &l->nodes->options.ops;

	switch (frame->type) {
	case FRAME_MESSAGE:
		take_message(l, frame);
		return true;
	case FRAME_PIECE:
		return take_piece(l, frame);
	case FRAME_PROBE:
		if (ops->probed != NULL)
			ops->probed(ops->arg, l->node->id, frame->term, frame->probe);
		return true;
	case FRAME_PROBE_RESULT:
		if (ops->probe_answered != NULL)
			ops->probe_answered(ops->arg, l->node->id, frame->term, frame->probe);
		return true;
	default:
		return false;
	}
}

static bool take_frame(struct node_link *l, const struct frame *frame)
{
	if (frame->type == FRAME_ALIVE) {
		l->node->has_clock = true;
		l->node->clock_ahead_us = frame->wall_us - clock_wall_us();
		return true;
	}
	if (l->purpose == FRAME_FOR_BASE)
		return l->dial != NULL ? base_take_answer(l, frame) : base_take_request(l, frame);
	return l->dial == NULL && take_from_sender(l, frame);
}

bool input_take(struct node_link *l)
{
	struct frame frame;
	const char *error;
	size_t size;

	while (l->state != LINK_DEAD) {
		switch (frame_decode(buf_data(&l->in), l->in.len, frame_max(l), &frame, &size,
				     &error)) {
		case FRAME_NEED_MORE:
			return true;
		case FRAME_INVALID:
			node_link_close(l, "%s", error);
			return false;
		case FRAME_READY:
			break;
		}
		if (l->state != LINK_OPEN)
			greet_take(l, &frame);
		else if (!take_frame(l, &frame) && l->state != LINK_DEAD)
			node_link_close(l, "it has sent a frame that does not belong here");
		if (l->state != LINK_DEAD)
			buf_consume(&l->in, size);
	}
	return false;
}
