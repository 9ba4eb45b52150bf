#include "util/heap.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"

#define NODES 200
#define STEPS 20000

static struct heap heap;
static struct heap_node nodes[NODES];

void setUp(void)
{
	heap = (struct heap){ 0 };
	for (size_t i = 0; i < NODES; i++)
		heap_node_init(&nodes[i]);
}

void tearDown(void)
{
	heap_done(&heap);
}

static void an_empty_heap_has_no_first_node(void)
{
	TEST_ASSERT_NULL(heap_first(&heap));
	TEST_ASSERT_TRUE(heap_is_ordered(&heap));
}

static void nodes_leave_in_the_order_of_their_keys(void)
{
	double last = -INFINITY;

	for (size_t i = 0; i < NODES; i++)
		heap_insert(&heap, &nodes[i], (double)(i * 7919 % NODES));
	while (heap_first(&heap) != NULL) {
		struct heap_node *node = heap_first(&heap);

		TEST_ASSERT_TRUE(node->key >= last);
		last = node->key;
		heap_remove(&heap, node);
		TEST_ASSERT_FALSE(heap_has(node));
		TEST_ASSERT_TRUE(isinf(node->key));
	}
	TEST_ASSERT_TRUE(last == NODES - 1);
}

static void a_node_with_another_key_finds_its_new_place(void)
{
	for (size_t i = 0; i < 10; i++)
		heap_insert(&heap, &nodes[i], (double)i);
	heap_rekey(&heap, &nodes[7], -1);
	TEST_ASSERT_EQUAL_PTR(&nodes[7], heap_first(&heap));
	heap_rekey(&heap, &nodes[7], 100);
	TEST_ASSERT_EQUAL_PTR(&nodes[0], heap_first(&heap));
	TEST_ASSERT_TRUE(heap_is_ordered(&heap));
}

static void infinite_keys_are_allowed(void)
{
	heap_insert(&heap, &nodes[0], INFINITY);
	heap_insert(&heap, &nodes[1], -INFINITY);
	heap_insert(&heap, &nodes[2], 0);
	TEST_ASSERT_EQUAL_PTR(&nodes[1], heap_first(&heap));
	heap_remove(&heap, &nodes[1]);
	TEST_ASSERT_EQUAL_PTR(&nodes[2], heap_first(&heap));
	heap_remove(&heap, &nodes[2]);
	TEST_ASSERT_EQUAL_PTR(&nodes[0], heap_first(&heap));
	TEST_ASSERT_TRUE(heap_has(&nodes[0]));
}

/* The lowest key of all nodes in the heap, found by looking at each. */
static double lowest_key(void)
{
	double lowest = INFINITY;

	for (size_t i = 0; i < NODES; i++) {
		if (heap_has(&nodes[i]))
			lowest = fmin(lowest, nodes[i].key);
	}
	return lowest;
}

static void random_changes_agree_with_a_linear_search(void)
{
	unsigned long long rng = 1;
	size_t in_heap = 0;

	for (size_t step = 0; step < STEPS; step++) {
		struct heap_node *node = &nodes[unit_random(&rng) % NODES];
		double key = (double)(unit_random(&rng) % 50);

		if (!heap_has(node)) {
			heap_insert(&heap, node, key);
			in_heap++;
		} else if (unit_random(&rng) % 2 == 0) {
			heap_remove(&heap, node);
			in_heap--;
		} else {
			heap_rekey(&heap, node, key);
		}
		TEST_ASSERT_EQUAL_size_t(in_heap, heap.count);
		TEST_ASSERT_TRUE(heap_is_ordered(&heap));
		if (in_heap > 0)
			TEST_ASSERT_TRUE(heap_first(&heap)->key == lowest_key());
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_heap_has_no_first_node);
	RUN(nodes_leave_in_the_order_of_their_keys);
	RUN(a_node_with_another_key_finds_its_new_place);
	RUN(infinite_keys_are_allowed);
	RUN(random_changes_agree_with_a_linear_search);
	return UNIT_RESULT();
}
