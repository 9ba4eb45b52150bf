/*
 * The arguments of native COMPLETE and FAIL, of which the data may be left out.
 *
 * No word of an option is JSON. So the data is missing if the first argument in its place is such a
 * word with a value after it. Raw data that is such a word cannot be told from the option, unless
 * it is the last argument.
 */
#ifndef COMMAND_COMPLETE_ARGS_H
#define COMMAND_COMPLETE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

/* Arguments before the data. */
#define COMPLETE_DATA_AT 3
#define FAIL_DATA_AT	 4

/* For calls with at least one argument after the data. */
size_t complete_find_options(const struct qless_str *args);
size_t fail_find_options(const struct qless_str *args);

/* The number of the first option, after the data or in its place. Inline, because most calls have
 * data and no options. */
static inline size_t complete_options_at(const struct qless_str *args, size_t nargs)
{
	return nargs <= COMPLETE_DATA_AT + 1 ? nargs : complete_find_options(args);
}

static inline size_t fail_options_at(const struct qless_str *args, size_t nargs)
{
	return nargs <= FAIL_DATA_AT + 1 ? nargs : fail_find_options(args);
}

#endif
