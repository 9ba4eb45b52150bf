/*
 * Numbers to text and back, exactly as C, Lua 5.1 and Redis have them.
 *
 * The locale is never asked: the process must not call setlocale(), so that the C library, which
 * does the rare cases, keeps to the point as decimal separator.
 */
#ifndef UTIL_NUM_H
#define UTIL_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* Room for any number as text with its NUL, and for one with 20 digits behind the point. */
#define NUM_MAX	    32
#define NUM_F20_MAX 336

/* Longer text than this is never a number, except that blanks around it are not counted. */
#define NUM_TEXT_MAX ((size_t)64 * 1024)

/* Each writes the text and a NUL and returns the length without it. The first three give what
 * printf() gives for "%.14g" (Lua's tostring), "%.17g" and "%.20f". */
size_t num_format_g14(char out[NUM_MAX], double value);
size_t num_format_g17(char out[NUM_MAX], double value);
size_t num_format_f20(char out[NUM_F20_MAX], double value);
size_t num_format_i64(char out[NUM_MAX], int64_t value);
size_t num_format_u64(char out[NUM_MAX], uint64_t value);

/*
 * All parsers return whether the text is a number, and set *ret_value only if it is.
 */

/* As tonumber() of Lua 5.1: all that strtod() takes, hexadecimal, `inf` and `nan` included, with
 * blanks before and after. The text ends with its first NUL byte. Too large is infinite. */
bool num_parse_lua(struct qless_str text, double *ret_value);

/* As the float arguments of Redis: all that strtod() takes, but no blanks, no NaN, and nothing that
 * only rounds to infinity or to zero. */
bool num_parse_double(struct qless_str text, double *ret_value);

/* As the integer arguments of Redis: only the text that num_format_i64() gives. */
bool num_parse_i64(struct qless_str text, int64_t *ret_value);

/* Only the text that num_format_u64() gives, from min to max, both included. */
bool num_parse_u64(struct qless_str text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* A size as in redis.conf: digits and a unit, or none for bytes: b, k (1000), kb (1024), m, mb, g,
 * gb, in any case. */
bool num_parse_bytes(struct qless_str text, uint64_t *ret_value);

#endif
