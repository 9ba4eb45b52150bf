/*
 * A chain of chunks for output: bytes go in at the tail and leave at the head.
 *
 * No byte between the two ends ever moves. So a reply of many megabytes is copied once, and freed
 * piece by piece as the peer reads it. Chunks of the common size come from a pool that many chains
 * share, and an idle chain holds no memory. A chain that holds many bytes gets larger chunks for
 * more.
 *
 * Several chains can send the same bytes without a copy for each: see struct shared_bytes.
 */
#ifndef UTIL_CHAIN_H
#define UTIL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "util/str.h"

/* Bytes of data in a common chunk. With its header a chunk fills a 16 KiB size class of the
 * allocator. */
#define CHAIN_CHUNK_BYTES ((size_t)16 * 1024 - sizeof(struct chunk))

/* Bytes of a large chunk with its header. A chain gets one when it already holds this many bytes,
 * so at most half of its memory is unused. */
#define CHAIN_LARGE_BYTES ((size_t)128 * 1024)

/* Bytes of a chunk between two shared ones. It usually gets a line end and the next header. */
#define CHAIN_GLUE_BYTES ((size_t)256)

/* Bytes that several chains send, and that do not change. They are freed when their maker has
 * released them and no chain has them any more. */
struct shared_bytes {
	size_t uses; /* chunks that refer to them */
	bool is_released;
	size_t len;
	char data[];
};

struct chunk {
	struct chunk *next;
	struct shared_bytes *shared; /* the bytes are there; NULL: in `data` */
	size_t cap;		     /* a shared chunk has no room: `cap` is `end` */
	size_t start;		     /* the bytes are data[start] .. data[end - 1] */
	size_t end;
	char data[];
};

struct chunk_pool {
	struct chunk *free;
	size_t count;
	size_t keep; /* chunks that the pool keeps at most */
	/* The chains of the pool count each of their shared bytes as allocated. This is how much
	 * more they count than there is. */
	size_t counted_twice;
};

struct chain {
	struct chunk *head;
	struct chunk *tail;
	size_t len;
	size_t allocated; /* bytes of all chunks, with headers and shared bytes */
	struct chunk_pool *pool;
};

void chunk_pool_init(struct chunk_pool *pool, size_t keep);
/* Frees the chunks that the pool keeps. The pool stays usable. */
void chunk_pool_done(struct chunk_pool *pool);

/* Borrows the pool until chain_done(). */
void chain_init(struct chain *c, struct chunk_pool *pool);
void chain_done(struct chain *c);

/* Adds a tail with room for `size` bytes: the slow path of chain_reserve(). */
char *chain_grow(struct chain *c, size_t size);

/* Room for `size` bytes in one piece. Bytes written there count after chain_commit(). */
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

/* Makes shared bytes of a copy of `s`. The maker releases them when it has appended them. */
struct shared_bytes *shared_bytes_new(struct qless_str s);
/* NULL is a no-op. */
void shared_bytes_release(struct shared_bytes *shared);

/* Appends shared bytes without copying. All chains that share bytes use the same pool. */
void chain_append_shared(struct chain *c, struct shared_bytes *shared);

/* Appends all bytes of `from` to `to`, and leaves `from` empty. Copies at most CHAIN_CHUNK_BYTES.
 * Both use the same pool. */
void chain_move(struct chain *to, struct chain *from);

/* Describes the bytes from the front in up to `max` pieces of at most `limit` bytes together.
 * Returns the number of pieces. */
int chain_peek(const struct chain *c, struct iovec *iov, int max, size_t limit);

/* Keeps the first `len` bytes, and removes those after them. */
void chain_truncate(struct chain *c, size_t len);

/* Removes `len` bytes from the front. */
void chain_consume(struct chain *c, size_t len);

#endif
