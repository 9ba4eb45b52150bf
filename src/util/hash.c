/*
 * Linear hashing. With 2^k buckets, an entry is in the bucket that the low k bits of its hash name.
 * Bucket number 2^k is added by splitting bucket 0 by bit k of the hashes, the next by splitting
 * bucket 1, and so on: in between, the buckets that are split and those that came from them go by
 * k + 1 bits, the rest by k.
 *
 *	mask + 1 = 8          0   1   2   3   4   5
 *	buckets  = 6        split split         new new        2 and 3 still go by 2 bits
 *
 * Buckets are addressed through segments of a fixed size. While one segment is enough, it is
 * smaller where it can be, and there is no list of segments.
 *
 * A split or merge keeps the order within a chain; walking while entries are removed relies on it.
 */
#include "util/hash.h"

#include <assert.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/mem.h"

#define BUCKETS_MIN	4u
#define BUCKETS_MAX	(1u << 31)
#define SEGMENT_BUCKETS 4096u
#define SEGMENTS_MIN	4u

/* Entries that are inserted together: enough to fill the time that memory takes. */
#define BATCH ((size_t)64)

void hash_init(struct hash *h, hash_key_fn *key, uint64_t seed)
{
	*h = (struct hash){ .key = key, .seed = seed };
}

static bool is_segmented(const struct hash *h)
{
	return h->mask >= SEGMENT_BUCKETS;
}

static uint32_t segment_count(const struct hash *h)
{
	return (h->buckets + SEGMENT_BUCKETS - 1) / SEGMENT_BUCKETS;
}

void hash_done(struct hash *h)
{
	if (is_segmented(h)) {
		for (uint32_t i = 0; i < segment_count(h); i++)
			free(h->u.segments[i]);
		free(h->u.segments);
	} else {
		free(h->u.first);
	}
	hash_init(h, h->key, h->seed);
}

size_t hash_memory(const struct hash *h)
{
	size_t bytes = h->cap * sizeof(void *);

	if (is_segmented(h))
		bytes += (size_t)segment_count(h) * SEGMENT_BUCKETS * sizeof(void *);
	return bytes;
}

uint64_t hash_bytes(uint64_t seed, struct qless_str bytes)
{
	return XXH3_64bits_withSeed(bytes.ptr, bytes.len, seed);
}

uint32_t hash_compute(uint64_t seed, struct qless_str key)
{
	return (uint32_t)hash_bytes(seed, key);
}

static struct hash_node **bucket_slot(const struct hash *h, uint32_t bucket)
{
	if (!is_segmented(h))
		return &h->u.first[bucket];
	return &h->u.segments[bucket / SEGMENT_BUCKETS][bucket % SEGMENT_BUCKETS];
}

/* The table has buckets. */
static uint32_t bucket_of(const struct hash *h, uint32_t hash)
{
	uint32_t bucket = hash & h->mask;

	return bucket < h->buckets ? bucket : bucket & h->mask >> 1;
}

/* The bucket that was split to make this one, or will take it in. */
static uint32_t bucket_origin(const struct hash *h, uint32_t bucket)
{
	return bucket & h->mask >> 1;
}

struct hash_node *hash_find_hashed(const struct hash *h, struct qless_str key, uint32_t hash)
{
	struct hash_node *node;

	if (h->count == 0)
		return NULL;
	node = *bucket_slot(h, bucket_of(h, hash));
	while (node != NULL && !(node->hash == hash && str_equal(h->key(node), key)))
		node = node->next;
	return node;
}

struct hash_node *hash_find(const struct hash *h, struct qless_str key)
{
	if (h->count == 0)
		return NULL;
	return hash_find_hashed(h, key, hash_compute(h->seed, key));
}

/* Count one more bucket and make room for its slot, which is left as it is. */
static void add_bucket(struct hash *h)
{
	uint32_t segment = h->buckets / SEGMENT_BUCKETS;

	if (segment == 0) {
		if (h->buckets == h->cap) {
			h->cap *= 2;
			h->u.first = mem_realloc_array(h->u.first, h->cap, sizeof *h->u.first);
		}
	} else if (h->buckets % SEGMENT_BUCKETS == 0) {
		if (segment == 1) {
			struct hash_node **first = h->u.first;

			h->cap = SEGMENTS_MIN;
			h->u.segments = mem_realloc_array(NULL, h->cap, sizeof *h->u.segments);
			h->u.segments[0] = first;
		} else if (segment == h->cap) {
			h->cap *= 2;
			h->u.segments =
				mem_realloc_array(h->u.segments, h->cap, sizeof *h->u.segments);
		}
		h->u.segments[segment] =
			mem_realloc_array(NULL, SEGMENT_BUCKETS, sizeof *h->u.segments[segment]);
	}
	if (h->buckets > h->mask)
		h->mask = h->mask * 2 + 1;
	h->buckets++;
}

