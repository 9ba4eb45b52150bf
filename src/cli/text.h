/*
 * Text from the server, as people may see it: no byte of it can control a terminal.
 *
 * Names and data come from anyone who may put a job. A character that is not printable becomes an
 * escape, such as \n, \x1b or \u202e, and a backslash stays as it is.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/str.h"

/* Appends the text. Without `is_utf8`, characters that are not ASCII become escapes, too. */
void text_append(struct buf *out, struct qless_str s, bool is_utf8);

/* Appends the beginning of a text that text_append() has made, up to a number of columns. If
 * something is left out, the last column says so with an ellipsis. */
void text_append_cut(struct buf *out, struct qless_str safe, size_t columns, bool is_utf8);

/* Appends JSON. Its strings may have characters that are not printable, which become \uxxxx. */
void text_append_json(struct buf *out, struct qless_str json);

/*
 * Times for people. A duration has its two largest units at most: 850ms, 45s, 3m, 3m20s, 5h, 2d.
 */
void text_append_duration(struct buf *out, double seconds);

/* 12,345 */
void text_append_count(struct buf *out, double count);

/* 1.2 MB, in powers of 1,000. */
void text_append_bytes(struct buf *out, double bytes);

/* 2026-11-20 08:19:26, in local time. */
void text_append_time(struct buf *out, double seconds);
/* 08:19:26, in local time. */
void text_append_time_of_day(struct buf *out, double seconds);

#endif
