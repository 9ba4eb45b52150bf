/*
 * Databases: created when needed, flushed at once, freed in parts.
 */
#include <stdio.h>

#include "command/databases.h"
#include "unit.h"

static struct databases *d;

void setUp(void)
{
	struct qless_hooks hooks = { .hash_seed = 1 };

	d = databases_new(2, &hooks);
}

void tearDown(void)
{
	databases_free(d);
}

static void put(unsigned db, int count)
{
	struct qless *engine = databases_get(d, db)->engine;
	char jid[16];

	for (int i = 0; i < count; i++) {
		struct qless_put p = { .queue = STR("q"), .klass = STR("k"), .data = STR("{}") };

		p.jid = str_make(jid, (size_t)snprintf(jid, sizeof jid, "j%d", i));
		TEST_ASSERT_EQUAL_INT(0, qless_put(engine, i, &p));
	}
}

static void a_database_is_created_when_first_needed(void)
{
	TEST_ASSERT_NULL(databases_peek(d, 1));
	put(1, 1);
	TEST_ASSERT_NOT_NULL(databases_peek(d, 1));
	TEST_ASSERT_NULL(databases_peek(d, 0));
}

static void a_flushed_database_is_empty_before_its_memory_is_freed(void)
{
	put(0, 5);
	databases_flush(d, 0);
	TEST_ASSERT_NULL(databases_peek(d, 0));
	put(0, 1);
	/* The objects are five jobs, a queue, its name and the name of the class. */
	TEST_ASSERT_TRUE(databases_free_some(d, 3));
	TEST_ASSERT_TRUE(databases_free_some(d, 3));
	TEST_ASSERT_FALSE(databases_free_some(d, 3));
	TEST_ASSERT_NOT_NULL(qless_get(databases_peek(d, 0), STR("j0")));
	TEST_ASSERT_NULL(qless_get(databases_peek(d, 0), STR("j1")));
}

static void all_flushed_databases_are_freed(void)
{
	put(0, 3);
	databases_flush(d, 0);
	put(0, 3);
	put(1, 3);
	databases_flush(d, 0);
	databases_flush(d, 1);
	for (int i = 0; i < 2; i++)
		TEST_ASSERT_TRUE(databases_free_some(d, 7));
	TEST_ASSERT_FALSE(databases_free_some(d, 7));
}

static void databases_free_also_frees_flushed_databases(void)
{
	put(0, 5);
	databases_flush(d, 0);
	TEST_ASSERT_TRUE(databases_free_some(d, 1));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_database_is_created_when_first_needed);
	RUN(a_flushed_database_is_empty_before_its_memory_is_freed);
	RUN(all_flushed_databases_are_freed);
	RUN(databases_free_also_frees_flushed_databases);
	return UNIT_RESULT();
}
