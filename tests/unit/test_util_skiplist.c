/* test_util_skiplist_packed.c runs all of this with packed lists. */
#include "util/skiplist.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "unit.h"
#include "util/container.h"

#ifdef __SANITIZE_ADDRESS__
#define LARGE 30000u
#else
#define LARGE 300000u
#endif
#define MODEL_MAX 1500u

#ifndef PACKED
#define PACKED false
#endif

struct thing {
	unsigned char member[4]; /* big endian, so that members sort as numbers */
	bool in_model;
	struct skiplist_block *block;
	struct skipnode node;
};

static struct skiplist list;
static struct thing **things;
static uint64_t heights;
static unsigned long member_calls;

static struct thing *thing_of(const struct skipnode *node)
{
	return container_of(node, struct thing, node);
}

static struct qless_str member_of(const struct skipnode *node)
{
	member_calls++;
	return str_make((const char *)thing_of(node)->member, 4);
}

static void put_member(unsigned char member[4], uint32_t id)
{
	for (int i = 0; i < 4; i++)
		member[i] = (unsigned char)(id >> (24 - 8 * i));
}

static struct thing *thing_new(uint32_t id)
{
	unsigned height = skiplist_draw_height(&heights);
	struct thing *t = calloc(1, offsetof(struct thing, node) + skipnode_size(height));

	put_member(t->member, id);
	skipnode_init(&t->node, height);
	return t;
}

static struct skiplist_block **block_of(struct skipnode *node)
{
	return &container_of(node, struct thing, node)->block;
}

static void init(struct skiplist *new_list)
{
	if (PACKED)
		skiplist_init_packed(new_list, member_of, block_of);
	else
		skiplist_init(new_list, member_of);
}

void setUp(void)
{
	heights = 1;
	init(&list);
	things = calloc(LARGE, sizeof(struct thing *));
	for (uint32_t i = 0; i < LARGE; i++)
		things[i] = thing_new(i);
}

void tearDown(void)
{
	skiplist_done(&list);
	for (uint32_t i = 0; i < LARGE; i++)
		free(things[i]);
	free(things);
}

static void insert(uint32_t id, double score)
{
	skiplist_insert(&list, &things[id]->node, score);
}

/* The first `count` nodes of the list are these things in this order. */
static void check_order(const uint32_t *ids, uint32_t count)
{
	const struct skipnode *node = skiplist_first(&list);

	TEST_ASSERT_EQUAL_UINT32(count, skiplist_count(&list));
	for (uint32_t i = 0; i < count; i++) {
		TEST_ASSERT_EQUAL_PTR(&things[ids[i]]->node, node);
		node = skiplist_next(node);
	}
	TEST_ASSERT_NULL(node);
}

static void an_empty_list_has_nothing(void)
{
	TEST_ASSERT_EQUAL_UINT32(0, skiplist_count(&list));
	TEST_ASSERT_NULL(skiplist_first(&list));
	TEST_ASSERT_NULL(skiplist_last(&list));
	TEST_ASSERT_NULL(skiplist_at(&list, 0));
	TEST_ASSERT_NULL(skiplist_pop_first(&list));
	TEST_ASSERT_NULL(skiplist_pop_last(&list));
	TEST_ASSERT_NULL(skiplist_first_ge(&list, -INFINITY));
	TEST_ASSERT_NULL(skiplist_last_le(&list, INFINITY));
	TEST_ASSERT_NULL(skiplist_find(&list, 0, STR("x")));
	TEST_ASSERT_EQUAL_UINT32(0, skiplist_count_le(&list, INFINITY));
	TEST_ASSERT_EQUAL_size_t(0, skiplist_memory(&list));
}

static void a_node_is_small(void)
{
	size_t bytes = 0;

	TEST_ASSERT_EQUAL_size_t(32, skipnode_size(1));
	for (uint32_t i = 0; i < LARGE; i++)
		bytes += skipnode_size(things[i]->node.height);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(38, bytes / LARGE);
}

static void heights_are_the_same_for_the_same_state(void)
{
	uint64_t a = 7, b = 7;
	unsigned seen[SKIPLIST_HEIGHT_MAX + 1] = { 0 };

	for (int i = 0; i < 100000; i++) {
		unsigned height = skiplist_draw_height(&a);

		TEST_ASSERT_EQUAL_UINT(height, skiplist_draw_height(&b));
		seen[height]++;
	}
	TEST_ASSERT_UINT_WITHIN(1000, 75000, seen[1]);
	TEST_ASSERT_UINT_WITHIN(1000, 18750, seen[2]);
	TEST_ASSERT_UINT_WITHIN(400, 4688, seen[3]);
}

