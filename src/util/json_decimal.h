/*
 * Numbers of JSON texts, compared by their exact decimal value.
 *
 * Readers of JSON disagree about large numbers: some read a double, some read as many digits as
 * there are. So no digit is lost here: 9007199254740993 and 9007199254740992 differ, although both
 * are the same double.
 */
#ifndef UTIL_JSON_DECIMAL_H
#define UTIL_JSON_DECIMAL_H

#include <stddef.h>

#include "util/str.h"

/* Bytes that a number may gain when it is written in one way. */
#define JSON_DECIMAL_ROOM 32

/* Digits of whole numbers that are written without an exponent. */
#define JSON_DECIMAL_WHOLE 20

/* Writes a number of valid JSON in the one way that all numbers of its value share: its digits
 * without zeros at either end, and an exponent unless that is 0. Whole numbers of up to
 * JSON_DECIMAL_WHOLE digits have their zeros, and no exponent. 100, 1E2 and 100.0 become `100`; 0.5
 * becomes `5e-1`; -0 and 0.0 become `0`. `to` has room for JSON_DECIMAL_ROOM bytes more than the
 * number. Returns the address after the last byte. */
char *json_decimal_put(char *to, struct qless_str number);

#endif
