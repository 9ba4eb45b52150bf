#include "util/hash.h"

#include <stdlib.h>

#include "unit.h"
#include "util/container.h"
#include "util/hex.h"
#include "util/mem.h"

/* Enough for segments that come in blocks. */
#ifdef __SANITIZE_ADDRESS__
#define LARGE 350000u
#else
#define LARGE 1000000u
#endif
#define SMALL 3000u

/* Bytes of the smallest table. */
#define LINE_BYTES 64

struct entry {
	struct hash_node node;
	uint32_t id;
	uint32_t visits;
};

static struct hash table;
static struct entry *entries;
static unsigned long key_calls;

static struct qless_str key_of_id(const uint32_t *id)
{
	return str_make((const char *)id, sizeof *id);
}

static struct entry *entry_of(struct hash_node *node)
{
	return container_of(node, struct entry, node);
}

static struct qless_str key_of(const struct hash_node *node)
{
	key_calls++;
	return key_of_id(&container_of(node, const struct entry, node)->id);
}

void setUp(void)
{
	hash_init(&table, key_of, 1);
	entries = calloc(LARGE, sizeof *entries);
}

void tearDown(void)
{
	hash_done(&table);
	free(entries);
}

static struct entry *find(uint32_t id)
{
	struct hash_node *node = hash_find(&table, key_of_id(&id));

	return node != NULL ? entry_of(node) : NULL;
}

static void insert(uint32_t id)
{
	entries[id].id = id;
	hash_insert(&table, &entries[id].node);
}

static void insert_all(uint32_t count)
{
	for (uint32_t id = 0; id < count; id++)
		insert(id);
}

static void a_new_table_is_empty_and_owns_no_memory(void)
{
	struct hash_iter it;

	TEST_ASSERT_EQUAL_UINT32(0, hash_count(&table));
	TEST_ASSERT_EQUAL_size_t(0, hash_memory(&table));
	TEST_ASSERT_NULL(find(0));
	TEST_ASSERT_NULL(hash_first(&it, &table));
	TEST_ASSERT_NULL(hash_next(&it));
	TEST_ASSERT_NULL(hash_take(&table));
	TEST_ASSERT_EQUAL_UINT32(0, hash_scan(&table, 0, NULL, NULL));
}

static void a_small_table_is_small(void)
{
	insert_all(4);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(LINE_BYTES, hash_memory(&table));
	for (uint32_t id = 4; id < 100; id++)
		insert(id);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(100 * 24, hash_memory(&table));
	for (uint32_t i = 0; i < 100; i++)
		hash_remove(&table, &entries[i].node);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(LINE_BYTES, hash_memory(&table));
}

static void the_word_of_the_owner_stays(void)
{
	entries[0].node.aux = 77;
	insert_all(100);
	hash_remove(&table, &entries[0].node);
	TEST_ASSERT_EQUAL_UINT32(77, entries[0].node.aux);
}

static void entries_with_the_same_hash_are_distinguished_by_key(void)
{
	for (uint32_t i = 0; i < 50; i++) {
		entries[i].id = i;
		hash_insert_hashed(&table, &entries[i].node, 12345);
	}
	for (uint32_t i = 0; i < 50; i += 2)
		hash_remove(&table, &entries[i].node);
	for (uint32_t i = 0; i < 50; i++) {
		struct hash_node *node = hash_find_hashed(&table, key_of_id(&i), 12345);

		TEST_ASSERT_EQUAL_PTR(i % 2 == 0 ? NULL : &entries[i].node, node);
	}
}

static void a_lookup_asks_for_a_key_only_where_the_hash_fits(void)
{
	insert_all(SMALL);
	key_calls = 0;
	for (uint32_t id = 0; id < SMALL; id++)
		TEST_ASSERT_EQUAL_PTR(&entries[id], find(id));
	for (uint32_t id = SMALL; id < 2 * SMALL; id++)
		TEST_ASSERT_NULL(find(id));
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(SMALL + 10, key_calls);
}

