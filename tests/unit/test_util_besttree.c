#include "util/besttree.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"
#include "util/container.h"

#define FEW    40
#define THINGS 3000

#ifdef __SANITIZE_ADDRESS__
#define STEPS 100000
#else
#define STEPS 400000
#endif

/* The model: the key of a thing and whether it is in the tree. The best thing has the lowest rank.
 */
struct thing {
	struct besttree_node node;
	double key;
	unsigned rank;
	bool in_tree;
};

static struct besttree tree;
static struct thing things[THINGS];
static unsigned long comparisons;
static unsigned ranks_of_a_value;

static struct thing *thing_of(const struct besttree_node *node)
{
	return container_of(node, struct thing, node);
}

static bool is_better(const struct besttree_node *a, const struct besttree_node *b)
{
	comparisons++;
	return thing_of(a)->rank < thing_of(b)->rank;
}

void setUp(void)
{
	besttree_init(&tree, is_better);
	for (unsigned i = 0; i < THINGS; i++) {
		things[i] = (struct thing){ .rank = i };
		besttree_node_init(&things[i].node);
	}
	comparisons = 0;
	ranks_of_a_value = 3;
}

void tearDown(void)
{
}

static void set_value(struct thing *t)
{
	t->node.value = -(double)(t->rank / ranks_of_a_value);
}

static void insert(size_t i, double key)
{
	set_value(&things[i]);
	besttree_insert(&tree, &things[i].node, key);
	things[i].key = key;
	things[i].in_tree = true;
}

static void rekey(size_t i, double key)
{
	set_value(&things[i]);
	besttree_rekey(&tree, &things[i].node, key);
	things[i].key = key;
}

static void take_out(size_t i)
{
	besttree_remove(&tree, &things[i].node);
	things[i].in_tree = false;
}

static void set_rank(size_t i, unsigned rank)
{
	things[i].rank = rank;
	set_value(&things[i]);
	besttree_update(&tree, &things[i].node);
}

static void an_empty_tree_has_no_nodes(void)
{
	TEST_ASSERT_NULL(besttree_first(&tree));
	TEST_ASSERT_NULL(besttree_first_gt(&tree, -INFINITY));
	TEST_ASSERT_NULL(besttree_best_le(&tree, INFINITY));
	TEST_ASSERT_NULL(besttree_best(&tree));
	TEST_ASSERT_EQUAL_size_t(0, besttree_count(&tree));
	TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
	TEST_ASSERT_FALSE(besttree_has(&things[0].node));
}

static void the_best_node_is_searched_among_low_keys_only(void)
{
	insert(0, 30);
	insert(1, 20);
	insert(2, 10);
	TEST_ASSERT_NULL(besttree_best_le(&tree, 9.5));
	TEST_ASSERT_EQUAL_PTR(&things[2].node, besttree_best_le(&tree, 10));
	TEST_ASSERT_EQUAL_PTR(&things[1].node, besttree_best_le(&tree, 29.5));
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&tree, 30));
	TEST_ASSERT_EQUAL_PTR(&things[2].node, besttree_first(&tree));
	TEST_ASSERT_EQUAL_PTR(&things[1].node, besttree_first_gt(&tree, 10));
	TEST_ASSERT_NULL(besttree_first_gt(&tree, 30));
}

static void a_node_with_another_key_finds_its_new_place(void)
{
	for (size_t i = 0; i < FEW; i++)
		insert(i, (double)i);
	rekey(7, -1);
	TEST_ASSERT_EQUAL_PTR(&things[7].node, besttree_first(&tree));
	rekey(0, 100);
	TEST_ASSERT_EQUAL_PTR(&things[1].node, besttree_best_le(&tree, 99));
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&tree, 100));
	TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
	TEST_ASSERT_EQUAL_size_t(FEW, besttree_count(&tree));
}

static void a_node_with_another_value_becomes_the_best_or_loses_its_place(void)
{
	for (size_t i = 0; i < FEW; i++) {
		things[i].rank += 10;
		insert(i, (double)(i * 7 % FEW));
	}
	set_rank(FEW - 1, 1);
	TEST_ASSERT_EQUAL_PTR(&things[FEW - 1].node, besttree_best_le(&tree, FEW));
	set_rank(FEW - 1, 1000);
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&tree, FEW));
	TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
}