static void nodes_are_ordered_by_score_and_then_by_member(void)
{
	insert(3, 1);
	insert(1, 1);
	insert(2, 1);
	insert(9, -INFINITY);
	insert(8, INFINITY);
	insert(7, 0.0);
	insert(6, -0.0);
	check_order((const uint32_t[]){ 9, 6, 7, 1, 2, 3, 8 }, 7);
}

static void a_node_can_move_to_another_list(void)
{
	struct skiplist other;

	init(&other);
	for (uint32_t i = 0; i < 100; i++)
		insert(i, i);
	while (skiplist_count(&list) != 0)
		skiplist_insert(&other, skiplist_pop_first(&list), 1);
	TEST_ASSERT_EQUAL_UINT32(100, skiplist_count(&other));
	TEST_ASSERT_EQUAL_PTR(&things[0]->node, skiplist_first(&other));
	TEST_ASSERT_EQUAL_UINT32(50, skiplist_rank(&other, &things[50]->node));
	skiplist_done(&other);
}

static void a_node_knows_whether_it_is_in_a_list(void)
{
	TEST_ASSERT_FALSE(things[0]->node.linked);
	insert(0, 1);
	TEST_ASSERT_TRUE(things[0]->node.linked);
	skiplist_remove(&list, &things[0]->node);
	TEST_ASSERT_FALSE(things[0]->node.linked);
	TEST_ASSERT_NULL(things[0]->node.next);
}

static void the_word_of_the_owner_stays(void)
{
	things[0]->node.aux = 77;
	for (uint32_t i = 0; i < 10; i++)
		insert(i, 1);
	skiplist_rescore(&list, &things[0]->node, 2);
	skiplist_remove(&list, &things[0]->node);
	TEST_ASSERT_EQUAL_UINT32(77, things[0]->node.aux);
}

static void changing_a_score_moves_the_node_if_needed(void)
{
	for (uint32_t i = 0; i < 5; i++)
		insert(i, i);
	skiplist_rescore(&list, &things[2]->node, 2.5);
	check_order((const uint32_t[]){ 0, 1, 2, 3, 4 }, 5);
	TEST_ASSERT_TRUE(things[2]->node.score == 2.5);
	skiplist_rescore(&list, &things[2]->node, 4);
	check_order((const uint32_t[]){ 0, 1, 3, 2, 4 }, 5);
	skiplist_rescore(&list, &things[4]->node, -1);
	check_order((const uint32_t[]){ 4, 0, 1, 3, 2 }, 5);
	skiplist_rescore(&list, &things[4]->node, INFINITY);
	check_order((const uint32_t[]){ 0, 1, 3, 2, 4 }, 5);
}

/* The slow and obvious model: a sorted array. */
struct model {
	struct thing *sorted[MODEL_MAX];
	uint32_t count;
	double recent_score; /* of the last insertion */
};

static int compare_place(const struct thing *t, double score, const unsigned char *member)
{
	if (t->node.score != score)
		return t->node.score < score ? -1 : 1;
	return member != NULL ? memcmp(t->member, member, 4) : 0;
}

static void model_insert(struct model *m, struct thing *t)
{
	uint32_t at = m->count;

	while (at > 0 && compare_place(m->sorted[at - 1], t->node.score, t->member) > 0)
		at--;
	memmove(&m->sorted[at + 1], &m->sorted[at], (m->count - at) * sizeof *m->sorted);
	m->sorted[at] = t;
	m->count++;
	t->in_model = true;
}

static void model_remove(struct model *m, struct thing *t)
{
	uint32_t at = 0;

	while (m->sorted[at] != t)
		at++;
	m->count--;
	memmove(&m->sorted[at], &m->sorted[at + 1], (m->count - at) * sizeof *m->sorted);
	t->in_model = false;
}

static struct skipnode *model_at(const struct model *m, uint32_t rank)
{
	return rank < m->count ? &m->sorted[rank]->node : NULL;
}

