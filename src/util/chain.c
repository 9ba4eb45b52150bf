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
	chunk->shared = NULL;
	chunk->start = 0;
	chunk->end = 0;
	return chunk;
}

/* The memory of a chunk. */
static size_t chunk_memory(const struct chunk *chunk)
{
	return sizeof *chunk + (chunk->shared != NULL ? chunk->shared->len : chunk->cap);
}

static char *chunk_bytes(struct chunk *chunk)
{
	return chunk->shared != NULL ? chunk->shared->data : chunk->data;
}

static void free_if_unused(struct shared_bytes *shared)
{
	if (shared->uses == 0 && shared->is_released)
		free(shared);
}

static void drop_shared(struct chunk_pool *pool, struct shared_bytes *shared)
{
	assert(shared->uses > 0);
	if (--shared->uses != 0) {
		assert(pool->counted_twice >= shared->len);
		pool->counted_twice -= shared->len;
	}
	free_if_unused(shared);
}

static void chunk_free(struct chunk_pool *pool, struct chunk *chunk)
{
	if (chunk->shared != NULL) {
		drop_shared(pool, chunk->shared);
		free(chunk);
	} else if (chunk->cap == CHAIN_CHUNK_BYTES && pool->count < pool->keep) {
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
	c->allocated -= chunk_memory(chunk);
	chunk_free(c->pool, chunk);
}

void chain_done(struct chain *c)
{
	while (c->head != NULL)
		drop_head(c);
}

static void add_tail(struct chain *c, struct chunk *chunk)
{
	if (c->tail != NULL)
		c->tail->next = chunk;
	else
		c->head = chunk;
	c->tail = chunk;
	c->allocated += chunk_memory(chunk);
}

/* The least room of the next chunk. */
static size_t least_room(const struct chain *c)
{
	if (c->tail != NULL && c->tail->shared != NULL)
		return CHAIN_GLUE_BYTES;
	return c->len < CHAIN_LARGE_BYTES ? CHAIN_CHUNK_BYTES : LARGE_CHUNK_BYTES;
}

char *chain_grow(struct chain *c, size_t size)
{
	size_t least = least_room(c);
	struct chunk *chunk = chunk_new(c->pool, size > least ? size : least);

	add_tail(c, chunk);
	return chunk->data;
}

struct shared_bytes *shared_bytes_new(struct qless_str s)
{
	struct shared_bytes *shared = mem_alloc(sizeof *shared + s.len);

	shared->uses = 0;
	shared->is_released = false;
	shared->len = s.len;
	memcpy(shared->data, s.ptr, s.len);
	return shared;
}

void shared_bytes_release(struct shared_bytes *shared)
{
	if (shared == NULL)
		return;
	assert(!shared->is_released);
	shared->is_released = true;
	free_if_unused(shared);
}

void chain_append_shared(struct chain *c, struct shared_bytes *shared)
{
	struct chunk *chunk = mem_alloc(sizeof *chunk);

	assert(!shared->is_released);
	*chunk = (struct chunk){ .shared = shared, .cap = shared->len, .end = shared->len };
	if (shared->uses++ != 0)
		c->pool->counted_twice += shared->len;
	add_tail(c, chunk);
	c->len += shared->len;
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

/* A moved chunk keeps its room. Many short chains would leave most of the memory empty, so a chunk
 * of the common size is copied. */
static bool is_cheaper_to_copy(const struct chain *to, const struct chain *from)
{
	return to->tail != NULL && from->head == from->tail && from->head->shared == NULL &&
	       from->len <= CHAIN_CHUNK_BYTES;
}

void chain_move(struct chain *to, struct chain *from)
{
	assert(to->pool == from->pool);
	if (from->head == NULL)
		return;
	if (is_cheaper_to_copy(to, from)) {
		chain_append(to, from->head->data + from->head->start, from->len);
		chain_done(from);
		return;
	}
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
		iov[count].iov_base = chunk_bytes(chunk) + chunk->start;
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
		rest.allocated += chunk_memory(chunk);
	}
	last->end = last->start + left;
	if (last->shared != NULL)
		last->cap = last->end;
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
