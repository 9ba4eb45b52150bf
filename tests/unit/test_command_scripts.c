#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "command/scripts.h"

#define SHA_A "a9993e364706816aba3e25717850c26c9cd0d89d" /* of "abc" */
#define SHA_B "0123456789abcdef0123456789abcdef01234567"

/* The calls of the hooks. */
static struct {
	int added;
	int cleared;
	char last[SCRIPT_SHA_BYTES + 1];
} told;

static struct scripts *s;

static void on_added(void *arg, const struct script *script)
{
	TEST_ASSERT_TRUE(arg == &told);
	told.added++;
	memcpy(told.last, script->sha, SCRIPT_SHA_BYTES);
}

static void on_cleared(void *arg)
{
	TEST_ASSERT_TRUE(arg == &told);
	told.cleared++;
}

void setUp(void)
{
	struct scripts_hooks hooks = { .added = on_added, .cleared = on_cleared, .arg = &told };

	memset(&told, 0, sizeof told);
	s = scripts_new(7, &hooks);
}

void tearDown(void)
{
	scripts_free(s);
}

static struct qless_str numbered_sha(char text[SCRIPT_SHA_BYTES + 1], int number)
{
	snprintf(text, SCRIPT_SHA_BYTES + 1, "%040x", (unsigned)number);
	return str_make(text, SCRIPT_SHA_BYTES);
}

static void the_sha_is_that_of_the_text(void)
{
	char sha[SCRIPT_SHA_BYTES];

	scripts_compute_sha(STR("abc"), sha);
	TEST_ASSERT_EQUAL_MEMORY(SHA_A, sha, sizeof sha);
	scripts_compute_sha(STR(""), sha);
	TEST_ASSERT_EQUAL_MEMORY("da39a3ee5e6b4b0d3255bfef95601890afd80709", sha, sizeof sha);
}

static void an_added_script_is_found(void)
{
	const struct script *a, *b;

	TEST_ASSERT_NULL(scripts_find(s, STR(SHA_A)));
	a = scripts_add(s, STR(SHA_A), &dialect_classic, NULL, 0);
	b = scripts_add(s, STR(SHA_B), &dialect_classic, NULL, 0);
	for (int i = 0; i < 3; i++) {
		TEST_ASSERT_TRUE(scripts_find(s, STR(SHA_A)) == a);
		TEST_ASSERT_TRUE(scripts_find(s, STR(SHA_A)) == a);
		TEST_ASSERT_TRUE(scripts_find(s, STR(SHA_B)) == b);
	}
	TEST_ASSERT_EQUAL_PTR(&dialect_classic, a->dialect);
	TEST_ASSERT_EQUAL_INT(2, scripts_count(s));
}

static void a_script_keeps_its_options(void)
{
	struct qless_str options[SCRIPT_OPTIONS_MAX + 1] = { STR("throttles"), STR("resources") };
	char name[] = "rank";
	const struct script *a, *b;

	options[2] = str_from(name);
	a = scripts_add(s, STR(SHA_A), &dialect_classic, options, 3);
	name[0] = 't';
	TEST_ASSERT_TRUE(script_has_option(a, STR("resources")));
	TEST_ASSERT_TRUE(script_has_option(a, STR("rank")));
	TEST_ASSERT_FALSE(script_has_option(a, STR("tank")));
	TEST_ASSERT_FALSE(script_has_option(a, STR("")));
	b = scripts_add(s, STR(SHA_B), &dialect_classic, options, SCRIPT_OPTIONS_MAX + 1);
	TEST_ASSERT_EQUAL_size_t(SCRIPT_OPTIONS_MAX, b->option_count);
}

static void the_case_of_a_sha_is_ignored(void)
{
	const struct script *a = scripts_add(s, STR("A9993E364706816ABA3E25717850C26C9CD0D89D"),
					     &dialect_classic, NULL, 0);

	TEST_ASSERT_TRUE(str_equal(STR(SHA_A), script_sha(a)));
	TEST_ASSERT_TRUE(scripts_find(s, STR(SHA_A)) == a);
	TEST_ASSERT_TRUE(scripts_find(s, STR("A9993e364706816aba3e25717850c26c9cd0d89D")) == a);
}

