#include "util/intern.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static struct intern_table table;

void setUp(void)
{
	intern_init(&table, 1);
}

void tearDown(void)
{
	intern_done(&table);
}

static void equal_strings_are_one_object(void)
{
	struct intern *a = intern_get(&table, STR("a\0b"));

	TEST_ASSERT_EQUAL_PTR(a, intern_get(&table, STR("a\0b")));
	TEST_ASSERT_EQUAL_PTR(a, intern_find(&table, STR("a\0b")));
	TEST_ASSERT_TRUE(a != intern_get(&table, STR("a\0c")));
	TEST_ASSERT_TRUE(a != intern_get(&table, STR("a")));
	TEST_ASSERT_EQUAL_UINT32(3, intern_count(&table));
	ASSERT_STR("a\0b", intern_str(a));
	TEST_ASSERT_EQUAL_CHAR('\0', a->text[3]);
}

static void a_string_is_freed_with_its_last_reference(void)
{
	struct intern *a = intern_get(&table, STR("a"));

	intern_get(&table, STR("a"));
	intern_ref(a);
	intern_unref(&table, a);
	intern_unref(&table, a);
	TEST_ASSERT_EQUAL_PTR(a, intern_find(&table, STR("a")));
	intern_unref(&table, a);
	TEST_ASSERT_NULL(intern_find(&table, STR("a")));
	TEST_ASSERT_EQUAL_UINT32(0, intern_count(&table));
	intern_unref(&table, NULL);
}

static void the_string_that_is_recalled_is_the_one_in_the_table(void)
{
	struct intern *a = intern_get(&table, STR("a"));
	struct intern *b = intern_get(&table, STR("b"));

	for (int i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_PTR(a, intern_recall(&table, STR("a")));
		TEST_ASSERT_EQUAL_PTR(a, intern_recall(&table, STR("a")));
		TEST_ASSERT_EQUAL_PTR(b, intern_recall(&table, STR("b")));
		TEST_ASSERT_NULL(intern_recall(&table, STR("c")));
	}
	intern_unref(&table, b);
	TEST_ASSERT_NULL(intern_recall(&table, STR("b")));
	TEST_ASSERT_TRUE(intern_get(&table, STR("b")) != a);
	TEST_ASSERT_EQUAL_PTR(a, intern_get(&table, STR("a")));
	free(intern_take(&table));
	free(intern_take(&table));
	TEST_ASSERT_NULL(intern_recall(&table, STR("a")));
}

static void the_empty_string_is_a_string(void)
{
	struct intern *a = intern_get(&table, str_make(NULL, 0));

	TEST_ASSERT_EQUAL_PTR(a, intern_get(&table, STR("")));
	ASSERT_STR("", intern_str(a));
}

static void the_slot_of_the_user_starts_empty_and_stays(void)
{
	struct intern *a = intern_get(&table, STR("a"));
	int thing;

	TEST_ASSERT_NULL(a->user);
	a->user = &thing;
	TEST_ASSERT_EQUAL_PTR(&thing, intern_get(&table, STR("a"))->user);
}

static void memory_is_counted_and_freed(void)
{
	struct intern *names[1000];
	char text[1100];

	memset(text, 'x', sizeof text);
	for (size_t i = 0; i < 1000; i++)
		names[i] = intern_get(&table, str_make(text, i + 100));
	TEST_ASSERT_GREATER_OR_EQUAL_size_t(500 * 1000, intern_memory(&table));
	for (size_t i = 0; i < 1000; i++)
		intern_unref(&table, names[i]);
	TEST_ASSERT_LESS_OR_EQUAL_size_t(64, intern_memory(&table));
}

static void strings_can_be_removed_regardless_of_references(void)
{
	struct intern *taken;

	intern_ref(intern_get(&table, STR("a")));
	intern_get(&table, STR("b"));
	for (int i = 0; i < 2; i++) {
		taken = intern_take(&table);
		TEST_ASSERT_NOT_NULL(taken);
		TEST_ASSERT_NULL(intern_find(&table, intern_str(taken)));
		free(taken);
	}
	TEST_ASSERT_NULL(intern_take(&table));
	TEST_ASSERT_EQUAL_size_t(0, table.bytes);
}

static void random_operations_agree_with_counters(void)
{
	static struct intern *names[500];
	static unsigned refs[500];
	unsigned long long state = 9;
	uint32_t distinct = 0;

	for (int i = 0; i < 100000; i++) {
		unsigned long long r = unit_random(&state);
		size_t id = (size_t)(r >> 32) % 500;
		char text[16];
		struct qless_str name =
			str_make(text, (size_t)snprintf(text, sizeof text, "n%zu", id));

		if (r % 100 < (i / 20000 % 2 == 0 ? 55 : 45)) {
			struct intern *got = intern_get(&table, name);

			distinct += refs[id] == 0;
			TEST_ASSERT_TRUE(refs[id] == 0 || names[id] == got);
			names[id] = got;
			refs[id]++;
		} else if (refs[id] != 0) {
			intern_unref(&table, names[id]);
			refs[id]--;
			distinct -= refs[id] == 0;
		}
		TEST_ASSERT_EQUAL_PTR(refs[id] != 0 ? names[id] : NULL, intern_find(&table, name));
		TEST_ASSERT_EQUAL_UINT32(distinct, intern_count(&table));
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(equal_strings_are_one_object);
	RUN(a_string_is_freed_with_its_last_reference);
	RUN(the_string_that_is_recalled_is_the_one_in_the_table);
	RUN(the_empty_string_is_a_string);
	RUN(the_slot_of_the_user_starts_empty_and_stays);
	RUN(memory_is_counted_and_freed);
	RUN(strings_can_be_removed_regardless_of_references);
	RUN(random_operations_agree_with_counters);
	return UNIT_RESULT();
}