/* Count one bucket less, the last, which is empty, and give back memory. */
static void drop_bucket(struct hash *h)
{
	uint32_t segment;

	h->buckets--;
	segment = h->buckets / SEGMENT_BUCKETS;
	if (segment == 0) {
		if (h->buckets == h->cap / 2) {
			h->cap /= 2;
			h->u.first = mem_realloc_array(h->u.first, h->cap, sizeof *h->u.first);
		}
	} else if (h->buckets % SEGMENT_BUCKETS == 0) {
		free(h->u.segments[segment]);
		if (segment == 1) {
			struct hash_node **first = h->u.segments[0];

			free(h->u.segments);
			h->u.first = first;
			h->cap = SEGMENT_BUCKETS;
		} else if (segment == h->cap / 4) {
			h->cap /= 2;
			h->u.segments =
				mem_realloc_array(h->u.segments, h->cap, sizeof *h->u.segments);
		}
	}
	if (h->buckets == (h->mask >> 1) + 1)
		h->mask >>= 1;
}

static void split_bucket(struct hash *h)
{
	uint32_t added = h->buckets;
	struct hash_node **stay, **go, *node;

	add_bucket(h);
	stay = bucket_slot(h, bucket_origin(h, added));
	go = bucket_slot(h, added);
	for (node = *stay; node != NULL; node = node->next) {
		if ((node->hash & h->mask) == added) {
			*go = node;
			go = &node->next;
		} else {
			*stay = node;
			stay = &node->next;
		}
	}
	*stay = NULL;
	*go = NULL;
}

static void merge_bucket(struct hash *h)
{
	uint32_t last = h->buckets - 1;
	struct hash_node *node = *bucket_slot(h, last);

	if (node != NULL) {
		struct hash_node **end = bucket_slot(h, bucket_origin(h, last));

		while (*end != NULL)
			end = &(*end)->next;
		*end = node;
	}
	drop_bucket(h);
}

static void make_first_buckets(struct hash *h)
{
	h->u.first = mem_zalloc(BUCKETS_MIN * sizeof *h->u.first);
	h->cap = BUCKETS_MIN;
	h->buckets = BUCKETS_MIN;
	h->mask = BUCKETS_MIN - 1;
}

static void insert_at(struct hash *h, struct hash_node **slot, struct hash_node *node)
{
	node->next = *slot;
	*slot = node;
	h->count++;
	if (h->count > h->buckets && h->buckets < BUCKETS_MAX)
		split_bucket(h);
}

void hash_insert_hashed(struct hash *h, struct hash_node *node, uint32_t hash)
{
	assert(h->count < HASH_COUNT_MAX);
	if (h->buckets == 0)
		make_first_buckets(h);
	node->hash = hash;
	insert_at(h, bucket_slot(h, bucket_of(h, hash)), node);
}

void hash_insert(struct hash *h, struct hash_node *node)
{
	hash_insert_hashed(h, node, hash_compute(h->seed, h->key(node)));
}

/* The bucket that the i'th split from now will split; any bucket, where that is not known yet. */
static struct hash_node **slot_to_split(const struct hash *h, size_t i)
{
	return bucket_slot(h, bucket_origin(h, h->buckets + (uint32_t)i));
}

/*
 * In a large table each insertion waits for memory three times: for its slot, for the entry there,
 * and for the entry in the bucket that is split. Here each is asked for in one pass and used in a
 * later one. Splits move a few buckets in between; then the wrong memory was asked for, which does
 * no harm.
 */
static bool insert_batch(struct hash *h, struct hash_node *const *nodes, size_t count)
{
	bool is_new = true;

	for (size_t i = 0; i < count; i++) {
		nodes[i]->hash = hash_compute(h->seed, h->key(nodes[i]));
		__builtin_prefetch(bucket_slot(h, bucket_of(h, nodes[i]->hash)));
		__builtin_prefetch(slot_to_split(h, i));
	}
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(*bucket_slot(h, bucket_of(h, nodes[i]->hash)));
		__builtin_prefetch(*slot_to_split(h, i));
	}
	for (size_t i = 0; i < count; i++) {
		struct hash_node *node = nodes[i];
		struct qless_str key = h->key(node);

		is_new &= hash_find_hashed(h, key, node->hash) == NULL;
		insert_at(h, bucket_slot(h, bucket_of(h, node->hash)), node);
	}
	return is_new;
}

