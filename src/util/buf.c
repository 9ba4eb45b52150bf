#include "util/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "util/mem.h"

#define BUF_MIN_CAP 64

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void buf_done(struct buf *b)
{
	free(b->mem);
	buf_init(b, b->max);
}

static void move_to_front(struct buf *b)
{
	if (b->start != 0 && b->len != 0)
		memmove(b->mem, b->mem + b->start, b->len);
	b->start = 0;
}

char *buf_grow(struct buf *b, size_t extra)
{
	size_t need, cap;

	if (extra > b->max || b->len > b->max - extra)
		return NULL;
	need = b->len + extra;
	if (b->mem != NULL && b->cap - b->start >= need)
		return b->mem + b->start + b->len;

	/* Moving is worth it when it frees at least half: every byte is then moved a bounded number
	 * of times. */
	if (b->mem != NULL && b->cap >= need && b->start >= b->len) {
		move_to_front(b);
		return b->mem + b->len;
	}
	cap = b->cap != 0 ? b->cap : BUF_MIN_CAP;
	while (cap < need)
		cap *= 2;
	if (cap > b->max)
		cap = b->max;
	if (cap < need || cap == 0)
		cap = need != 0 ? need : 1;
	move_to_front(b);
	if (cap > b->cap || b->mem == NULL) {
		b->mem = mem_realloc(b->mem, cap);
		b->cap = cap;
	}
	return b->mem + b->len;
}

char *buf_make_room(struct buf *b, const char *to, size_t extra)
{
	buf_close(b, to);
	return buf_reserve(b, extra);
}

bool buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int len;
	char *to;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	assert(len >= 0);
	/* vsnprintf also writes a NUL, which does not count towards the maximum. */
	if ((size_t)len > b->max || b->len > b->max - (size_t)len)
		return false;
	b->max++;
	to = buf_reserve(b, (size_t)len + 1);
	b->max--;
	if (b->cap > b->max)
		b->cap = b->max;
	vsnprintf(to, (size_t)len + 1, format, args);
	b->len += (size_t)len;
	return true;
}

bool buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	bool ok;

	va_start(args, format);
	ok = buf_vprintf(b, format, args);
	va_end(args);
	return ok;
}

void buf_consume(struct buf *b, size_t len)
{
	assert(len <= b->len);
	b->len -= len;
	b->start = b->len != 0 ? b->start + len : 0;
}

void buf_truncate(struct buf *b, size_t len)
{
	assert(len <= b->len);
	b->len = len;
	if (len == 0)
		b->start = 0;
}

void buf_clear(struct buf *b)
{
	buf_truncate(b, 0);
}

void buf_shrink(struct buf *b, size_t keep)
{
	if (b->mem == NULL || b->cap <= keep || b->cap <= b->len)
		return;
	if (b->len == 0 && keep == 0) {
		buf_done(b);
		return;
	}
	move_to_front(b);
	b->cap = b->len > keep ? b->len : keep;
	b->mem = mem_realloc(b->mem, b->cap);
}

char *buf_cstr(struct buf *b)
{
	char *end = buf_reserve(b, 1);

	assert(end != NULL);
	*end = '\0';
	return b->mem + b->start;
}