static void the_same_seed_gives_the_same_hashes(void)
{
	static const unsigned char wide[HASH_WIDE_BYTES] = "a text of 16 ch";
	uint32_t hash = hash_compute(1, STR("queue"));

	TEST_ASSERT_EQUAL_UINT32(hash, hash_compute(1, STR("queue")));
	TEST_ASSERT_NOT_EQUAL_UINT32(hash, hash_compute(2, STR("queue")));
	hash = hash_compute_wide(3, wide);
	TEST_ASSERT_EQUAL_UINT32(hash, hash_compute_wide(3, wide));
	TEST_ASSERT_NOT_EQUAL_UINT32(hash, hash_compute_wide(4, wide));
}

/* Each bit of a wide hash counts, in the bits of the result that choose a bucket. */
static void hashes_of_wide_hashes_spread(void)
{
	static unsigned char used[1 << 16];
	unsigned char wide[HASH_WIDE_BYTES] = { 0 };
	unsigned buckets = 0;

	memset(used, 0, sizeof used);
	for (unsigned high = 0; high < 8 * HASH_WIDE_BYTES; high++) {
		for (unsigned low = 0; low < high; low++) {
			uint32_t hash;

			wide[high / 8] ^= (unsigned char)(1u << high % 8);
			wide[low / 8] ^= (unsigned char)(1u << low % 8);
			hash = hash_compute_wide(0, wide) & 0xffff;
			buckets += used[hash] == 0;
			used[hash] = 1;
			memset(wide, 0, sizeof wide);
		}
	}
	/* 8128 hashes in 65536 buckets: 7647 are expected to be used. */
	TEST_ASSERT_GREATER_THAN_UINT(7500, buckets);
}

/* An entry below `count` is in the table if and only if `present` says so, and a walk visits each
 * of them once. */
static void many_entries_are_inserted_as_if_one_by_one(void)
{
	struct hash_node **nodes = malloc(LARGE * sizeof(*nodes));
	uint32_t id = 0;

	/* Runs of all lengths, from none to more than are inserted together. */
	for (uint32_t run = 0; id + run <= SMALL * 10; run = run < 300 ? run + 1 : 0) {
		for (uint32_t i = 0; i < run; i++) {
			entries[id + i].id = id + i;
			nodes[i] = &entries[id + i].node;
		}
		TEST_ASSERT_TRUE(hash_insert_many(&table, nodes, run));
		id += run;
	}
	TEST_ASSERT_EQUAL_UINT32(id, hash_count(&table));
	for (uint32_t i = 0; i < id; i++)
		TEST_ASSERT_EQUAL_PTR(&entries[i], find(i));
	TEST_ASSERT_NULL(find(id));
	for (uint32_t i = 0; i < id; i++)
		hash_remove(&table, &entries[i].node);
	free(nodes);
}

static void duplicate_keys_are_inserted_and_reported(void)
{
	struct hash_node *nodes[3] = { &entries[100].node, &entries[101].node, &entries[102].node };

	insert_all(50);
	entries[100].id = 100;
	entries[101].id = 49; /* it is there */
	entries[102].id = 102;
	TEST_ASSERT_FALSE(hash_insert_many(&table, nodes, 3));
	TEST_ASSERT_EQUAL_UINT32(53, hash_count(&table));
	for (int i = 0; i < 3; i++)
		hash_remove(&table, nodes[i]);
	entries[101].id = 101;
	entries[102].id = 100; /* the first of them */
	TEST_ASSERT_FALSE(hash_insert_many(&table, nodes, 3));
	TEST_ASSERT_EQUAL_UINT32(53, hash_count(&table));
}

static void check_against(const bool *present, uint32_t count)
{
	struct hash_iter it;
	struct hash_node *node;
	uint32_t expected = 0, met = 0;

	for (uint32_t i = 0; i < count; i++) {
		TEST_ASSERT_EQUAL_PTR(present[i] ? &entries[i] : NULL, find(i));
		expected += present[i];
		entries[i].visits = 0;
	}
	HASH_FOREACH(node, &it, &table) {
		TEST_ASSERT_EQUAL_UINT32(1, ++entry_of(node)->visits);
		met++;
	}
	TEST_ASSERT_EQUAL_UINT32(expected, met);
	TEST_ASSERT_EQUAL_UINT32(expected, hash_count(&table));
}

