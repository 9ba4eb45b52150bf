/*
 * Maps in replies in RESP2: an array of names and values in turn.
 */
#ifndef TESTS_FLATMAP_H
#define TESTS_FLATMAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* Returns the place after the value that begins at `at`. */
static inline const char *flatmap_skip(const char *at)
{
	const char *line = strstr(at, "\r\n");
	long number = strtol(at + 1, NULL, 10);

	TEST_ASSERT_NOT_NULL_MESSAGE(line, at);
	line += 2;
	if (*at == '$')
		return number < 0 ? line : line + number + 2;
	for (long i = 0; *at == '*' && i < number; i++)
		line = flatmap_skip(line);
	return line;
}

/* Returns the value of a member as text: that of a string or a number, "null", or the bytes of an
 * aggregate. NULL if there is no such member. Valid until the next call. */
static inline const char *flatmap_get(const char *map, const char *name)
{
	static char text[4096];
	char wanted[100];
	const char *at = map;
	long count;

	TEST_ASSERT_EQUAL_INT_MESSAGE('*', map[0], map);
	count = strtol(at + 1, NULL, 10);
	at = strstr(at, "\r\n") + 2;
	snprintf(wanted, sizeof wanted, "$%zu\r\n%s\r\n", strlen(name), name);
	for (long i = 0; i < count; i += 2) {
		const char *value = flatmap_skip(at), *end = flatmap_skip(value);

		if (strncmp(at, wanted, strlen(wanted)) == 0) {
			const char *from = *value == '$' ? strstr(value, "\r\n") + 2 : value + 1;

			if (*value == '*')
				from = value;
			TEST_ASSERT_LESS_THAN_size_t(sizeof text, (size_t)(end - value));
			snprintf(text, sizeof text, "%.*s",
				 *value == '*' ? (int)(end - from) : (int)(end - from) - 2, from);
			return value[0] == '$' && value[1] == '-' ? "null" : text;
		}
		at = end;
	}
	return NULL;
}

#define ASSERT_MEMBER(expected, name, map) \
	TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, flatmap_get(map, name), name)

#endif
