/*
 * A growable run of bytes with a maximum.
 *
 * Appending never exceeds the maximum: the call returns false and leaves the buffer unchanged.
 * Bytes can be removed from the front. The next append that needs their room reuses it.
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
	char *mem;    /* allocated memory, or NULL */
	size_t start; /* the bytes are mem[start] .. mem[start + len - 1] */
	size_t len;
	size_t cap; /* at most max */
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

/* The slow path of buf_reserve(). */
char *buf_grow(struct buf *b, size_t extra);

/* Make room for `extra` more bytes. Returns where they go, or NULL if they would exceed the
 * maximum. Bytes written there count after buf_commit(). The call invalidates pointers into the
 * buffer. It is always inline, because replies consist of many small pieces and the compiler would
 * not inline that many uses. */
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
 * Write many small pieces at a pointer that the caller keeps in a register. buf_open() returns the
 * pointer. buf_room() makes room for `extra` bytes there and returns the pointer, which may have
 * moved. buf_close() counts the bytes before it. Only for buffers without a maximum.
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

/* The slow path of buf_room(). */
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

/* Remove `len` bytes from the front. */
void buf_consume(struct buf *b, size_t len);
/* Keep only the first `len` bytes. */
void buf_truncate(struct buf *b, size_t len);
/* Empty the buffer but keep its memory. */
void buf_clear(struct buf *b);
/* Free memory in excess of `keep` bytes. The content stays. */
void buf_shrink(struct buf *b, size_t keep);

/* Write a NUL after the bytes, not counted in `len`, and return the bytes. The buffer must be at
 * least one byte below its maximum. */
char *buf_cstr(struct buf *b);

#endif