static void check_bounds(const struct model *m, double score, uint32_t id)
{
	unsigned char bytes[4] = { 0 };
	struct qless_str member = str_make((const char *)bytes, 4);
	uint32_t lt = 0, le = 0, lt_member = 0, le_member = 0;

	put_member(bytes, id);
	for (uint32_t i = 0; i < m->count; i++) {
		lt += compare_place(m->sorted[i], score, NULL) < 0;
		le += compare_place(m->sorted[i], score, NULL) <= 0;
		lt_member += compare_place(m->sorted[i], score, bytes) < 0;
		le_member += compare_place(m->sorted[i], score, bytes) <= 0;
	}
	TEST_ASSERT_EQUAL_PTR(model_at(m, lt), skiplist_first_ge(&list, score));
	TEST_ASSERT_EQUAL_PTR(model_at(m, le), skiplist_first_gt(&list, score));
	TEST_ASSERT_EQUAL_PTR(model_at(m, le - 1), skiplist_last_le(&list, score));
	TEST_ASSERT_EQUAL_PTR(model_at(m, lt - 1), skiplist_last_lt(&list, score));
	TEST_ASSERT_EQUAL_UINT32(lt, skiplist_count_lt(&list, score));
	TEST_ASSERT_EQUAL_UINT32(le, skiplist_count_le(&list, score));
	TEST_ASSERT_EQUAL_UINT32(le - lt, skiplist_count_range(&list, score, score));
	TEST_ASSERT_EQUAL_UINT32(le, skiplist_count_range(&list, -INFINITY, score));
	TEST_ASSERT_EQUAL_UINT32(0, skiplist_count_range(&list, 1, 0));
	TEST_ASSERT_EQUAL_PTR(model_at(m, lt_member),
			      skiplist_first_ge_member(&list, score, member));
	TEST_ASSERT_EQUAL_PTR(model_at(m, le_member),
			      skiplist_first_gt_member(&list, score, member));
	TEST_ASSERT_EQUAL_PTR(model_at(m, le_member - 1),
			      skiplist_last_le_member(&list, score, member));
	TEST_ASSERT_EQUAL_PTR(model_at(m, lt_member - 1),
			      skiplist_last_lt_member(&list, score, member));
	TEST_ASSERT_EQUAL_PTR(le_member != lt_member ? model_at(m, lt_member) : NULL,
			      skiplist_find(&list, score, member));
}

static void check_all(const struct model *m)
{
	TEST_ASSERT_EQUAL_UINT32(m->count, skiplist_count(&list));
	TEST_ASSERT_EQUAL_PTR(model_at(m, 0), skiplist_first(&list));
	TEST_ASSERT_EQUAL_PTR(model_at(m, m->count - 1), skiplist_last(&list));
	TEST_ASSERT_NULL(skiplist_at(&list, m->count));
	for (uint32_t i = 0; i < m->count; i++) {
		struct skipnode *node = &m->sorted[i]->node;

		TEST_ASSERT_EQUAL_UINT32(i, skiplist_rank(&list, node));
		TEST_ASSERT_EQUAL_PTR(node, skiplist_at(&list, i));
		TEST_ASSERT_EQUAL_PTR(model_at(m, i + 1), skiplist_next(node));
		TEST_ASSERT_EQUAL_PTR(model_at(m, i - 1), skiplist_prev(node));
	}
}

/* Scores of a few kinds, many of them equal. */
static double random_score(unsigned long long r)
{
	switch (r % 8) {
	case 0:
		return INFINITY;
	case 1:
		return -INFINITY;
	case 2:
	case 3:
		return (double)((r >> 8) % 1000000) / 7;
	default:
		return (double)((r >> 8) % 40);
	}
}

static void random_step(struct model *m, unsigned long long *state, bool growing)
{
	unsigned long long r = unit_random(state);
	struct thing *t = things[(r >> 40) % MODEL_MAX];
	double score = random_score(unit_random(state));
	unsigned what = (unsigned)(r % 100);

	if (what < 30 && t->in_model) {
		model_remove(m, t);
		skiplist_rescore(&list, &t->node, score);
		model_insert(m, t);
	} else if (what < 37 && m->count != 0) {
		t = m->sorted[0];
		TEST_ASSERT_EQUAL_PTR(&t->node, skiplist_pop_first(&list));
		model_remove(m, t);
	} else if (what < 44 && m->count != 0) {
		t = m->sorted[m->count - 1];
		TEST_ASSERT_EQUAL_PTR(&t->node, skiplist_pop_last(&list));
		model_remove(m, t);
	} else if (t->in_model) {
		if (growing && what < 97)
			return;
		model_remove(m, t);
		skiplist_remove(&list, &t->node);
	} else if (growing || what > 90) {
		/* Half of the insertions are at an end, or near the last one. */
		if (what % 4 == 0 && m->count != 0)
			score = m->sorted[0]->node.score - 1;
		else if (what % 4 == 1 && m->count != 0)
			score = m->sorted[m->count - 1]->node.score + 1;
		else if (what % 4 == 2)
			score = m->recent_score + (double)(r >> 16 & 3) - 1.5;
		m->recent_score = score;
		skiplist_insert(&list, &t->node, score);
		model_insert(m, t);
	}
}

