/*
 * Linear hashing. With 2^k buckets, the low k bits of the hash of an entry are the number of its
 * bucket. Bucket 2^k is added by splitting bucket 0 by bit k of the hashes, the next one by
 * splitting bucket 1, and so on. In between, the buckets that were split and those that came from
 * them use k + 1 bits, and the others use k.
 *
 *	mask + 1 = 8          0   1   2   3   4   5
 *	buckets  = 6        split split         new new        2 and 3 still use 2 bits
 *
 * A bucket is one cache line with seven entries and their tags: eight more bits of the hash of
 * each. A search without a match, an insertion and a removal wait for memory once. A successful
 * search waits twice, for the bucket and for the entry. In a table of millions that waiting takes
 * most of the time of a call, and a linked list would wait for each of its entries. A bucket with
 * more than seven entries continues in another line, and the place of the seventh entry links to
 * it. All lines of a bucket except the last are full.
 *
 * Segments of a fixed size hold the buckets. A table with a single segment may have a smaller one,
 * and has no list of segments. In a large table each call touches a page that no recent call has
 * touched, and its address translation takes as long as reading from it. So all segments except the
 * first few come in blocks on huge pages, whose translations fit into the processor's cache for
 * them.
 */
#include "util/hash.h"

#include <assert.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/mem.h"
#include "util/wire.h"

#define LINE_ENTRIES	7u
#define LINK_AT		(LINE_ENTRIES - 1)
#define LOAD		4u /* average number of entries of a bucket at which the table grows */
#define BUCKETS_MIN	1u
#define BUCKETS_MAX	(1u << 29)
#define SEGMENT_BUCKETS 512u
#define SEGMENTS_MIN	4u
#define BLOCK_SEGMENTS	64u /* segments on one huge page */
/* Entries that are inserted together: enough work to hide the latency of memory. */
#define BATCH ((size_t)64)

/* Odd numbers without a pattern, which keep a hash of zeros from meeting a seed of zero. */
#define WIDE_LOW  0x9e3779b97f4a7c15
#define WIDE_HIGH 0xc2b2ae3d27d4eb4f

#define AS_TEXT(number)	 AS_TEXT_(number)
#define AS_TEXT_(number) #number

const char *hash_library(void)
{
	return "xxHash " AS_TEXT(XXH_VERSION_MAJOR) "." AS_TEXT(XXH_VERSION_MINOR) "." AS_TEXT(
		XXH_VERSION_RELEASE);
}

struct hash_line {
	/* The tag of each entry, the first in the lowest byte. The highest byte holds the number of
	 * entries, and whether the last place is a link. */
	uint64_t tags;
	union {
		struct hash_node *node;
		struct hash_line *line;
	} at[LINE_ENTRIES];
};

#define LINE_COUNT_SHIFT 56
#define LINE_COUNT_MASK	 ((uint64_t)7 << LINE_COUNT_SHIFT)
#define LINE_ONE	 ((uint64_t)1 << LINE_COUNT_SHIFT)
#define LINE_LINKED	 ((uint64_t)1 << 63)

static uint32_t line_count(const struct hash_line *line)
{
	return (uint32_t)((line->tags & LINE_COUNT_MASK) >> LINE_COUNT_SHIFT);
}

static bool line_is_linked(const struct hash_line *line)
{
	return (line->tags & LINE_LINKED) != 0;
}

/* The next line of the bucket, or NULL. */
static struct hash_line *line_next(const struct hash_line *line)
{
	return line_is_linked(line) ? line->at[LINK_AT].line : NULL;
}

static uint64_t tag_of(uint32_t hash)
{
	return hash >> 24;
}

static void line_set(struct hash_line *line, uint32_t i, struct hash_node *node, uint64_t tag)
{
	line->tags = (line->tags & ~((uint64_t)0xff << 8 * i)) | tag << 8 * i;
	line->at[i].node = node;
}

static uint64_t line_tag(const struct hash_line *line, uint32_t i)
{
	return line->tags >> 8 * i & 0xff;
}

/* The entries of a line whose tag may be `tag`, as the highest bits of their bytes. It rarely
 * contains an entry with another tag. */