static void random_operations_agree_with_an_array(void)
{
	static bool present[SMALL];

	for (unsigned long long seed = 1; seed <= 4; seed++) {
		unsigned long long state = seed;

		for (int i = 0; i < 60000; i++) {
			unsigned long long r = unit_random(&state);
			uint32_t id = (uint32_t)(r >> 32) % SMALL;
			/* Grow for a while, then shrink, so that all sizes occur. */
			bool want = r % 10 < (i / 10000 % 2 == 0 ? 8 : 1);

			if (want && !present[id])
				insert(id);
			else if (!want && present[id])
				hash_remove(&table, &entries[id].node);
			present[id] = want;
			if (i % 5000 == 0)
				check_against(present, SMALL);
		}
		check_against(present, SMALL);
	}
	for (uint32_t id = 0; id < SMALL; id++) {
		if (present[id])
			hash_remove(&table, &entries[id].node);
		present[id] = false;
	}
	check_against(present, SMALL);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(LINE_BYTES, hash_memory(&table));
}

/* Many small tables, because only a merge of the walk's current bucket can go wrong. */
static void a_walk_meets_every_entry_once_while_it_removes_them(void)
{
	unsigned long long state = 5;

	for (uint32_t count = 1; count < 600; count++) {
		struct hash_iter it;
		struct hash_node *node;
		unsigned keep = (unsigned)(unit_random(&state) % 4);
		uint32_t met = 0, kept = 0;

		insert_all(count);
		HASH_FOREACH(node, &it, &table) {
			met++;
			if (unit_random(&state) % 4 < keep) {
				kept++;
				continue;
			}
			hash_remove(&table, node);
			memset(node, 0xff, sizeof *node);
		}
		TEST_ASSERT_EQUAL_UINT32(count, met);
		TEST_ASSERT_EQUAL_UINT32(kept, hash_count(&table));
		hash_done(&table);
	}
}

static void count_visit(struct hash_node *node, void *arg)
{
	(void)arg;
	entry_of(node)->visits++;
}

static void a_scan_meets_every_entry_once_whatever_happens_between_the_steps(void)
{
	const uint32_t stable = 2000, most = 60000;

	for (unsigned long long seed = 1; seed <= 6; seed++) {
		unsigned long long state = seed;
		bool growing = seed % 2 == 0;
		uint32_t end = growing ? stable : most, cursor = 0;

		insert_all(end);
		for (uint32_t i = 0; i < most; i++)
			entries[i].visits = 0;
		do {
			cursor = hash_scan(&table, cursor, count_visit, NULL);
			for (unsigned n = (unsigned)(unit_random(&state) % 80); n-- > 0;) {
				if (end == most)
					growing = false;
				if (end == stable)
					growing = true;
				if (growing)
					insert(end++);
				else
					hash_remove(&table, &entries[--end].node);
			}
		} while (cursor != 0);
		for (uint32_t i = 0; i < stable; i++)
			TEST_ASSERT_EQUAL_UINT32(1, entries[i].visits);
		hash_done(&table);
	}
}

static void taking_all_entries_empties_the_table(void)
{
	uint32_t left = SMALL * 10;

	insert_all(left);
	while (left != 0) {
		for (unsigned i = 0; i < 100; i++) {
			struct hash_node *node = hash_take(&table);

			TEST_ASSERT_NOT_NULL(node);
			TEST_ASSERT_EQUAL_UINT32(1, ++entry_of(node)->visits);
		}
		left -= 100;
		TEST_ASSERT_EQUAL_UINT32(left, hash_count(&table));
		TEST_ASSERT_LESS_OR_EQUAL_size_t((left + 5000) * 32, hash_memory(&table));
		/* The remaining entries can be found. */
		for (uint32_t id = left % 97; id < SMALL * 10; id += 997)
			TEST_ASSERT_EQUAL_PTR(entries[id].visits ? NULL : &entries[id], find(id));
	}
	TEST_ASSERT_NULL(hash_take(&table));
}

static void count_one(struct hash_node *node, void *arg)
{
	unsigned *chain = arg;

	(void)node;
	++*chain;
}

/* Splits and merges are limited by the change in buckets times the fullest bucket, and copies by
 * the change in memory. */
