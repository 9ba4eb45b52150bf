/*
 * Cron expressions: `30 2 * * mon-fri`.
 *
 * An expression has five fields: minute, hour, day of the month, month, day of the week. A sixth
 * field in front is the second. A field is a list of values, ranges and steps: `1,10-20,40-59/5`,
 * `*`, a star with a step. Months and weekdays have names: `jan`, `sun`. Sunday is 0 and 7. `?` is
 * a star. `L` is the last day of the month, `5L` its last Friday, `1#2` its second Monday. @yearly,
 * @annually, @monthly, @weekly, @daily, @midnight and @hourly stand for an expression.
 *
 * If the day of the month and the day of the week both begin with something other than a star, a
 * day needs only one of them. This is the rule of crontab(5).
 *
 * A tick is an instant at which the clocks of a zone show a time that the expression matches. When
 * the clocks change:
 *
 *	- A tick in the time that they skip is at the first instant after it. Several such ticks,
 *	  and a tick at that instant, are one tick.
 *	- A tick in the time that they show twice is at the first of both.
 *	- If the expression has all hours, its ticks follow the time that passes instead: they go on
 *	  while the time is shown again, and a skipped hour has none. A part of an hour may be
 *	  skipped (Lord Howe Island). Its ticks are at the first instant after it.
 */
#ifndef CALENDAR_CRON_H
#define CALENDAR_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "calendar/zone.h"
#include "util/buf.h"
#include "util/str.h"

/* Bytes of the longest expression. */
#define CRON_TEXT_MAX 256

struct cron {
	uint64_t seconds; /* bits */
	uint64_t minutes;
	uint32_t hours;
	uint32_t days; /* bits 1 to 31 */
	uint32_t months;
	/* For each weekday, bits 1 to 5: it is the first to fifth of the month; CRON_LAST. */
	uint8_t weekdays[7];
	bool has_last_day; /* the last day of the month matches */
	bool needs_both;   /* the day of the month and the day of the week must match */
};

/* Bit of a weekday that is the last one of the month. */
#define CRON_LAST (1u << 6)

/* Read an expression. Returns false, with a sentence in `ret_error` that names the field, what was
 * found and what was expected, if it is invalid or matches no day. `ret_error` may be NULL. */
bool cron_parse(struct qless_str text, struct cron *ret_cron, struct buf *ret_error);

/* The first tick after an instant. Returns false if there is none before ZONE_INSTANT_MAX. Takes a
 * bounded time: years in which no day matches are skipped by months, and there are at most 40. */
bool cron_next(const struct cron *cron, const struct zone *zone, int64_t after, int64_t *ret_tick);

/* The last tick after `after` and up to `until`. Returns false if there is none. Takes the time of
 * log2(until - after) calls of cron_next(). */
bool cron_last(const struct cron *cron, const struct zone *zone, int64_t after, int64_t until,
	       int64_t *ret_tick);

#endif
