/*
 * Redis's glob: `*`, `?`, `[a-c]`, `[^x]`, and `\` before a literal byte.
 *
 * No pattern takes exponential or quadratic time. Between two stars, a short part is compared at
 * each position of the text, and a long part is searched for at all positions at once, 64 elements
 * of the pattern at a time.
 */
#ifndef UTIL_GLOB_H
#define UTIL_GLOB_H

#include <stdbool.h>

#include "util/str.h"

/* Bytes of a pattern. A longer pattern matches nothing: callers refuse it with an error. */
#define GLOB_MAX_BYTES 4096

/* Takes time proportional to the length of the pattern, plus that of `s` times 1/64 of the length
 * of the pattern. */
bool glob_match(struct qless_str pattern, struct qless_str s, bool ignore_case);

/* The literal bytes with which a pattern begins. Every text that matches begins with them. */
struct qless_str glob_prefix(struct qless_str pattern);

#endif
