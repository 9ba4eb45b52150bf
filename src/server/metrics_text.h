/*
 * Pieces of text of the metrics page, for the modules that make it.
 */
#ifndef SERVER_METRICS_TEXT_H
#define SERVER_METRICS_TEXT_H

#include "engine/meter.h"
#include "util/buf.h"
#include "util/str.h"

/* Append the lines before the samples of a metric. `type` is "gauge", "counter" or "histogram", and
 * `help` a phrase without a full stop. */
void metrics_append_head(struct buf *out, const char *name, const char *type, const char *help);

/* Append the value of a label without its quotes. Anything that is not UTF-8, control characters
 * and backslashes become \xHH. So no two names look the same, which would make the whole page
 * invalid. */
void metrics_append_label(struct buf *out, struct qless_str text);

/* The samples of one queue or class. */
struct metrics_series {
	const char *metric;
	const char *label; /* its name */
	struct qless_str text;
	unsigned db;
};

/* Append a sample. `suffix` follows the name of the metric. */
void metrics_append_sample(struct buf *out, const struct metrics_series *series, const char *suffix,
			   double value);
/* Append the samples of a histogram, and of a summary without quantiles. */
void metrics_append_durations(struct buf *out, const struct metrics_series *series,
			      const struct meter_durations *durations);
void metrics_append_sum(struct buf *out, const struct metrics_series *series, struct meter_sum sum);

#endif