static uint64_t line_match(const struct hash_line *line, uint64_t tag)
{
	uint64_t differs = line->tags ^ tag * 0x0101010101010101;
	uint64_t places = ((uint64_t)1 << 8 * line_count(line)) - 1;

	return (differs - 0x0101010101010101) & ~differs & 0x8080808080808080 & places;
}

static uint32_t first_match(uint64_t matches)
{
	return (uint32_t)__builtin_ctzll(matches) / 8;
}

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

static struct hash_line *bucket_line(const struct hash *h, uint32_t bucket)
{
	if (!is_segmented(h))
		return &h->u.first[bucket];
	return &h->u.segments[bucket / SEGMENT_BUCKETS][bucket % SEGMENT_BUCKETS];
}

/* The bucket of a hash. The table is not empty. */
static uint32_t bucket_of(const struct hash *h, uint32_t hash)
{
	uint32_t bucket = hash & h->mask;

	return bucket < h->buckets ? bucket : bucket & h->mask >> 1;
}

/* The bucket that was split to make this one, and that it will be merged into. */
static uint32_t bucket_origin(const struct hash *h, uint32_t bucket)
{
	return bucket & h->mask >> 1;
}

static void free_lines(struct hash_line *line)
{
	while (line != NULL) {
		struct hash_line *next = line_next(line);

		free(line);
		line = next;
	}
}

/* Whether an allocation begins with this segment. The first segments are allocated one by one, the
 * others in blocks. */
static bool is_allocated(uint32_t segment)
{
	return segment < BLOCK_SEGMENTS || segment % BLOCK_SEGMENTS == 0;
}

static struct hash_line *make_segment(const struct hash *h, uint32_t segment)
{
	size_t size = SEGMENT_BUCKETS * sizeof(struct hash_line);

	static_assert(BLOCK_SEGMENTS * SEGMENT_BUCKETS * sizeof(struct hash_line) == MEM_HUGE_BYTES,
		      "a block fills a huge page");
	if (!is_allocated(segment))
		return h->u.segments[segment - 1] + SEGMENT_BUCKETS;
	return segment < BLOCK_SEGMENTS ? mem_alloc(size) : mem_alloc_huge(MEM_HUGE_BYTES);
}

static void free_segment(const struct hash *h, uint32_t segment)
{
	if (is_allocated(segment))
		free(h->u.segments[segment]);
}

void hash_done(struct hash *h)
{
	for (uint32_t i = 0; i < h->buckets; i++)
		free_lines(line_next(bucket_line(h, i)));
	if (is_segmented(h)) {
		for (uint32_t i = 0; i < segment_count(h); i++)
			free_segment(h, i);
		free(h->u.segments);
	} else {
		free(h->u.first);
	}
	hash_init(h, h->key, h->seed);
}

size_t hash_memory(const struct hash *h)
{
	size_t lines = h->more;
	size_t segments = segment_count(h);

	if (!is_segmented(h))
		return (lines + h->cap) * sizeof(struct hash_line);
	if (segments > BLOCK_SEGMENTS)
		segments = (segments + BLOCK_SEGMENTS - 1) / BLOCK_SEGMENTS * BLOCK_SEGMENTS;
	lines += segments * SEGMENT_BUCKETS;
	return lines * sizeof(struct hash_line) + h->cap * sizeof(void *);
}

uint64_t hash_bytes(uint64_t seed, struct qless_str bytes)
{
	return XXH3_64bits_withSeed(bytes.ptr, bytes.len, seed);
}

void hash_bytes_wide(struct qless_str bytes, unsigned char ret_hash[HASH_WIDE_BYTES])
{
	XXH128_canonical_t wide;

	static_assert(sizeof wide == HASH_WIDE_BYTES, "the hash has 128 bits");
	XXH128_canonicalFromHash(&wide, XXH3_128bits(bytes.ptr, bytes.len));
	memcpy(ret_hash, &wide, sizeof wide);
}