static void a_change_of_key_also_notices_a_new_value(void)
{
	for (size_t i = 0; i < FEW; i++) {
		things[i].rank += 10;
		insert(i, (double)i);
	}
	things[20].rank = 1;
	rekey(20, 20.5);
	TEST_ASSERT_EQUAL_PTR(&things[20].node, besttree_best_le(&tree, FEW));
	things[20].rank = 2000;
	rekey(20, 3);
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&tree, FEW));
	TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
}

static void infinite_keys_are_allowed(void)
{
	insert(0, INFINITY);
	insert(1, -INFINITY);
	insert(2, 0);
	insert(3, INFINITY);
	insert(4, -INFINITY);
	TEST_ASSERT_TRUE(isinf(besttree_first(&tree)->key));
	TEST_ASSERT_EQUAL_PTR(&things[1].node, besttree_best_le(&tree, -INFINITY));
	TEST_ASSERT_EQUAL_PTR(&things[2].node, besttree_first_gt(&tree, -INFINITY));
	TEST_ASSERT_EQUAL_PTR(&things[1].node, besttree_best_le(&tree, 1e308));
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&tree, INFINITY));
	TEST_ASSERT_TRUE(besttree_first_gt(&tree, 0)->key > 1e308);
	TEST_ASSERT_NULL(besttree_first_gt(&tree, INFINITY));
	TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
}

static void a_removed_node_is_free_for_another_tree(void)
{
	struct besttree other;

	besttree_init(&other, is_better);
	insert(0, 1);
	insert(1, 2);
	take_out(0);
	TEST_ASSERT_FALSE(besttree_has(&things[0].node));
	besttree_insert(&other, &things[0].node, 5);
	TEST_ASSERT_TRUE(besttree_has(&things[0].node));
	TEST_ASSERT_EQUAL_PTR(&things[1].node, besttree_best_le(&tree, 9));
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&other, 9));
}

static void next_visits_all_nodes_in_the_order_of_their_keys(void)
{
	size_t seen = 0;

	for (size_t i = 0; i < THINGS; i++)
		insert(i, (double)(i * 7919 % THINGS));
	for (const struct besttree_node *node = besttree_first(&tree); node != NULL;
	     node = besttree_next(node))
		TEST_ASSERT_TRUE(node->key == (double)seen++);
	TEST_ASSERT_EQUAL_size_t(THINGS, seen);
}

/* An AVL tree of 3,000 nodes is at most 16 high. A search compares two nodes a level at most. */
static void a_search_compares_a_logarithmic_number_of_nodes(void)
{
	ranks_of_a_value = UINT32_MAX;
	for (size_t i = 0; i < THINGS; i++)
		insert(i, (double)i);
	TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
	for (size_t i = 0; i < THINGS; i++) {
		comparisons = 0;
		TEST_ASSERT_NOT_NULL(besttree_best_le(&tree, (double)i));
		TEST_ASSERT_LESS_OR_EQUAL(32, comparisons);
	}
}

static void an_update_that_changes_no_best_node_stops_early(void)
{
	ranks_of_a_value = UINT32_MAX;
	for (size_t i = 0; i < THINGS; i++) {
		things[i].rank = 10 + (unsigned)(i * 7919 % THINGS);
		insert(i, (double)i);
	}
	comparisons = 0;
	for (size_t i = 0; i < THINGS; i++)
		set_rank(i, things[i].rank);
	/* A walk to the root for each node would take 20 comparisons or more. */
	TEST_ASSERT_LESS_THAN(6 * THINGS, comparisons);
}

/* The values decide alone if all differ. */
static void nodes_with_different_values_are_not_compared(void)
{
	ranks_of_a_value = 1;
	for (size_t i = 0; i < THINGS; i++)
		insert(i, (double)i);
	set_rank(1, THINGS);
	TEST_ASSERT_EQUAL_PTR(&things[0].node, besttree_best_le(&tree, 2));
	rekey(0, 7.5);
	TEST_ASSERT_EQUAL_PTR(&things[2].node, besttree_best_le(&tree, 7));
	TEST_ASSERT_EQUAL_size_t(0, comparisons);
}

