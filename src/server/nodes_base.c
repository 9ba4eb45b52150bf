/*
 * Snapshots in pieces, over a connection of their own. The node that fetches one asks for piece
 * after piece, so it can go on where it was when the connection breaks.
 */
#include "server/nodes_int.h"

#include <assert.h>

#include "util/minmax.h"

static bool is_same_base(const struct frame_base *a, const struct frame_base *b)
{
	return a->index == b->index && a->term == b->term && a->size == b->size &&
	       a->salt == b->salt;
}

/*
 * Fetching
 */

static void ask_for_more(struct node_link *l)
{
	struct base_fetch *f = &l->nodes->fetch;

	while (f->asked < f->base.size &&
	       f->asked - f->offset < NODES_ASKS_AHEAD * FRAME_BASE_PIECE_BYTES) {
		const struct frame frame = {
			.type = FRAME_BASE_ASK,
			.base = f->base,
			.offset = f->asked,
			.length =
				(uint32_t)min_u64(FRAME_BASE_PIECE_BYTES, f->base.size - f->asked),
		};

		frame_encode(&l->out, &frame);
		f->asked += frame.length;
	}
	node_link_write(l);
}

void base_ask(struct node_link *l)
{
	struct base_fetch *f = &l->nodes->fetch;

	f->asked = f->offset;
	ask_for_more(l);
}

static void end_fetch(struct nodes *nodes, enum nodes_base_end end)
{
	const struct nodes_ops *ops = &nodes->options.ops;

	nodes_stop_base(nodes);
	ops->base_ended(ops->arg, end);
}

static bool take_fetched(struct node_link *l, const struct frame *frame)
{
	struct nodes *nodes = l->nodes;
	struct base_fetch *f = &nodes->fetch;
	const struct nodes_ops *ops = &nodes->options.ops;
	uint64_t number = f->number;
	bool is_stored;

	if (frame->offset != f->offset || frame->bytes.len > f->asked - f->offset)
		return false;
	f->offset += frame->bytes.len;
	is_stored = ops->base_piece(ops->arg, frame->offset, frame->bytes);
	/* The callback may have stopped it, or begun another one. */
	if (!f->is_active || f->number != number)
		return true;
	if (!is_stored)
		end_fetch(nodes, NODES_BASE_STOPPED);
	else if (f->offset == f->base.size)
		end_fetch(nodes, NODES_BASE_COMPLETE);
	else
		ask_for_more(l);
	return true;
}

bool base_take_answer(struct node_link *l, const struct frame *frame)
{
	struct nodes *nodes = l->nodes;

	if (!is_same_base(&frame->base, &nodes->fetch.base))
		return false;
	if (frame->type == FRAME_BASE_PIECE)
		return take_fetched(l, frame);
	if (frame->type != FRAME_BASE_GONE)
		return false;
	end_fetch(nodes, NODES_BASE_GONE);
	return true;
}

void nodes_fetch_base(struct nodes *nodes, uint64_t from, const struct frame_base *base,
		      uint64_t offset)
{
	struct base_fetch *f = &nodes->fetch;
	struct node *node = nodes_find(nodes, from);

	assert(offset <= base->size);
	nodes_stop_base(nodes);
	f->is_active = true;
	f->number++;
	f->from = from;
	f->base = *base;
	f->offset = f->asked = offset;
	f->is_lost = node == NULL || offset == base->size;
	if (node != NULL && offset < base->size)
		dial_start(&f->dial, node);
	else
		nodes_arm_turn(nodes);
}

void nodes_stop_base(struct nodes *nodes)
{
	nodes->fetch.is_active = false;
	nodes->fetch.is_lost = false;
	dial_stop(&nodes->fetch.dial);
}

uint64_t nodes_base_offset(const struct nodes *nodes)
{
	return nodes->fetch.is_active ? nodes->fetch.offset : 0;
}

void base_lose_source(struct nodes *nodes, const struct node *node)
{
	struct base_fetch *f = &nodes->fetch;

	if (!f->is_active || f->dial.node != node)
		return;
	dial_stop(&f->dial);
	f->is_lost = true;
	nodes_arm_turn(nodes);
}

void base_turn(struct nodes *nodes)
{
	struct base_fetch *f = &nodes->fetch;

	if (f->is_active && f->is_lost)
		end_fetch(nodes, f->offset == f->base.size ? NODES_BASE_COMPLETE : NODES_BASE_GONE);
}

/*
 * Sending
 */

bool base_take_request(struct node_link *l, const struct frame *frame)
{
	if (frame->type != FRAME_BASE_ASK || l->ask_count == NODES_ASKS_MAX)
		return false;
	l->asks[l->ask_count++] = (struct ask){
		.base = frame->base,
		.offset = frame->offset,
		.length = frame->length,
	};
	node_link_delay(l);
	return true;
}

static void remove_ask(struct node_link *l)
{
	l->ask_count--;
	memmove(l->asks, l->asks + 1, l->ask_count * sizeof *l->asks);
}

bool base_fill(struct node_link *l)
{
	struct nodes *nodes = l->nodes;
	const struct nodes_ops *ops = &nodes->options.ops;
	const struct ask ask = l->asks[0];
	struct frame gone = { .type = FRAME_BASE_GONE, .base = ask.base };
	enum nodes_fetched fetched = NODES_GONE;
	size_t at, len;

	if (l->ask_count == 0 || (nodes->options.base_rate != 0 && nodes->base_tokens <= 0))
		return false;
	at = frame_begin_base_piece(&l->out);
	if (ops->base_read != NULL)
		fetched = ops->base_read(ops->arg, &ask.base, ask.offset, ask.length, &l->out);
	len = frame_base_piece_written(&l->out, at);
	if (fetched != NODES_FETCHED)
		buf_truncate(&l->out, at);
	if (fetched == NODES_LATER)
		return false;
	remove_ask(l);
	if (fetched != NODES_FETCHED) {
		frame_encode(&l->out, &gone);
		return true;
	}
	assert(len == ask.length);
	frame_end_base_piece(&l->out, at, &ask.base, ask.offset);
	nodes->base_tokens -= (int64_t)len;
	return true;
}

/* A piece may be larger than what a heartbeat allows: then the tokens are below zero for some. */
void base_beat(struct nodes *nodes)
{
	const struct nodes_options *o = &nodes->options;
	int64_t earned = (int64_t)(o->base_rate * o->heartbeat_ms / 1000) + 1;

	nodes->base_tokens = min_i64(nodes->base_tokens + earned, earned);
}