static void random_operations_agree_with_a_sorted_array(void)
{
	static struct model m;

	for (unsigned long long seed = 1; seed <= 5; seed++) {
		unsigned long long state = seed;

		for (int i = 0; i < 40000; i++) {
			random_step(&m, &state, i / 5000 % 2 == 0);
			if (i % 37 == 0)
				check_bounds(&m, random_score(unit_random(&state)),
					     (uint32_t)unit_random(&state) % MODEL_MAX);
			if (i % 500 == 0)
				check_all(&m);
		}
		check_all(&m);
	}
	while (m.count != 0) {
		skiplist_remove(&list, &m.sorted[m.count / 2]->node);
		model_remove(&m, m.sorted[m.count / 2]);
	}
	check_all(&m);
}

static void check_ranks(uint32_t count)
{
	struct skipnode *node = skiplist_first(&list);

	TEST_ASSERT_EQUAL_UINT32(count, skiplist_count(&list));
	for (uint32_t rank = 0; rank < count; rank++) {
		if (rank % 101 == 0 || rank + 20 > count) {
			TEST_ASSERT_EQUAL_UINT32(rank, skiplist_rank(&list, node));
			TEST_ASSERT_EQUAL_PTR(node, skiplist_at(&list, rank));
		}
		node = skiplist_next(node);
	}
	TEST_ASSERT_NULL(node);
}

/* A queue: in at one end, out at the other, with hardly any comparison. */
static void work_at_the_ends_compares_with_the_ends_only(void)
{
	for (uint32_t i = 0; i < LARGE / 2; i++)
		insert(i, -1.0 * i);
	check_ranks(LARGE / 2);
	member_calls = 0;
	for (uint32_t i = LARGE / 2; i < LARGE; i++) {
		insert(i, -1.0 * i);
		TEST_ASSERT_EQUAL_PTR(&things[i - LARGE / 2]->node, skiplist_pop_last(&list));
	}
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(LARGE / 2, member_calls);
	check_ranks(LARGE / 2);
	while (skiplist_count(&list) > LARGE / 4)
		skiplist_pop_first(&list);
	check_ranks(LARGE / 4);
	for (uint32_t i = 0; i < LARGE / 2; i++)
		insert(i, i);
	check_ranks(LARGE / 2 + LARGE / 4);
	while (skiplist_count(&list) > 1000)
		skiplist_pop_last(&list);
	check_ranks(1000);
}

/* Into an empty list, before, after and among others, with equal and different scores. */
static void inserting_a_batch_equals_single_insertions(void)
{
	unsigned long long state = 9;

	for (unsigned round = 0; round < 300; round++) {
		struct skiplist_batch batch = { 0 };
		uint32_t before = (uint32_t)(unit_random(&state) % 3) * 40;
		uint32_t count = (uint32_t)(unit_random(&state) % 120);
		unsigned scores = 1 + (unsigned)(unit_random(&state) % 30);
		struct skipnode *node, *last = NULL;
		uint32_t rank = 0;

		for (uint32_t i = 0; i < before; i++)
			insert(i * 3, (double)(unit_random(&state) % scores));
		for (uint32_t i = 0; i < count; i++)
			skiplist_batch_add(&batch, &things[500 + (i * 77) % 120]->node,
					   (double)(unit_random(&state) % 35) - 2);
		skiplist_insert_batch(&list, &batch);
		TEST_ASSERT_EQUAL_UINT32(before + count, skiplist_count(&list));
		for (node = skiplist_first(&list); node != NULL; node = skiplist_next(node)) {
			TEST_ASSERT_EQUAL_UINT32(rank, skiplist_rank(&list, node));
			TEST_ASSERT_EQUAL_PTR(node, skiplist_at(&list, rank++));
			TEST_ASSERT_EQUAL_PTR(node,
					      skiplist_find(&list, node->score, member_of(node)));
			if (last != NULL)
				TEST_ASSERT_TRUE(
					last->score < node->score ||
					(last->score == node->score &&
					 str_compare(member_of(last), member_of(node)) < 0));
			TEST_ASSERT_EQUAL_PTR(last, skiplist_prev(node));
			last = node;
		}
		TEST_ASSERT_EQUAL_UINT32(before + count, rank);
		while (skiplist_pop_first(&list) != NULL)
			;
		skiplist_batch_done(&batch);
	}
}

