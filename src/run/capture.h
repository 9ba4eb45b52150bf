/*
 * Output of a program that is kept: the beginning of one stream, or the end of another.
 */
#ifndef RUN_CAPTURE_H
#define RUN_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/str.h"

enum capture_end {
	CAPTURE_FIRST, /* keeps the first bytes: a result */
	CAPTURE_LAST,  /* keeps the last bytes: messages, of which the last says most */
};

struct capture {
	struct buf bytes;
	size_t max; /* bytes that are kept */
	enum capture_end end;
	bool is_cut; /* there were more bytes */
};

void capture_init(struct capture *c, enum capture_end end, size_t max);
void capture_done(struct capture *c);

void capture_add(struct capture *c, struct qless_str bytes);
void capture_clear(struct capture *c);

/* The bytes that are kept, at most the maximum. */
struct qless_str capture_bytes(const struct capture *c);

/* Appends the bytes as UTF-8: each byte that is none becomes U+FFFD. At most `max` bytes are
 * appended. More are cut at the end, between two characters. */
void capture_append_text(struct buf *out, struct qless_str bytes, size_t max);

/* Appends the last lines of messages as UTF-8, at most `max` bytes, without blanks at the end. If
 * there are more lines, or `is_cut` says so, the text begins with a whole line if possible. */
void capture_append_last_lines(struct buf *out, struct qless_str bytes, bool is_cut, size_t max);

#endif
