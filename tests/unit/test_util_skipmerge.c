#include "util/skipmerge.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"
#include "util/container.h"

#define NODES 300

struct item {
	char name[16];
	struct skipnode node;
};

static struct item *items[NODES];
static struct skiplist lists[2], all;
static struct item *copies[NODES];
static uint64_t heights;

static struct qless_str member(const struct skipnode *node)
{
	return str_from(container_of(node, const struct item, node)->name);
}

static struct item *insert(struct skiplist *list, int i, double score)
{
	unsigned height = skiplist_draw_height(&heights);
	struct item *item = malloc(offsetof(struct item, node) + skipnode_size(height));

	snprintf(item->name, sizeof item->name, "n%d", i);
	skipnode_init(&item->node, height);
	skiplist_insert(list, &item->node, score);
	return item;
}

/* Each node is in one of two lists, and a copy of it in a list of all. */
void setUp(void)
{
	skiplist_init(&lists[0], member);
	skiplist_init(&lists[1], member);
	skiplist_init(&all, member);
	for (int i = 0; i < NODES; i++) {
		double score = (i * 7) % 50;

		items[i] = insert(&lists[(i * 11) % 3 == 0], i, score);
		copies[i] = insert(&all, i, score);
	}
}

void tearDown(void)
{
	skiplist_done(&lists[0]);
	skiplist_done(&lists[1]);
	skiplist_done(&all);
	for (int i = 0; i < NODES; i++) {
		free(items[i]);
		free(copies[i]);
	}
}

static const struct skipmerge order = { &lists[0], &lists[1] };

static void assert_same(const struct skipnode *expected, const struct skipnode *node)
{
	TEST_ASSERT_EQUAL(expected == NULL, node == NULL);
	if (node == NULL)
		return;
	TEST_ASSERT_EQUAL_DOUBLE(expected->score, node->score);
	TEST_ASSERT_EQUAL_STRING(container_of(expected, const struct item, node)->name,
				 container_of(node, const struct item, node)->name);
}

static void two_lists_are_walked_as_one(void)
{
	const struct skipnode *expected = skiplist_first(&all);
	const struct skipnode *node = skipmerge_first(&order);

	for (uint32_t rank = 0; expected != NULL; rank++) {
		assert_same(expected, node);
		TEST_ASSERT_EQUAL_UINT32(rank, skipmerge_rank(&order, node));
		assert_same(expected, skipmerge_at(&order, rank));
		expected = skiplist_next(expected);
		node = skipmerge_next(&order, node);
	}
	TEST_ASSERT_NULL(node);
	TEST_ASSERT_NULL(skipmerge_at(&order, NODES));
	TEST_ASSERT_EQUAL_UINT32(NODES, skipmerge_count(&order));
}

static void two_lists_are_walked_backwards_as_one(void)
{
	const struct skipnode *expected = skiplist_last(&all);
	const struct skipnode *node = skipmerge_last(&order);

	for (; expected != NULL; expected = skiplist_prev(expected)) {
		assert_same(expected, node);
		node = skipmerge_prev(&order, node);
	}
	TEST_ASSERT_NULL(node);
}

static void bounds_are_those_of_one_list(void)
{
	static const struct qless_str names[] = { STR_INIT(""), STR_INIT("n1"), STR_INIT("n277"),
						  STR_INIT("z") };

	for (double score = -1; score <= 51; score += 0.5) {
		assert_same(skiplist_first_ge(&all, score), skipmerge_first_ge(&order, score));
		TEST_ASSERT_EQUAL_UINT32(skiplist_count_lt(&all, score),
					 skipmerge_count_lt(&order, score));
		TEST_ASSERT_EQUAL_UINT32(skiplist_count_le(&all, score),
					 skipmerge_count_le(&order, score));
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			assert_same(skiplist_first_ge_member(&all, score, names[i]),
				    skipmerge_first_ge_member(&order, score, names[i]));
			assert_same(skiplist_first_gt_member(&all, score, names[i]),
				    skipmerge_first_gt_member(&order, score, names[i]));
			assert_same(skiplist_last_lt_member(&all, score, names[i]),
				    skipmerge_last_lt_member(&order, score, names[i]));
		}
	}
}

static void one_list_or_an_empty_one_is_enough(void)
{
	struct skiplist none;
	struct skipmerge single = { .first = &all }, second = { &none, &all };

	skiplist_init(&none, member);
	TEST_ASSERT_EQUAL_PTR(skiplist_at(&all, 7), skipmerge_at(&single, 7));
	TEST_ASSERT_EQUAL_PTR(skiplist_at(&all, 7), skipmerge_at(&second, 7));
	TEST_ASSERT_EQUAL_PTR(skiplist_first(&all), skipmerge_first(&second));
	TEST_ASSERT_EQUAL_PTR(skiplist_last(&all), skipmerge_last(&single));
	TEST_ASSERT_EQUAL_UINT32(7, skipmerge_rank(&second, skiplist_at(&all, 7)));
	TEST_ASSERT_EQUAL_UINT32(7, skipmerge_rank(&single, skiplist_at(&all, 7)));
	second.second = &none;
	TEST_ASSERT_NULL(skipmerge_first(&second));
	TEST_ASSERT_NULL(skipmerge_at(&second, 0));
	skiplist_done(&none);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(two_lists_are_walked_as_one);
	RUN(two_lists_are_walked_backwards_as_one);
	RUN(bounds_are_those_of_one_list);
	RUN(one_list_or_an_empty_one_is_enough);
	return UNIT_RESULT();
}