/* All, none, or any of them, at the ends and in the middle. */
static void removing_a_batch_equals_single_removals(void)
{
	unsigned long long state = 10;

	for (unsigned round = 0; round < 300; round++) {
		struct skiplist_batch batch = { 0 };
		uint32_t count = 1 + (uint32_t)(unit_random(&state) % 150);
		uint32_t of_four = (uint32_t)(unit_random(&state) % 5);
		unsigned scores = 1 + (unsigned)(unit_random(&state) % 30);
		struct skipnode *node, *last = NULL;
		uint32_t rank = 0, left = 0;

		for (uint32_t i = 0; i < count; i++)
			insert((i * 77) % 150, (double)(unit_random(&state) % scores));
		for (uint32_t i = 0; i < count; i++) {
			if (unit_random(&state) % 4 < of_four)
				skiplist_batch_add(&batch, &things[(i * 77) % 150]->node, 0);
			else
				left++;
		}
		skiplist_remove_batch(&list, &batch);
		TEST_ASSERT_EQUAL_UINT32(left, skiplist_count(&list));
		for (node = skiplist_first(&list); node != NULL; node = skiplist_next(node)) {
			TEST_ASSERT_EQUAL_UINT32(rank, skiplist_rank(&list, node));
			TEST_ASSERT_EQUAL_PTR(node, skiplist_at(&list, rank++));
			TEST_ASSERT_EQUAL_PTR(node,
					      skiplist_find(&list, node->score, member_of(node)));
			TEST_ASSERT_EQUAL_PTR(last, skiplist_prev(node));
			last = node;
		}
		TEST_ASSERT_EQUAL_UINT32(left, rank);
		while (skiplist_pop_last(&list) != NULL)
			;
		skiplist_batch_done(&batch);
	}
}

static void a_large_batch_is_inserted_in_few_steps(void)
{
	struct skiplist_batch batch = { 0 };

	for (uint32_t i = 0; i < LARGE; i += 2)
		insert(i, 1);
	for (uint32_t i = 1; i < LARGE; i += 2)
		skiplist_batch_add(&batch, &things[i]->node, 1);
	member_calls = 0;
	skiplist_insert_batch(&list, &batch);
	TEST_ASSERT_LESS_THAN_UINT64(10ul * LARGE, member_calls);
	check_ranks(LARGE);
}

struct named {
	char text[14];
	size_t len;
	struct skipnode node;
};

static struct qless_str name_of(const struct skipnode *node)
{
	const struct named *named = container_of(node, struct named, node);

	return str_make(named->text, named->len);
}

/* A shared prefix, bytes with special meanings elsewhere, and two unique bytes at the end. */
static struct named *named_new(unsigned long long *state, size_t shared, unsigned id)
{
	static const char bytes[] = { 0, 1, 'a', 'b', 0x7f, (char)0x80, (char)0xff };
	unsigned height = skiplist_draw_height(&heights);
	struct named *named = calloc(1, offsetof(struct named, node) + skipnode_size(height));

	named->len = shared + unit_random(state) % (sizeof named->text - 1 - shared);
	for (size_t i = 0; i < named->len; i++)
		named->text[i] = i < shared ? 'j' : bytes[unit_random(state) % sizeof bytes];
	named->text[named->len++] = (char)(id / 256);
	named->text[named->len++] = (char)(id % 256);
	skipnode_init(&named->node, height);
	return named;
}

static void check_names(const struct skiplist *names)
{
	const struct skipnode *node = skiplist_first(names), *next;

	for (; node != NULL && (next = skiplist_next(node)) != NULL; node = next) {
		TEST_ASSERT_TRUE(node->score <= next->score);
		if (node->score == next->score)
			TEST_ASSERT_TRUE(str_compare(name_of(node), name_of(next)) < 0);
	}
}

