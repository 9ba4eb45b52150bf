/*
 * Columns that characters take on a terminal, and which of them may be shown there.
 *
 * wcwidth() of the C library depends on the locale, which the process must not set.
 */
#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* Returns the character at the start of a slice that is not empty, and its bytes. A byte that is
 * not UTF-8 is returned as UINT32_MAX, with a length of 1. */
uint32_t width_decode(struct qless_str s, size_t *ret_len);

/* 0, 1 or 2 columns of a character that may be shown. */
unsigned width_of(uint32_t character);

/* Whether a character may be shown: it does not control the terminal, end the line, or change the
 * direction of text. */
bool width_is_printable(uint32_t character);

/* The columns of a text in which all characters may be shown. */
size_t width_of_text(struct qless_str s);

#endif
