/*
 * Pieces of text of the metrics page, for the modules that make it.
 */
#ifndef SERVER_METRICS_TEXT_H
#define SERVER_METRICS_TEXT_H

#include "util/buf.h"
#include "util/str.h"

/* Append the lines before the samples of a metric. `type` is "gauge", "counter" or "histogram", and
 * `help` a phrase without a full stop. */
void metrics_append_head(struct buf *out, const char *name, const char *type, const char *help);

/* Append the value of a label without its quotes. Anything that is not UTF-8, control characters
 * and backslashes become \xHH. So no two names look the same, which would make the whole page
 * invalid. */
void metrics_append_label(struct buf *out, struct qless_str text);

#endif
