/*
 * Time zones as POSIX rules: `CET-1CEST,M3.5.0,M10.5.0/3`.
 *
 * A rule is the last line of a TZif file. It says what the clocks of the zone show in all years
 * that are not over yet. Hours of a change may be from -167 to 167, as in version 3 of TZif.
 * Instants are seconds since 1970 without leap seconds.
 */
#ifndef CALENDAR_ZONE_H
#define CALENDAR_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

/* Bytes of the longest rule. The longest one of the zone files has 45. */
#define ZONE_RULE_MAX 128

/* Bytes of the longest name of a zone. */
#define ZONE_NAME_MAX 64

/* Instants that have a local time: the years 1 to 9999. */
#define ZONE_INSTANT_MIN INT64_C(-62135596800)
#define ZONE_INSTANT_MAX INT64_C(253402300799)

/* The day of a year on which the clocks change, and when. */
struct zone_date {
	enum zone_date_kind {
		ZONE_DAY_WITHOUT_LEAP, /* J1 to J365: February 29 is never counted */
		ZONE_DAY,	       /* 0 to 365 */
		ZONE_WEEKDAY,	       /* M3.5.0: the fifth, or last, Sunday of March */
	} kind;
	int month;
	int week; /* 1 to 5; 5 is the last */
	int day;  /* number of the day in the year; of a ZONE_WEEKDAY the weekday, 0 is Sunday */
	int32_t seconds; /* after the begin of the day, on the clock before the change */
};

struct zone {
	int32_t standard; /* seconds that the clocks are ahead of UTC */
	int32_t daylight; /* the same as `standard` in a zone without changes */
	bool has_daylight;
	struct zone_date begins; /* of daylight saving time */
	struct zone_date ends;
};

/* Whether the text may be the name of a zone, such as America/Port-au-Prince: words of letters,
 * digits,
 * `+`, `-` and `_` between slashes. Such a name is a safe path. */
bool zone_is_name(struct qless_str text);

/* Read a rule. Returns false, with a phrase in `ret_error` that says what is wrong, if it is
 * invalid. `ret_error` may be NULL. */
bool zone_parse(struct qless_str rule, struct zone *ret_zone, struct buf *ret_error);

/*
 * The time around an instant in which the clocks do not change: from `since` until just before
 * `until`. The clocks are ahead of UTC by `offset` seconds, by `before` seconds until `since`, and
 * by `after` seconds from `until` on. If no change is near, these are equal.
 */
struct zone_span {
	int64_t since;
	int64_t until;
	int32_t before;
	int32_t offset;
	int32_t after;
};

/* `instant` is from ZONE_INSTANT_MIN to ZONE_INSTANT_MAX. */
struct zone_span zone_span_at(const struct zone *zone, int64_t instant);

#endif
