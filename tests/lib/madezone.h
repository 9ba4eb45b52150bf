/*
 * Zone files that tests make, because those of the machine change when the laws of a country do.
 */
#ifndef TESTS_MADEZONE_H
#define TESTS_MADEZONE_H

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

/* A change of the clocks, and the offset from then on. */
struct made_change {
	int64_t at;
	int32_t offset;
};

static inline void madezone_number(struct buf *file, int64_t number, size_t bytes)
{
	while (bytes-- > 0)
		buf_append_char(file, (char)(uint8_t)((uint64_t)number >> (8 * bytes)));
}

/* A header with a number of changes, and as many types and one more. */
static inline void madezone_header(struct buf *file, size_t changes)
{
	buf_append_str(file, STR("TZif2"));
	for (int i = 0; i < 15; i++)
		buf_append_char(file, '\0');
	for (int i = 0; i < 3; i++)
		madezone_number(file, 0, 4); /* indicators and leap seconds */
	madezone_number(file, (int64_t)changes, 4);
	madezone_number(file, (int64_t)changes + 1, 4);
	madezone_number(file, 1, 4); /* bytes of names */
}

static inline void madezone_type(struct buf *file, int32_t offset)
{
	madezone_number(file, offset, 4);
	madezone_number(file, 0, 2); /* no summer time, and the index of the name */
}

/* Append a zone file: the offset before the first change, the changes, and the rule after the last.
 */
static inline void madezone_append(struct buf *file, int32_t offset,
				   const struct made_change *changes, size_t count,
				   struct qless_str rule)
{
	madezone_header(file, 0);
	madezone_type(file, 0);
	buf_append_char(file, '\0');
	madezone_header(file, count);
	for (size_t i = 0; i < count; i++)
		madezone_number(file, changes[i].at, 8);
	for (size_t i = 0; i < count; i++)
		madezone_number(file, (int64_t)i + 1, 1);
	madezone_type(file, offset);
	for (size_t i = 0; i < count; i++)
		madezone_type(file, changes[i].offset);
	buf_append_char(file, '\0');
	buf_append_char(file, '\n');
	buf_append_str(file, rule);
	buf_append_char(file, '\n');
}

#endif