static void a_large_batch_is_sorted_whatever_its_members_begin_with(void)
{
	enum { COUNT = 1000 };
	unsigned long long state = 11;

	for (unsigned round = 0; round < 60; round++) {
		struct skiplist_batch batch = { 0 };
		size_t shared = unit_random(&state) % 11;
		bool has_one_score = unit_random(&state) % 4 != 0;
		struct named *names[COUNT];
		struct skiplist in_order;

		skiplist_init(&in_order, name_of);
		for (size_t i = 0; i < COUNT; i++) {
			names[i] = named_new(&state, shared, (unsigned)i);
			skiplist_batch_add(&batch, &names[i]->node,
					   has_one_score ? 5 : (double)(unit_random(&state) % 3));
		}
		skiplist_insert_batch(&in_order, &batch);
		TEST_ASSERT_EQUAL_UINT32(COUNT, skiplist_count(&in_order));
		check_names(&in_order);
		skiplist_batch_done(&batch);
		skiplist_done(&in_order);
		for (size_t i = 0; i < COUNT; i++)
			free(names[i]);
	}
}

static void a_large_list_of_equal_scores_is_searched_in_few_steps(void)
{
	/* The stride has no factor in common with LARGE, so the places are scattered. */
	for (uint32_t i = 0, id = 0; i < LARGE; i++, id = (id + 77773) % LARGE)
		insert(id, 5);
	check_ranks(LARGE);
	member_calls = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		struct skipnode *node = &things[(i * 2 + 1) * (LARGE / 2000) % LARGE]->node;

		skiplist_remove(&list, node);
		skiplist_insert(&list, node, 5);
	}
	TEST_ASSERT_LESS_OR_EQUAL_UINT64(45 * 1000, member_calls);
	check_ranks(LARGE);
}

static void removal_compares_nothing(void)
{
	for (uint32_t i = 0; i < 1000; i++)
		insert(i, i / 100);
	member_calls = 0;
	for (uint32_t i = 0; i < 500; i++)
		skiplist_remove(&list, &things[i * 2]->node);
	TEST_ASSERT_EQUAL_UINT64(0, member_calls);
	check_ranks(500);
}

/* Scores that are a little late, or come from many clients at once. */
static void an_insertion_near_an_end_compares_few_nodes(void)
{
	const uint32_t block = 16;

	for (uint32_t i = 0; i < LARGE; i++) {
		uint32_t id = i / block * block + (i * 7) % block;

		if (i == LARGE / 2)
			member_calls = 0;
		insert(id, id / block);
	}
	TEST_ASSERT_LESS_OR_EQUAL_UINT64((uint64_t)LARGE / 2 * 12, member_calls);
	check_ranks(LARGE);
}

/* Scores that many clients send in turns, several at once each with their own times. */
static void neighbouring_insertions_compare_few_nodes(void)
{
	const uint32_t run = 16, runs = LARGE / 2 / run;
	uint32_t at = 0;

	for (uint32_t i = 0; i < LARGE; i += 2)
		insert(i, 0);
	member_calls = 0;
	for (uint32_t i = 0; i < runs; i++) {
		at = (at + 7919) % runs;
		for (uint32_t j = 0; j < run; j++) {
			uint32_t number = i % 2 == 0 ? j : run - 1 - j;

			insert(2 * (at * run + number) + 1, 0);
		}
	}
	TEST_ASSERT_LESS_OR_EQUAL_UINT64((uint64_t)runs * run * 20, member_calls);
	check_ranks(runs * run + LARGE / 2);
}

/* A list in any order: the scores say nothing. */
static void nodes_are_inserted_after_any_other(void)
{
	uint32_t order[MODEL_MAX], count = 0;
	unsigned long long state = 5;

	for (uint32_t i = 0; i < MODEL_MAX; i++) {
		uint32_t at = (uint32_t)(unit_random(&state) % (count + 1));

		skiplist_insert_after(&list, &things[i]->node, (double)(unit_random(&state) % 100),
				      at > 0 ? &things[order[at - 1]]->node : NULL);
		memmove(order + at + 1, order + at, (count - at) * sizeof *order);
		order[at] = i;
		count++;
	}
	check_order(order, count);
	check_ranks(count);
	for (uint32_t i = 0; i < MODEL_MAX / 2; i++) {
		uint32_t at = (uint32_t)(unit_random(&state) % count);

		skiplist_remove(&list, &things[order[at]]->node);
		memmove(order + at, order + at + 1, (count - at - 1) * sizeof *order);
		count--;
	}
	check_order(order, count);
	check_ranks(count);
}

