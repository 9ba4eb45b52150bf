/*
 * Variables of the environment that name files. The build system sets them.
 */
#ifndef TESTS_VARIABLE_H
#define TESTS_VARIABLE_H

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

/* Returns the value. Fails the test if the program was started without the variable. */
static inline const char *variable_get(const char *name)
{
	const char *value = getenv(name);
	char text[200];

	snprintf(text, sizeof text,
		 "the environment variable %s is not set: run this program with 'meson test'",
		 name);
	TEST_ASSERT_NOT_NULL_MESSAGE(value, text);
	return value;
}

#endif
