/*
 * Writes the state that the log in a directory leads to: print_state DIRECTORY FILE INDEX
 *
 * The directory is a copy of that of a node, or that of one that has ended. All entries up to the
 * index are committed; 0 stands for what the log says.
 */
#include <stdio.h>

#include "stored_dump.h"

static const char *directory, *file;
static uint64_t committed;

void setUp(void)
{
}

void tearDown(void)
{
}

static void write_state(void)
{
	struct stored_dump load = { .committed = committed };
	struct buf dump;
	FILE *f;

	buf_init(&dump, BUF_NO_MAX);
	stored_dump_files(&load, directory, 1, 1, &dump);
	f = fopen(file, "w");
	TEST_ASSERT_NOT_NULL(f);
	fputs(buf_cstr(&dump), f);
	TEST_ASSERT_EQUAL_INT(0, fclose(f));
	buf_done(&dump);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s DIRECTORY FILE INDEX\n", argv[0]);
		return 2;
	}
	directory = argv[1];
	file = argv[2];
	committed = strtoull(argv[3], NULL, 10);
	UNITY_BEGIN();
	RUN_TEST(write_state);
	return UNIT_RESULT();
}
