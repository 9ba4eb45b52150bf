/*
 * Base64 (RFC 4648) with its standard alphabet and padding.
 */
#ifndef RUN_BASE64_H
#define RUN_BASE64_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

/* Appends the bytes. Returns false, and appends nothing, if the text is not Base64. */
bool base64_decode(struct qless_str text, struct buf *out);

#endif