static inline uint32_t compute_wide(uint64_t seed, const unsigned char wide[HASH_WIDE_BYTES])
{
	return (uint32_t)XXH3_mul128_fold64(wire_get_u64(wide) ^ seed ^ WIDE_LOW,
					    wire_get_u64(wide + 8) ^ (seed >> 32 | seed << 32) ^
						    WIDE_HIGH);
}

uint32_t hash_compute_wide(uint64_t seed, const unsigned char wide[HASH_WIDE_BYTES])
{
	return compute_wide(seed, wide);
}

uint32_t hash_compute(uint64_t seed, struct qless_str key)
{
	return (uint32_t)hash_bytes(seed, key);
}

/* Searches from a line of the bucket on, of which these entries may match. */
static __attribute__((noinline)) struct hash_node *find_from(const struct hash *h,
							     struct qless_str key, uint32_t hash,
							     const struct hash_line *line,
							     uint64_t matches)
{
	for (;;) {
		for (; matches != 0; matches &= matches - 1) {
			struct hash_node *node = line->at[first_match(matches)].node;

			if (node->hash == hash && str_equal(h->key(node), key))
				return node;
		}
		line = line_next(line);
		if (line == NULL)
			return NULL;
		matches = line_match(line, tag_of(hash));
	}
}

/* Most searches for what is new end in the first line. They take no stack. */
struct hash_node *hash_find_hashed(const struct hash *h, struct qless_str key, uint32_t hash)
{
	const struct hash_line *line;
	uint64_t matches;

	if (h->count == 0)
		return NULL;
	line = bucket_line(h, bucket_of(h, hash));
	matches = line_match(line, tag_of(hash));
	if (matches == 0 && !line_is_linked(line))
		return NULL;
	return find_from(h, key, hash, line, matches);
}

struct hash_node *hash_find(const struct hash *h, struct qless_str key)
{
	if (h->count == 0)
		return NULL;
	return hash_find_hashed(h, key, hash_compute(h->seed, key));
}

/* Inlined by force: gcc drops calls of a function that does nothing but prefetch. */
static inline __attribute__((always_inline)) void prefetch(const struct hash *h, uint32_t hash)
{
	if (h->count != 0)
		__builtin_prefetch(bucket_line(h, bucket_of(h, hash)));
}

void hash_prefetch(const struct hash *h, uint32_t hash)
{
	prefetch(h, hash);
}

uint32_t hash_prefetch_key(const struct hash *h, struct qless_str key)
{
	uint32_t hash = hash_compute(h->seed, key);

	prefetch(h, hash);
	return hash;
}

uint32_t hash_prefetch_wide(const struct hash *h, const unsigned char wide[HASH_WIDE_BYTES])
{
	uint32_t hash = compute_wide(h->seed, wide);

	prefetch(h, hash);
	return hash;
}

/* ---- buckets ---- */

static uint32_t bucket_count(const struct hash *h, uint32_t bucket)
{
	const struct hash_line *line = bucket_line(h, bucket);
	uint32_t count = line_count(line);

	while ((line = line_next(line)) != NULL)
		count += line_count(line);
	return count;
}

static struct hash_node *bucket_entry(const struct hash *h, uint32_t bucket, uint32_t i)
{
	const struct hash_line *line = bucket_line(h, bucket);

	for (; i >= LINK_AT && line_is_linked(line); i -= LINK_AT)
		line = line->at[LINK_AT].line;
	return line->at[i].node;
}

/* Append an entry to the only line of a bucket. Returns false if it is full, or links to another.
 */
static inline bool line_append(struct hash_line *line, struct hash_node *node, uint64_t tag)
{
	uint32_t count = (uint32_t)(line->tags >> LINE_COUNT_SHIFT);

	if (count >= LINE_ENTRIES)
		return false;
	line_set(line, count, node, tag);
	line->tags += LINE_ONE;
	return true;
}

static __attribute__((noinline)) void bucket_append(struct hash *h, uint32_t bucket,
						    struct hash_node *node, uint64_t tag)
{
	struct hash_line *line = bucket_line(h, bucket);