bool hash_insert_many(struct hash *h, struct hash_node *const *nodes, size_t count)
{
	bool is_new = true;

	assert(count <= HASH_COUNT_MAX - h->count);
	if (h->buckets == 0 && count > 0)
		make_first_buckets(h);
	while (count > 0) {
		size_t n = count < BATCH ? count : BATCH;

		is_new &= insert_batch(h, nodes, n);
		nodes += n;
		count -= n;
	}
	return is_new;
}

/* Two merges for each removal keep up: one entry less allows two buckets less. Between one entry
 * and half an entry a bucket there is room to come and go without splitting and merging. */
static void shrink(struct hash *h)
{
	for (int i = 0; i < 2 && h->count < h->buckets / 2 && h->buckets > BUCKETS_MIN; i++)
		merge_bucket(h);
}

void hash_remove(struct hash *h, struct hash_node *node)
{
	struct hash_node **link;

	assert(h->count != 0);
	link = bucket_slot(h, bucket_of(h, node->hash));
	while (*link != node) {
		assert(*link != NULL);
		link = &(*link)->next;
	}
	*link = node->next;
	node->next = NULL;
	h->count--;
	shrink(h);
}

/* The bucket to drain next, which is not empty: the last, as it then goes without a merge. Empty
 * ones behind it go at once. The table has entries. */
static struct hash_node **last_full_slot(struct hash *h)
{
	uint32_t bucket = h->buckets - 1;

	while (*bucket_slot(h, bucket) == NULL) {
		if (h->buckets > BUCKETS_MIN)
			drop_bucket(h);
		bucket--;
	}
	return bucket_slot(h, bucket);
}

struct hash_node *hash_drain(struct hash *h, size_t max)
{
	struct hash_node *list = NULL;

	while (max != 0 && h->count != 0) {
		struct hash_node **slot = last_full_slot(h);

		while (max != 0 && *slot != NULL) {
			struct hash_node *node = *slot;

			*slot = node->next;
			node->next = list;
			list = node;
			h->count--;
			max--;
		}
	}
	return list;
}

/*
 * Walking goes by position, which is the hash with its bits in reverse. Seen so, a bucket is a
 * range of positions, and a split or merge halves a range or joins two that are neighbours: it
 * never moves an entry from where the walk has been to where it is still to come, or back.
 */
static uint32_t position_of(uint32_t hash)
{
	hash = (hash >> 1 & 0x55555555) | (hash & 0x55555555) << 1;
	hash = (hash >> 2 & 0x33333333) | (hash & 0x33333333) << 2;
	hash = (hash >> 4 & 0x0f0f0f0f) | (hash & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(hash);
}

/* The last position in a bucket. */
static uint32_t bucket_last_position(const struct hash *h, uint32_t bucket)
{
	bool is_split = (bucket | ((h->mask >> 1) + 1)) < h->buckets;
	uint32_t mask = is_split ? h->mask : h->mask >> 1;

	return position_of(bucket | ~mask);
}

/* Stand before the first entry of the bucket that has the position. */
static void iter_seek(struct hash_iter *it, uint32_t position)
{
	uint32_t bucket = bucket_of(it->table, position_of(position));

	it->first = position;
	it->last = bucket_last_position(it->table, bucket);
	it->next = *bucket_slot(it->table, bucket);
}

struct hash_node *hash_first(struct hash_iter *it, const struct hash *h)
{
	*it = (struct hash_iter){ .table = h, .last = UINT32_MAX };
	if (h->count == 0)
		return NULL;
	iter_seek(it, 0);
	return hash_next(it);
}

struct hash_node *hash_next(struct hash_iter *it)
{
	for (;;) {
		struct hash_node *node = it->next;

		if (node == NULL) {
			if (it->last == UINT32_MAX)
				return NULL;
			iter_seek(it, it->last + 1);
			continue;
		}
		it->next = node->next;
		/* A merge may have put entries of another range behind those of this one. */
		if (position_of(node->hash) >= it->first && position_of(node->hash) <= it->last)
			return node;
	}
}

uint32_t hash_scan(const struct hash *h, uint32_t cursor, hash_visit_fn *visit, void *arg)
{
	struct hash_iter it = { .table = h };
	struct hash_node *node;

	if (h->count == 0)
		return 0;
	iter_seek(&it, cursor);
	while ((node = it.next) != NULL) {
		it.next = node->next;
		if (position_of(node->hash) >= cursor)
			visit(node, arg);
	}
	return it.last + 1;
}
