/*
 * Unity, and what every unit test needs. A test binary takes part of the name of a case as
 * argument, and then runs only cases with matching names.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <string.h>

#include <unity.h>

#include "util/str.h"

#define RUN(fn)                                               \
	do {                                                  \
		if (argc < 2 || strstr(#fn, argv[1]) != NULL) \
			RUN_TEST(fn);                         \
	} while (0)

/* As exit code, the number of failures would mean "skip" at 77 and "passed" at 256. */
#define UNIT_RESULT() (UNITY_END() != 0)

/* Compare a slice with a string literal. */
#define ASSERT_STR(expected, actual)                                                     \
	do {                                                                             \
		struct qless_str actual_ = (actual);                                     \
		TEST_ASSERT_EQUAL_size_t(sizeof(expected) - 1, actual_.len);             \
		if (actual_.len != 0)                                                    \
			TEST_ASSERT_EQUAL_MEMORY("" expected, actual_.ptr, actual_.len); \
	} while (0)

/* A small deterministic generator (splitmix64) for tests with random operations. */
static inline unsigned long long unit_random(unsigned long long *state)
{
	unsigned long long z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif
