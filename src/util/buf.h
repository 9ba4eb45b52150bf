/*
 * A growable run of bytes with a maximum.
 *
 * Appending never goes past the maximum: the call returns false and leaves the buffer as it was.
 * Bytes can be taken off the front; the room they leave is used again by the next append that needs
 * it.
 */
#ifndef UTIL_BUF_H
#define UTIL_BUF_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

#define BUF_NO_MAX ((size_t)-1 / 4)

struct buf {
	char *mem;    /* what is allocated; NULL while nothing is */
	size_t start; /* the bytes are mem[start] .. mem[start + len - 1] */
	size_t len;
	size_t cap; /* no more than max */
	size_t max;
};

#define BUF_INIT(maximum)        \
	{                        \
		.max = (maximum) \
	}

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);

static inline char *buf_data(const struct buf *b)
{
	return b->mem + b->start;
}

static inline struct qless_str buf_str(const struct buf *b)
{
	return str_make(b->mem != NULL ? b->mem + b->start : "", b->len);
}

/* What buf_reserve() does when there is no room for it yet. */
char *buf_grow(struct buf *b, size_t extra);

/* Make room for `extra` more bytes and return where they go, or NULL if they would not fit under
 * the maximum. What is written there counts after buf_commit(). Pointers into the buffer are no
 * longer good afterwards. Always inline, for replies are made of a great many small pieces, and
 * with that many uses the compiler would rather not. */
static inline __attribute__((always_inline)) char *buf_reserve(struct buf *b, size_t extra)
{
	if (extra > b->cap - b->start - b->len || b->mem == NULL)
		return buf_grow(b, extra);
	return b->mem + b->start + b->len;
}

static inline void buf_commit(struct buf *b, size_t written)
{
	assert(written <= b->cap - b->start - b->len);
	b->len += written;
}

/*
 * Many small pieces in a row are put at a place that is kept in hand. buf_open() returns it,
 * buf_room() makes sure of room for `extra` bytes there and says where it is then, and with
 * buf_close() what is before it counts. For buffers without a maximum.
 */
static inline char *buf_open(struct buf *b)
{
	return buf_reserve(b, 1);
}

static inline void buf_close(struct buf *b, const char *to)
{
	assert(to >= buf_data(b) && to <= b->mem + b->cap);
	b->len = (size_t)(to - buf_data(b));
}

/* What buf_room() does when there is none yet. */
char *buf_make_room(struct buf *b, const char *to, size_t extra);

static inline __attribute__((always_inline)) char *buf_room(struct buf *b, char *to, size_t extra)
{
	return extra <= (size_t)(b->mem + b->cap - to) ? to : buf_make_room(b, to, extra);
}

static inline bool buf_append(struct buf *b, const void *src, size_t len)
{
	char *to = buf_reserve(b, len);

	if (to == NULL)
		return false;
	if (len != 0)
		memcpy(to, src, len);
	b->len += len;
	return true;
}

static inline bool buf_append_str(struct buf *b, struct qless_str s)
{
	return buf_append(b, s.ptr, s.len);
}

static inline bool buf_append_char(struct buf *b, char c)
{
	return buf_append(b, &c, 1);
}

bool buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool buf_vprintf(struct buf *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Drop `len` bytes from the front. */
void buf_consume(struct buf *b, size_t len);
/* Drop what is behind the first `len` bytes. */
void buf_truncate(struct buf *b, size_t len);
/* Empty the buffer but keep its memory. */
void buf_clear(struct buf *b);
/* Give back memory in excess of `keep` bytes; what is in the buffer stays. */
void buf_shrink(struct buf *b, size_t keep);

/* A NUL behind the bytes, not counted in len; returns the bytes. They must not take the last byte
 * under the maximum. */
char *buf_cstr(struct buf *b);

#endif