	while (line_is_linked(line))
		line = line->at[LINK_AT].line;
	if (line_count(line) == LINE_ENTRIES) {
		struct hash_line *more = mem_alloc(sizeof *more);

		*more = (struct hash_line){ .tags = LINE_ONE };
		line_set(more, 0, line->at[LINK_AT].node, line_tag(line, LINK_AT));
		line->tags = (line->tags - LINE_ONE) | LINE_LINKED;
		line->at[LINK_AT].line = more;
		h->more++;
		line = more;
	}
	line_set(line, line_count(line), node, tag);
	line->tags += LINE_ONE;
}

/* Remove the last entry of the bucket, which is not empty. */
static struct hash_node *bucket_take_last(struct hash *h, uint32_t bucket, uint64_t *ret_tag)
{
	struct hash_line *line = bucket_line(h, bucket), *before = NULL;
	uint32_t last;
	struct hash_node *node;

	while (line_is_linked(line)) {
		before = line;
		line = line->at[LINK_AT].line;
	}
	last = line_count(line) - 1;
	node = line->at[last].node;
	*ret_tag = line_tag(line, last);
	line->tags -= LINE_ONE;
	if (last == 0 && before != NULL) {
		before->tags &= ~LINE_LINKED;
		free(line);
		h->more--;
	}
	return node;
}

/* Remove an entry of the bucket. The last entry takes its place. */
static void bucket_remove(struct hash *h, uint32_t bucket, const struct hash_node *node)
{
	struct hash_line *line = bucket_line(h, bucket);
	struct hash_node *last;
	uint64_t tag;

	for (;;) {
		uint64_t matches = line_match(line, tag_of(node->hash));

		while (matches != 0 && line->at[first_match(matches)].node != node)
			matches &= matches - 1;
		if (matches != 0) {
			uint32_t i = first_match(matches);

			last = bucket_take_last(h, bucket, &tag);
			if (last != node)
				line_set(line, i, last, tag);
			return;
		}
		line = line_next(line);
		assert(line != NULL);
	}
}

/* ---- growing and shrinking ---- */

/* Add an empty bucket. */
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
			struct hash_line *first = h->u.first;

			h->cap = SEGMENTS_MIN;
			h->u.segments = mem_realloc_array(NULL, h->cap, sizeof *h->u.segments);
			h->u.segments[0] = first;
		} else if (segment == h->cap) {
			h->cap *= 2;
			h->u.segments =
				mem_realloc_array(h->u.segments, h->cap, sizeof *h->u.segments);
		}
		h->u.segments[segment] = make_segment(h, segment);
	}
	if (h->buckets > h->mask)
		h->mask = h->mask * 2 + 1;
	h->buckets++;
	bucket_line(h, h->buckets - 1)->tags = 0;
}

