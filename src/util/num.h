/*
 * Numbers to text and back, exactly as in C, Lua 5.1 and Redis.
 *
 * The process must not call setlocale(): the C library converts the rare cases, and must use a
 * point as its decimal separator.
 */
#ifndef UTIL_NUM_H
#define UTIL_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* Bytes for any number as text with its NUL, also with 20 decimals. */
#define NUM_MAX	    32
#define NUM_F20_MAX 336

/* Bytes of the longest text that is read as a number, without the blanks around it. */
#define NUM_TEXT_MAX ((size_t)64 * 1024)

/* Each writes the text and a NUL, and returns the length without the NUL. The first three give the
 * results of printf() with "%.14g" (Lua's tostring), "%.17g" and "%.20f". */
size_t num_format_g14(char out[NUM_MAX], double value);
size_t num_format_g17(char out[NUM_MAX], double value);
size_t num_format_f20(char out[NUM_F20_MAX], double value);
size_t num_format_i64(char out[NUM_MAX], int64_t value);
size_t num_format_u64(char out[NUM_MAX], uint64_t value);

/*
 * All parsers return whether the text is a number, and set *ret_value only if it is.
 */

/* Like tonumber() of Lua 5.1: all that strtod() reads, with hexadecimal, `inf` and `nan`, and
 * blanks before and after. The text ends at its first NUL byte. A number that is too large is
 * infinite. */
bool num_parse_lua(struct qless_str text, double *ret_value);

/* Like the float arguments of Redis: all that strtod() reads, but no blanks, no NaN, and no number
 * that only rounds to infinity or zero. */
bool num_parse_double(struct qless_str text, double *ret_value);

/* Only digits with a sign, a decimal point and an exponent as in C, and no number that only rounds
 * to infinity or zero. */
bool num_parse_decimal(struct qless_str text, double *ret_value);

/* Like the integer arguments of Redis: only text that num_format_i64() writes. */
bool num_parse_i64(struct qless_str text, int64_t *ret_value);

/* Only text that num_format_u64() writes, from min to max inclusive. */
bool num_parse_u64(struct qless_str text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* A size as in redis.conf: digits, and a unit in any case: none or b for bytes, k (1000), kb
 * (1024), m, mb, g, gb. */
bool num_parse_bytes(struct qless_str text, uint64_t *ret_value);

#endif