static void an_invalid_sha_is_never_found(void)
{
	TEST_ASSERT_NULL(scripts_add(s, STR(""), &dialect_classic, NULL, 0));
	TEST_ASSERT_NULL(scripts_add(s, STR("abc"), &dialect_classic, NULL, 0));
	TEST_ASSERT_NULL(scripts_add(s, STR("x999" SHA_A), &dialect_classic, NULL, 0));
	TEST_ASSERT_NULL(scripts_add(s, STR("g9993e364706816aba3e25717850c26c9cd0d89d"),
				     &dialect_classic, NULL, 0));
	TEST_ASSERT_EQUAL_INT(0, scripts_count(s));
	TEST_ASSERT_EQUAL_INT(0, told.added);
	scripts_add(s, STR(SHA_A), &dialect_classic, NULL, 0);
	TEST_ASSERT_NULL(scripts_find(s, STR("a9993e364706816aba3e25717850c26c9cd0d89")));
	TEST_ASSERT_NULL(scripts_find(s, STR(SHA_A "0")));
	TEST_ASSERT_NULL(scripts_find(s, STR("")));
}

static void clearing_forgets_all_scripts(void)
{
	scripts_add(s, STR(SHA_A), &dialect_classic, NULL, 0);
	TEST_ASSERT_NOT_NULL(scripts_find(s, STR(SHA_A)));
	scripts_clear(s);
	TEST_ASSERT_EQUAL_INT(0, scripts_count(s));
	TEST_ASSERT_NULL(scripts_find(s, STR(SHA_A)));
	TEST_ASSERT_NOT_NULL(scripts_add(s, STR(SHA_A), &dialect_classic, NULL, 0));
}

static void every_change_calls_a_hook_once(void)
{
	scripts_add(s, STR(SHA_A), &dialect_classic, NULL, 0);
	scripts_add(s, STR(SHA_A), &dialect_classic, NULL, 0);
	TEST_ASSERT_EQUAL_INT(1, told.added);
	TEST_ASSERT_EQUAL_STRING(SHA_A, told.last);
	scripts_add(s, STR(SHA_B), &dialect_classic, NULL, 0);
	TEST_ASSERT_EQUAL_INT(2, told.added);
	TEST_ASSERT_EQUAL_STRING(SHA_B, told.last);
	scripts_clear(s);
	TEST_ASSERT_EQUAL_INT(1, told.cleared);
}

static void visit(void *arg, const struct script *script)
{
	char text[SCRIPT_SHA_BYTES + 1] = { 0 };
	bool *seen = arg;

	memcpy(text, script->sha, SCRIPT_SHA_BYTES);
	seen[strtoul(text, NULL, 16)] = true;
}

static void the_number_of_scripts_is_limited(void)
{
	bool seen[SCRIPTS_MAX + 1] = { false };
	char sha[SCRIPT_SHA_BYTES + 1];

	for (int i = 0; i < SCRIPTS_MAX; i++)
		TEST_ASSERT_NOT_NULL(
			scripts_add(s, numbered_sha(sha, i), &dialect_classic, NULL, 0));
	TEST_ASSERT_NULL(scripts_add(s, numbered_sha(sha, SCRIPTS_MAX), &dialect_classic, NULL, 0));
	TEST_ASSERT_NOT_NULL(scripts_add(s, numbered_sha(sha, 3), &dialect_classic, NULL, 0));
	TEST_ASSERT_EQUAL_INT(SCRIPTS_MAX, scripts_count(s));
	scripts_each(s, visit, seen);
	for (int i = 0; i < SCRIPTS_MAX; i++)
		TEST_ASSERT_TRUE(seen[i]);
	TEST_ASSERT_FALSE(seen[SCRIPTS_MAX]);
	scripts_clear(s);
	TEST_ASSERT_NOT_NULL(
		scripts_add(s, numbered_sha(sha, SCRIPTS_MAX), &dialect_classic, NULL, 0));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_sha_is_that_of_the_text);
	RUN(an_added_script_is_found);
	RUN(a_script_keeps_its_options);
	RUN(the_case_of_a_sha_is_ignored);
	RUN(an_invalid_sha_is_never_found);
	RUN(clearing_forgets_all_scripts);
	RUN(every_change_calls_a_hook_once);
	RUN(the_number_of_scripts_is_limited);
	return UNIT_RESULT();
}