/* Remove the last bucket, which is empty, and free memory. */
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
		free_segment(h, segment);
		if (segment == 1) {
			struct hash_line *first = h->u.segments[0];

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

/* Prefetch the bucket that the next split will touch. Its line is prefetched one split earlier, so
 * that it has arrived by then. */
static void prefetch_split(const struct hash *h)
{
	const struct hash_line *line = bucket_line(h, bucket_origin(h, h->buckets));
	uint32_t i;

	__builtin_prefetch(bucket_line(h, bucket_origin(h, h->buckets + 1)));
	for (i = 0; i < line_count(line); i++)
		__builtin_prefetch(line->at[i].node);
}

/* The first line of a bucket that entries are moved to. */
struct split_part {
	struct hash_line *line;
	uint64_t tags; /* of the line, without the number of entries */
	uint32_t count;
};

/* Moves an entry. Returns false if the line is full. */
static inline bool split_move(struct split_part *part, struct hash_node *node, uint32_t hash)
{
	if (part->count == LINE_ENTRIES)
		return false;
	part->tags |= tag_of(hash) << 8 * part->count;
	part->line->at[part->count++].node = node;
	return true;
}

static inline void split_end(const struct split_part *part)
{
	part->line->tags = part->tags | (uint64_t)part->count << LINE_COUNT_SHIFT;
}

/* Moves the entries of a bucket to two lines, as far as they have room; those whose hash has `bit`
 * to the second. Returns the line with the first entry that is left, and its place; NULL if none
 * is. */
static inline const struct hash_line *split_lines(const struct hash_line *old,
						  struct split_part parts[2], uint32_t bit,
						  uint32_t *ret_place)
{
	for (; old != NULL; old = line_next(old)) {
		uint32_t count = line_count(old);

		for (uint32_t i = 0; i < count; i++) {
			struct hash_node *node = old->at[i].node;
			uint32_t hash = node->hash;

			if (!split_move(&parts[(hash & bit) != 0], node, hash)) {
				*ret_place = i;
				return old;
			}
		}
	}
	return NULL;
}

/* Not inline: a split is rare, and would make each insertion save registers. */
static __attribute__((noinline)) void split_bucket(struct hash *h)
{
	uint32_t added = h->buckets;
	uint32_t origin, i = 0;
	struct hash_line old;
	struct split_part parts[2] = { { .count = 0 } };
	const struct hash_line *line;

	add_bucket(h);
	origin = bucket_origin(h, added);
	parts[0].line = bucket_line(h, origin);
	parts[1].line = bucket_line(h, added);
	old = *parts[0].line;
	line = split_lines(&old, parts, added ^ origin, &i);
	split_end(&parts[0]);
	split_end(&parts[1]);
	for (; line != NULL; line = line_next(line), i = 0) {
		for (; i < line_count(line); i++) {
			struct hash_node *node = line->at[i].node;

			bucket_append(h, node->hash & h->mask, node, line_tag(line, i));
		}
	}
	for (line = line_next(&old); line != NULL; line = line_next(line))
		h->more--;
	free_lines(line_next(&old));
	prefetch_split(h);
}

/* Append the entries of the last bucket to those of its origin, in their order. */
static void merge_bucket(struct hash *h)
{
	uint32_t last = h->buckets - 1;
	struct hash_line *line = bucket_line(h, last);
	uint32_t origin = bucket_origin(h, last);
	struct hash_line *more = line_next(line);
	const struct hash_line *at;

	for (at = line; at != NULL; at = line_next(at)) {
		for (uint32_t i = 0; i < line_count(at); i++)
			bucket_append(h, origin, at->at[i].node, line_tag(at, i));
	}
	for (at = more; at != NULL; at = line_next(at))
		h->more--;
	free_lines(more);
	drop_bucket(h);
}

/* Count an entry that was appended. */
static inline void count_one(struct hash *h)
{
	h->count++;
	if (h->count > h->buckets * LOAD && h->buckets < BUCKETS_MAX)
		split_bucket(h);
}

/* Inserts an entry into an empty table, or a bucket whose first line has no room. */
static __attribute__((noinline)) void insert_rarely(struct hash *h, struct hash_node *node)
{
	if (h->buckets == 0) {
		h->u.first = mem_zalloc(BUCKETS_MIN * sizeof *h->u.first);
		h->cap = BUCKETS_MIN;
		h->buckets = BUCKETS_MIN;
		h->mask = BUCKETS_MIN - 1;
	}
	bucket_append(h, bucket_of(h, node->hash), node, tag_of(node->hash));
	count_one(h);
}

void hash_insert_hashed(struct hash *h, struct hash_node *node, uint32_t hash)
{
	assert(h->count < HASH_COUNT_MAX);
	node->hash = hash;
	if (h->buckets != 0 && line_append(bucket_line(h, bucket_of(h, hash)), node, tag_of(hash)))
		count_one(h);
	else
		insert_rarely(h, node);
}

void hash_insert(struct hash *h, struct hash_node *node)
{
	hash_insert_hashed(h, node, hash_compute(h->seed, h->key(node)));
}

bool hash_insert_many(struct hash *h, struct hash_node *const *nodes, size_t count)
{
	bool is_new = true;

	while (count > 0) {
		size_t n = count < BATCH ? count : BATCH;

		for (size_t i = 0; i < n; i++) {
			nodes[i]->hash = hash_compute(h->seed, h->key(nodes[i]));
			hash_prefetch(h, nodes[i]->hash);
		}
		for (size_t i = 0; i < n; i++) {
			uint32_t hash = nodes[i]->hash;

			is_new &= hash_find_hashed(h, h->key(nodes[i]), hash) == NULL;
			hash_insert_hashed(h, nodes[i], hash);
		}
		nodes += n;
		count -= n;
	}
	return is_new;
}

/* One merge for each removal keeps up. A table whose load is between half and full neither splits
 * nor merges. */
static void shrink(struct hash *h)
{
	if (h->count < h->buckets * LOAD / 2 && h->buckets > BUCKETS_MIN)
		merge_bucket(h);
}

void hash_remove(struct hash *h, struct hash_node *node)
{
	assert(h->count != 0);
	bucket_remove(h, bucket_of(h, node->hash), node);
	h->count--;
	shrink(h);
}

/* Takes from the last bucket, which can then be dropped without a merge. */
struct hash_node *hash_take(struct hash *h)
{
	uint32_t bucket = h->buckets - 1;
	uint64_t tag;

	if (h->count == 0)
		return NULL;
	while (line_count(bucket_line(h, bucket)) == 0) {
		if (h->buckets > BUCKETS_MIN)
			drop_bucket(h);
		bucket--;
	}
	h->count--;
	return bucket_take_last(h, bucket, &tag);
}

/*
 * A walk goes by position: the hash with its bits in reverse order. A bucket is then a range of
 * positions. A split halves a range, and a merge joins two neighbours. So neither moves an entry
 * between positions that the walk has passed and positions that are left.
 *
 * Within a bucket the walk goes from the last entry to the first. If the current entry is removed,
 * the entry that takes its place has been visited already. Entries that a merge appends wait for
 * their own range.
 */
static uint32_t position_of(uint32_t hash)
{
	hash = (hash >> 1 & 0x55555555) | (hash & 0x55555555) << 1;
	hash = (hash >> 2 & 0x33333333) | (hash & 0x33333333) << 2;
	hash = (hash >> 4 & 0x0f0f0f0f) | (hash & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(hash);
}

/* The last position of a bucket. */
static uint32_t bucket_last_position(const struct hash *h, uint32_t bucket)
{
	bool is_split = (bucket | ((h->mask >> 1) + 1)) < h->buckets;
	uint32_t mask = is_split ? h->mask : h->mask >> 1;

	return position_of(bucket | ~mask);
}

/* Move to the end of the bucket that contains the position. */
static void iter_seek(struct hash_iter *it, uint32_t position)
{
	it->bucket = bucket_of(it->table, position_of(position));
	it->first = position;
	it->last = bucket_last_position(it->table, it->bucket);
	it->count = it->left = bucket_count(it->table, it->bucket);
}

/* Follow a removal that merged the bucket into its origin. The entries of the bucket, minus the
 * removed one, are the last ones of the origin. */
static void iter_follow(struct hash_iter *it)
{
	uint32_t bucket = bucket_of(it->table, position_of(it->first));

	if (bucket == it->bucket)
		return;
	it->left += bucket_count(it->table, bucket) - (it->count - 1);
	it->bucket = bucket;
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
	iter_follow(it);
	for (;;) {
		struct hash_node *node;

		if (it->left == 0) {
			if (it->last == UINT32_MAX)
				return NULL;
			iter_seek(it, it->last + 1);
			continue;
		}
		it->count = bucket_count(it->table, it->bucket);
		node = bucket_entry(it->table, it->bucket, --it->left);
		/* Skip entries of another range that a merge put into this bucket. */
		if (position_of(node->hash) >= it->first && position_of(node->hash) <= it->last)
			return node;
	}
}

uint32_t hash_scan(const struct hash *h, uint32_t cursor, hash_visit_fn *visit, void *arg)
{
	struct hash_iter it = { .table = h };

	if (h->count == 0)
		return 0;
	iter_seek(&it, cursor);
	while (it.left != 0) {
		struct hash_node *node = bucket_entry(h, it.bucket, --it.left);

		if (position_of(node->hash) >= cursor)
			visit(node, arg);
	}
	return it.last + 1;
}