static void a_list_knows_its_nodes_even_out_of_order(void)
{
	struct skiplist another;

	init(&another);
	for (uint32_t i = 0; i < MODEL_MAX; i++)
		skiplist_insert(i % 3 == 0 ? &another : &list, &things[i]->node, i);
	for (uint32_t i = 0; i < MODEL_MAX; i++)
		things[i]->node.score = i * 7919 % 101;
	member_calls = 0;
	for (uint32_t i = 0; i < MODEL_MAX; i++) {
		TEST_ASSERT_EQUAL(i % 3 == 0, skiplist_has(&another, &things[i]->node));
		TEST_ASSERT_EQUAL(i % 3 != 0, skiplist_has(&list, &things[i]->node));
	}
	TEST_ASSERT_EQUAL_UINT64(0, member_calls);
	TEST_ASSERT_FALSE(skiplist_has(&list, &things[MODEL_MAX]->node));
	/* Marked by mistake, and removed. */
	things[MODEL_MAX]->node.linked = true;
	TEST_ASSERT_FALSE(skiplist_has(&list, &things[MODEL_MAX]->node));
	skiplist_remove(&list, &things[1]->node);
	things[1]->node.linked = true;
	TEST_ASSERT_FALSE(skiplist_has(&list, &things[1]->node));
	skiplist_done(&another);
}

/* Leaves of a packed list have 512 bytes, and there is little above them. */
static void blocks_are_dense_at_the_ends_and_half_full_otherwise(void)
{
	unsigned long long state = 1;
	uint32_t count = LARGE;

	for (uint32_t i = 0; i < LARGE; i++)
		insert(i, i % 2 == 0 ? i : -(double)i);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(LARGE * 9ul, skiplist_memory(&list));
	check_ranks(count);
	skiplist_clear(&list);
	TEST_ASSERT_EQUAL_size_t(0, skiplist_memory(&list));
	for (uint32_t i = 0; i < LARGE; i++) {
		skipnode_init(&things[i]->node, things[i]->node.height);
		insert(i, (double)unit_random(&state));
	}
	TEST_ASSERT_LESS_OR_EQUAL_size_t(LARGE * 16ul, skiplist_memory(&list));
	check_ranks(count);
	while (count > 10) {
		skiplist_remove(&list, skiplist_at(&list, (uint32_t)unit_random(&state) % count));
		if (--count % (LARGE / 8) == 0) {
			TEST_ASSERT_LESS_OR_EQUAL_size_t(count * 36ul + 2048,
							 skiplist_memory(&list));
			check_ranks(count);
		}
	}
	TEST_ASSERT_LESS_OR_EQUAL_size_t(512, skiplist_memory(&list));
	check_ranks(count);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	if (PACKED)
		RUN(blocks_are_dense_at_the_ends_and_half_full_otherwise);
	RUN(an_empty_list_has_nothing);
	RUN(a_node_is_small);
	RUN(heights_are_the_same_for_the_same_state);
	RUN(nodes_are_ordered_by_score_and_then_by_member);
	RUN(a_node_can_move_to_another_list);
	RUN(a_node_knows_whether_it_is_in_a_list);
	RUN(the_word_of_the_owner_stays);
	RUN(changing_a_score_moves_the_node_if_needed);
	RUN(random_operations_agree_with_a_sorted_array);
	RUN(work_at_the_ends_compares_with_the_ends_only);
	RUN(inserting_a_batch_equals_single_insertions);
	RUN(removing_a_batch_equals_single_removals);
	RUN(a_large_batch_is_inserted_in_few_steps);
	RUN(a_large_batch_is_sorted_whatever_its_members_begin_with);
	RUN(a_large_list_of_equal_scores_is_searched_in_few_steps);
	RUN(removal_compares_nothing);
	RUN(an_insertion_near_an_end_compares_few_nodes);
	RUN(neighbouring_insertions_compare_few_nodes);
	RUN(nodes_are_inserted_after_any_other);
	RUN(a_list_knows_its_nodes_even_out_of_order);
	return UNIT_RESULT();
}
