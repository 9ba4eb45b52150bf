/*
 * Two buffers that change places.
 */
#include "journal/backlog.h"

#include <assert.h>

/* How much memory a buffer keeps after it held more. */
#define KEEP_BYTES ((size_t)1024 * 1024)

void backlog_init(struct backlog *b)
{
	*b = (struct backlog){ .has_gap = false };
	buf_init(&b->pending, BUF_NO_MAX);
	buf_init(&b->writing, BUF_NO_MAX);
}

void backlog_done(struct backlog *b)
{
	buf_done(&b->pending);
	buf_done(&b->writing);
}

static void swap(struct backlog *b)
{
	struct buf other = b->writing;

	b->writing = b->pending;
	b->pending = other;
}

struct qless_str backlog_hand_over(struct backlog *b)
{
	assert(b->writing.len == 0);
	swap(b);
	return buf_str(&b->writing);
}

void backlog_take_back(struct backlog *b)
{
	buf_append_str(&b->writing, buf_str(&b->pending));
	buf_clear(&b->pending);
	swap(b);
}

static void empty(struct buf *buf)
{
	buf_clear(buf);
	buf_shrink(buf, KEEP_BYTES);
}

void backlog_end_writing(struct backlog *b)
{
	empty(&b->writing);
}

void backlog_end_pending(struct backlog *b)
{
	assert(b->writing.len == 0);
	empty(&b->pending);
}

void backlog_drop(struct backlog *b)
{
	buf_done(&b->pending);
	b->has_gap = true;
}