static void no_operation_does_much_at_any_size(void)
{
	const size_t most_bytes = MEM_HUGE_BYTES + (size_t)64 * 1024;
	uint32_t buckets = 0, cursor = 0;
	size_t memory = 0;
	unsigned longest = 0;

	for (uint32_t i = 0; i < LARGE; i++) {
		insert(i);
		if (table.buckets > buckets + 1)
			TEST_FAIL_MESSAGE("an insertion split more than one bucket");
		if (hash_memory(&table) > memory + most_bytes)
			TEST_FAIL_MESSAGE("an insertion allocated too much");
		buckets = table.buckets;
		memory = hash_memory(&table);
	}
	TEST_ASSERT_LESS_OR_EQUAL_size_t((size_t)LARGE * 17 + most_bytes, memory);
	do {
		unsigned chain = 0;

		cursor = hash_scan(&table, cursor, count_one, &chain);
		longest = chain > longest ? chain : longest;
	} while (cursor != 0);
	TEST_ASSERT_LESS_OR_EQUAL_UINT(32, longest);
	for (uint32_t i = 0; i < LARGE; i++) {
		hash_remove(&table, &entries[i].node);
		if (table.buckets + 1 < buckets)
			TEST_FAIL_MESSAGE("a removal merged more than one bucket");
		if (hash_memory(&table) + most_bytes < memory)
			TEST_FAIL_MESSAGE("a removal gave back too much");
		if (hash_memory(&table) > (LARGE - i) * 33ul + most_bytes)
			TEST_FAIL_MESSAGE("a removal left too much");
		buckets = table.buckets;
		memory = hash_memory(&table);
	}
	TEST_ASSERT_LESS_OR_EQUAL_size_t(LINE_BYTES, memory);
}

static void inserting_and_removing_in_turns_does_not_split_and_merge(void)
{
	insert_all(SMALL);
	uint32_t buckets = table.buckets;

	for (uint32_t i = 0; i < 1000; i++) {
		hash_remove(&table, &entries[i].node);
		insert(i);
		TEST_ASSERT_EQUAL_UINT32(buckets, table.buckets);
	}
}

static void a_large_table_that_shrinks_and_grows_again_takes_the_same_memory(void)
{
	size_t most;

	insert_all(LARGE);
	most = hash_memory(&table);
	for (uint32_t id = 0; id < LARGE - SMALL; id++)
		hash_remove(&table, &entries[id].node);
	for (uint32_t id = LARGE - SMALL; id < LARGE; id++)
		TEST_ASSERT_EQUAL_PTR(&entries[id], find(id));
	insert_all(LARGE - SMALL);
	TEST_ASSERT_EQUAL_size_t(most, hash_memory(&table));
	for (uint32_t id = 0; id < LARGE; id++)
		TEST_ASSERT_EQUAL_PTR(&entries[id], find(id));
}

/* Published values of XXH3 with 128 bits. Stored hashes must stay the same. */
static void a_wide_hash_never_changes(void)
{
	unsigned char hash[HASH_WIDE_BYTES];
	char hex[2 * HASH_WIDE_BYTES];

	hash_bytes_wide(STR(""), hash);
	hex_write(hex, hash, sizeof hash);
	ASSERT_STR("99aa06d3014798d86001c324468d497f", str_make(hex, sizeof hex));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_new_table_is_empty_and_owns_no_memory);
	RUN(a_small_table_is_small);
	RUN(the_word_of_the_owner_stays);
	RUN(entries_with_the_same_hash_are_distinguished_by_key);
	RUN(a_lookup_asks_for_a_key_only_where_the_hash_fits);
	RUN(the_same_seed_gives_the_same_hashes);
	RUN(hashes_of_wide_hashes_spread);
	RUN(many_entries_are_inserted_as_if_one_by_one);
	RUN(duplicate_keys_are_inserted_and_reported);
	RUN(random_operations_agree_with_an_array);
	RUN(a_walk_meets_every_entry_once_while_it_removes_them);
	RUN(a_scan_meets_every_entry_once_whatever_happens_between_the_steps);
	RUN(taking_all_entries_empties_the_table);
	RUN(no_operation_does_much_at_any_size);
	RUN(a_large_table_that_shrinks_and_grows_again_takes_the_same_memory);
	RUN(inserting_and_removing_in_turns_does_not_split_and_merge);
	RUN(a_wide_hash_never_changes);
	return UNIT_RESULT();
}