/* Compare searches with a look at each thing. */
static void check_searches(size_t count, double key)
{
	unsigned best = UINT32_MAX;
	double lowest = INFINITY;
	double above = INFINITY;
	bool has_above = false;
	size_t in_tree = 0;
	const struct besttree_node *node;

	for (size_t i = 0; i < count; i++) {
		const struct thing *t = &things[i];

		TEST_ASSERT_TRUE(besttree_has(&t->node) == t->in_tree);
		if (!t->in_tree)
			continue;
		TEST_ASSERT_TRUE(t->node.key == t->key);
		in_tree++;
		lowest = fmin(lowest, t->key);
		if (t->key <= key && t->rank < best)
			best = t->rank;
		if (t->key > key) {
			above = fmin(above, t->key);
			has_above = true;
		}
	}
	TEST_ASSERT_EQUAL_size_t(in_tree, besttree_count(&tree));
	node = besttree_first(&tree);
	TEST_ASSERT_TRUE(in_tree == 0 ? node == NULL : node->key == lowest);
	node = besttree_first_gt(&tree, key);
	TEST_ASSERT_TRUE(has_above ? node != NULL && node->key == above : node == NULL);
	node = besttree_best_le(&tree, key);
	TEST_ASSERT_TRUE(best == UINT32_MAX ? node == NULL : thing_of(node)->rank == best);
	node = besttree_best_le(&tree, INFINITY);
	TEST_ASSERT_TRUE(node == NULL ||
			 thing_of(node)->rank == thing_of(besttree_best(&tree))->rank);
}

static double random_key(unsigned long long *rng, unsigned range)
{
	unsigned long long n = unit_random(rng) % range;

	return n == 0 ? -INFINITY : n == 1 ? INFINITY : (double)n;
}

/* Change a random thing: the more of them are in the tree, the likelier it leaves. */
static void change(unsigned long long *rng, size_t count, unsigned keys, unsigned ranks, bool fill)
{
	size_t i = unit_random(rng) % count;
	double key = random_key(rng, keys);

	if (!things[i].in_tree) {
		if (fill || unit_random(rng) % 4 == 0) {
			things[i].rank = (unsigned)(unit_random(rng) % ranks);
			insert(i, key);
		}
		return;
	}
	switch (unit_random(rng) % 5) {
	case 0:
		if (!fill || unit_random(rng) % 4 == 0)
			take_out(i);
		return;
	case 1:
		set_rank(i, (unsigned)(unit_random(rng) % ranks));
		return;
	case 2:
		things[i].rank = (unsigned)(unit_random(rng) % ranks);
		rekey(i, key);
		return;
	default:
		rekey(i, unit_random(rng) % 2 == 0 ? key : things[i].key + 0.25);
	}
}

/* Few things with few keys and values, so that many are equal, and each step is checked in full. */
static void random_changes_agree_with_a_linear_search(void)
{
	unsigned long long rng = 1;

	for (unsigned step = 0; step < STEPS / 4; step++) {
		change(&rng, FEW, 12, step % 2000 < 1000 ? 6 : 100000, step % 3000 < 1500);
		TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
		check_searches(FEW, random_key(&rng, 12));
	}
}

static void a_long_run_of_changes_leaves_the_tree_in_order(void)
{
	unsigned long long rng = 2;

	for (unsigned step = 0; step < STEPS; step++) {
		change(&rng, THINGS, 500, 1u << 30, step % 40000 < 20000);
		if (step % 997 == 0) {
			TEST_ASSERT_TRUE(besttree_is_ordered(&tree));
			check_searches(THINGS, random_key(&rng, 500));
		}
	}
	for (size_t i = 0; i < THINGS; i++) {
		if (things[i].in_tree)
			take_out(i);
	}
	an_empty_tree_has_no_nodes();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_tree_has_no_nodes);
	RUN(the_best_node_is_searched_among_low_keys_only);
	RUN(a_node_with_another_key_finds_its_new_place);
	RUN(a_node_with_another_value_becomes_the_best_or_loses_its_place);
	RUN(a_change_of_key_also_notices_a_new_value);
	RUN(infinite_keys_are_allowed);
	RUN(a_removed_node_is_free_for_another_tree);
	RUN(next_visits_all_nodes_in_the_order_of_their_keys);
	RUN(a_search_compares_a_logarithmic_number_of_nodes);
	RUN(an_update_that_changes_no_best_node_stops_early);
	RUN(nodes_with_different_values_are_not_compared);
	RUN(random_changes_agree_with_a_linear_search);
	RUN(a_long_run_of_changes_leaves_the_tree_in_order);
	return UNIT_RESULT();
}
