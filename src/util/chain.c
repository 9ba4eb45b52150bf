#include "util/chain.h"

#include <assert.h>

#include "util/mem.h"

#define LARGE_CHUNK_BYTES (CHAIN_LARGE_BYTES - sizeof(struct chunk))
#define ROUND_BYTES	  ((size_t)4096)

void chunk_pool_init(struct chunk_pool *pool, size_t keep)
{
	*pool = (struct chunk_pool){ .keep = keep };
}

void chunk_pool_done(struct chunk_pool *pool)
{
	while (pool->free != NULL) {
		struct chunk *next = pool->free->next;

		free(pool->free);
		pool->free = next;
	}
	pool->count = 0;
}

/* A chunk of an uncommon size fits the bytes that need it. It has spare room for what ends them,
 * usually a line end. */
static struct chunk *alloc_chunk(size_t size)
{
	size_t whole = sizeof(struct chunk) + size;
	struct chunk *chunk;

	if (size > CHAIN_CHUNK_BYTES)
		whole = (whole + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
	chunk = size == LARGE_CHUNK_BYTES ? mem_alloc_resident(whole) : mem_alloc(whole);
	chunk->cap = whole - sizeof *chunk;
	return chunk;
}

/* Returns a chunk with room for `size` bytes, at least CHAIN_CHUNK_BYTES. */
static struct chunk *chunk_new(struct chunk_pool *pool, size_t size)
{
	struct chunk *chunk;

	if (size == CHAIN_CHUNK_BYTES && pool->free != NULL) {
		chunk = pool->free;
		pool->free = chunk->next;
		pool->count--;
	} else {
		chunk = alloc_chunk(size);
	}
	chunk->next = NULL;
	chunk->start = 0;
	chunk->end = 0;
	return chunk;
}

static void chunk_free(struct chunk_pool *pool, struct chunk *chunk)
{
	if (chunk->cap == CHAIN_CHUNK_BYTES && pool->count < pool->keep) {
		chunk->next = pool->free;
		pool->free = chunk;
		pool->count++;
	} else {
		free(chunk);
	}
}

void chain_init(struct chain *c, struct chunk_pool *pool)
{
	*c = (struct chain){ .pool = pool };
}

static void drop_head(struct chain *c)
{
	struct chunk *chunk = c->head;

	c->head = chunk->next;
	if (c->head == NULL)
		c->tail = NULL;
	c->len -= chunk->end - chunk->start;
	c->allocated -= sizeof *chunk + chunk->cap;
	chunk_free(c->pool, chunk);
}

void chain_done(struct chain *c)
{
	while (c->head != NULL)
		drop_head(c);
}

char *chain_grow(struct chain *c, size_t size)
{
	size_t least = c->len < CHAIN_LARGE_BYTES ? CHAIN_CHUNK_BYTES : LARGE_CHUNK_BYTES;
	struct chunk *chunk = chunk_new(c->pool, size > least ? size : least);

	if (c->tail != NULL)
		c->tail->next = chunk;
	else
		c->head = chunk;
	c->tail = chunk;
	c->allocated += sizeof *chunk + chunk->cap;
	return chunk->data;
}

void chain_append(struct chain *c, const void *src, size_t len)
{
	const char *from = src;

	/* Fill the tail first, so that a large reply leaves no chunk mostly empty before it. */
	if (c->tail != NULL) {
		size_t room = c->tail->cap - c->tail->end;
		size_t part = len < room ? len : room;

		if (part != 0) {
			memcpy(c->tail->data + c->tail->end, from, part);
			chain_commit(c, part);
			from += part;
			len -= part;
		}
	}
	if (len != 0) {
		memcpy(chain_grow(c, len), from, len);
		chain_commit(c, len);
	}
}

void chain_append_str(struct chain *c, struct qless_str s)
{
	chain_append(c, s.ptr, s.len);
}

void chain_move(struct chain *to, struct chain *from)
{
	assert(to->pool == from->pool);
	if (from->head == NULL)
		return;
	if (to->tail != NULL)
		to->tail->next = from->head;
	else
		to->head = from->head;
	to->tail = from->tail;
	to->len += from->len;
	to->allocated += from->allocated;
	chain_init(from, from->pool);
}

int chain_peek(const struct chain *c, struct iovec *iov, int max, size_t limit)
{
	int count = 0;

	for (struct chunk *chunk = c->head; chunk != NULL && count < max && limit != 0;
	     chunk = chunk->next) {
		size_t len = chunk->end - chunk->start;

		if (len == 0)
			continue;
		if (len > limit)
			len = limit;
		iov[count].iov_base = chunk->data + chunk->start;
		iov[count].iov_len = len;
		count++;
		limit -= len;
	}
	return count;
}

void chain_truncate(struct chain *c, size_t len)
{
	struct chain rest;
	struct chunk *last = c->head;
	size_t left = len;

	assert(len <= c->len);
	if (len == 0) {
		chain_done(c);
		return;
	}
	for (; left > last->end - last->start; last = last->next)
		left -= last->end - last->start;
	chain_init(&rest, c->pool);
	rest.head = last->next;
	for (const struct chunk *chunk = rest.head; chunk != NULL; chunk = chunk->next) {
		rest.len += chunk->end - chunk->start;
		rest.allocated += sizeof *chunk + chunk->cap;
	}
	last->end = last->start + left;
	last->next = NULL;
	c->tail = last;
	c->len = len;
	c->allocated -= rest.allocated;
	chain_done(&rest);
}

void chain_consume(struct chain *c, size_t len)
{
	assert(len <= c->len);
	while (c->head != NULL) {
		size_t have = c->head->end - c->head->start;

		if (len < have) {
			c->head->start += len;
			c->len -= len;
			return;
		}
		len -= have;
		drop_head(c);
	}
}
