#include "util/mem.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void an_array_keeps_its_items_while_it_grows(void)
{
	uint32_t *items = NULL;
	size_t cap = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		items = mem_grow(items, &cap, i + 1, sizeof *items);
		TEST_ASSERT_GREATER_THAN_size_t(i, cap);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 10000; i++)
		TEST_ASSERT_EQUAL_UINT32(i, items[i]);
	free(items);
}

static void the_room_doubles_and_an_array_with_room_stays(void)
{
	uint32_t cap = 0;
	char *items = mem_grow32(NULL, &cap, 1, 1), *same;

	TEST_ASSERT_EQUAL_UINT32(64, cap);
	same = mem_grow32(items, &cap, 64, 1);
	TEST_ASSERT_EQUAL_PTR(items, same);
	TEST_ASSERT_EQUAL_UINT32(64, cap);
	items = mem_grow32(items, &cap, 65, 1);
	TEST_ASSERT_EQUAL_UINT32(128, cap);
	free(items);
}

static void the_room_grows_to_the_need_if_that_is_more_than_double(void)
{
	size_t cap = 0;
	char *items = mem_grow(NULL, &cap, 1000, 3);

	TEST_ASSERT_EQUAL_size_t(1000, cap);
	items = mem_grow(items, &cap, 5000, 3);
	TEST_ASSERT_EQUAL_size_t(5000, cap);
	free(items);
}

static void items_larger_than_the_first_room_get_room_for_one(void)
{
	size_t cap = 0;

	free(mem_grow(NULL, &cap, 1, 1000));
	TEST_ASSERT_EQUAL_size_t(1, cap);
}

/* Runs one of the two in a child process, and expects it to abort. */
static void check_aborts(size_t need, size_t size, bool wide)
{
	int status;
	pid_t pid = fork();

	TEST_ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		size_t cap = 4;
		uint32_t cap32 = 4;

		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		if (wide)
			free(mem_grow(NULL, &cap, need, size));
		else
			free(mem_grow32(NULL, &cap32, need, size));
		_exit(0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFSIGNALED(status));
	TEST_ASSERT_EQUAL_INT(SIGABRT, WTERMSIG(status));
}

static void sizes_that_overflow_abort(void)
{
	check_aborts(SIZE_MAX / 8 + 1, 8, true);
	check_aborts((size_t)UINT32_MAX + 1, 1, false);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_array_keeps_its_items_while_it_grows);
	RUN(the_room_doubles_and_an_array_with_room_stays);
	RUN(the_room_grows_to_the_need_if_that_is_more_than_double);
	RUN(items_larger_than_the_first_room_get_room_for_one);
	RUN(sizes_that_overflow_abort);
	return UNIT_RESULT();
}
