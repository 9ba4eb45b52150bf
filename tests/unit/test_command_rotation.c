#include "command/rotation.h"
#include "unit.h"

static struct rotations *r;
static const struct qless_str queues[] = { STR_INIT("a"), STR_INIT("b"), STR_INIT("c") };

void setUp(void)
{
	r = rotations_new(42);
}

void tearDown(void)
{
	rotations_free(r);
}

static void a_place_is_kept(void)
{
	uint64_t key = rotations_key(r, 0, STR("w"), queues, 3);

	TEST_ASSERT_EQUAL_size_t(0, rotations_get(r, key));
	rotations_set(r, key, 2);
	TEST_ASSERT_EQUAL_size_t(2, rotations_get(r, key));
	rotations_set(r, key, 1);
	TEST_ASSERT_EQUAL_size_t(1, rotations_get(r, key));
}

static void worker_list_and_database_have_places_of_their_own(void)
{
	const struct qless_str joined[] = { STR_INIT("ab"), STR_INIT("c") };
	uint64_t keys[] = {
		rotations_key(r, 0, STR("w"), queues, 3), rotations_key(r, 0, STR("v"), queues, 3),
		rotations_key(r, 1, STR("w"), queues, 3), rotations_key(r, 0, STR("w"), queues, 2),
		rotations_key(r, 0, STR("w"), joined, 2),
	};
	size_t count = sizeof keys / sizeof keys[0];

	for (size_t i = 0; i < count; i++)
		rotations_set(r, keys[i], i + 1);
	for (size_t i = 0; i < count; i++)
		TEST_ASSERT_EQUAL_size_t(i + 1, rotations_get(r, keys[i]));
}

/* The last 8 keys of a slot have places, in whatever order they were used. */
static void a_full_slot_forgets_what_was_not_used_for_longest(void)
{
	uint64_t slots = ROTATIONS_MAX / 8;

	for (uint64_t i = 1; i <= 8; i++)
		rotations_set(r, i * slots, i);
	rotations_set(r, 1 * slots, 100);
	rotations_set(r, 9 * slots, 9);
	TEST_ASSERT_EQUAL_size_t(100, rotations_get(r, 1 * slots));
	TEST_ASSERT_EQUAL_size_t(0, rotations_get(r, 2 * slots));
	for (uint64_t i = 3; i <= 9; i++)
		TEST_ASSERT_EQUAL_size_t(i, rotations_get(r, i * slots));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_place_is_kept);
	RUN(worker_list_and_database_have_places_of_their_own);
	RUN(a_full_slot_forgets_what_was_not_used_for_longest);
	return UNIT_RESULT();
}
