/*
 * A chain of chunks: bytes on their way out.
 *
 * Bytes go in at the tail and leave at the head, and neither end ever moves what lies between, so a
 * reply of many megabytes costs one copy and is given back piece by piece as the peer takes it.
 * Chunks of the common size are kept in a pool that many chains share; an idle chain holds no
 * memory. A chain that has many bytes already gets larger chunks for more.
 */
#ifndef UTIL_CHAIN_H
#define UTIL_CHAIN_H

#include <stddef.h>
#include <sys/uio.h>

#include "util/str.h"

/* Chosen so that a chunk with its header fills a 16 KiB size class of the allocator. */
#define CHAIN_CHUNK_BYTES ((size_t)16 * 1024 - sizeof(struct chunk))

/* A larger chunk with its header. As many bytes are in a chain before it gets one, so that at most
 * half of what it holds is unused then. */
#define CHAIN_LARGE_BYTES ((size_t)128 * 1024)

struct chunk {
	struct chunk *next;
	size_t cap;
	size_t start; /* the bytes are data[start] .. data[end - 1] */
	size_t end;
	char data[];
};

struct chunk_pool {
	struct chunk *free;
	size_t count;
	size_t keep; /* no more than this many are kept */
};

struct chain {
	struct chunk *head;
	struct chunk *tail;
	size_t len;
	size_t allocated; /* bytes of all chunks, headers included */
	struct chunk_pool *pool;
};

void chunk_pool_init(struct chunk_pool *pool, size_t keep);
/* Frees what is kept. The pool can go on being used. */
void chunk_pool_done(struct chunk_pool *pool);

/* Borrows the pool until chain_done(). */
void chain_init(struct chain *c, struct chunk_pool *pool);
void chain_done(struct chain *c);

/* A new tail with room for `size` bytes; chain_reserve() is the way to call it. */
char *chain_grow(struct chain *c, size_t size);

/* Room for `size` bytes in one piece; what is written there counts after chain_commit(). */
static inline char *chain_reserve(struct chain *c, size_t size)
{
	struct chunk *tail = c->tail;

	if (tail != NULL && tail->cap - tail->end >= size)
		return tail->data + tail->end;
	return chain_grow(c, size);
}

static inline void chain_commit(struct chain *c, size_t written)
{
	c->tail->end += written;
	c->len += written;
}

void chain_append(struct chain *c, const void *src, size_t len);
void chain_append_str(struct chain *c, struct qless_str s);

/* All of `from` behind what is in `to`, without copying; `from` is left empty. Both use the same
 * pool. */
void chain_move(struct chain *to, struct chain *from);

/* Describe the bytes from the front in up to `max` pieces, none longer in all than `limit`; returns
 * how many pieces. */
int chain_peek(const struct chain *c, struct iovec *iov, int max, size_t limit);

/* Drop `len` bytes from the front. */
void chain_consume(struct chain *c, size_t len);

#endif
