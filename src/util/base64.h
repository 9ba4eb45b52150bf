/*
 * Base64 (RFC 4648, section 4): bytes as text.
 */
#ifndef UTIL_BASE64_H
#define UTIL_BASE64_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

void base64_append(struct buf *b, struct qless_str bytes);
/* Append the bytes that the text stands for. Returns false, with the buffer unchanged, if the text
 * is not base64 with its padding. */
bool base64_append_decoded(struct buf *b, struct qless_str text);

/* Append the bytes as JSON: {"base64":"..."}. */
void base64_append_json(struct buf *b, struct qless_str bytes);

#endif
