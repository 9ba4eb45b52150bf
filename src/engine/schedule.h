/*
 * Schedules: when a recurring job makes jobs, as a cron expression in a time zone.
 *
 * A schedule has the rule of its zone, so the ticks follow from the schedule alone.
 */
#ifndef ENGINE_SCHEDULE_H
#define ENGINE_SCHEDULE_H

#include <stdint.h>

#include "calendar/cron.h"
#include "calendar/zone.h"
#include "qless.h"
#include "util/heap.h"

struct schedule {
	struct cron cron;
	struct zone zone;
	enum qless_missed missed;
	enum qless_overlap overlap;
	uint16_t cron_len;
	uint16_t zone_len;
	uint16_t rule_len;
	struct heap_node tick; /* key: when the next run is due, while it has a recurring job */
	struct qless_recur *recur;
	char text[]; /* expression, name of the zone, rule */
};

/* Check what a caller or a snapshot gives. Records an error, and returns its code. */
int schedule_check(struct qless *q, enum qless_operation operation,
		   const struct qless_schedule *schedule);
/* Copies a schedule that has passed schedule_check(). */
struct schedule *schedule_new(const struct qless_schedule *from, struct qless_recur *recur);
/* NULL is a no-op. */
void schedule_free(struct qless *q, struct schedule *schedule);
/* Note when the next run is due. */
void schedule_falls_due(struct qless *q, struct schedule *schedule, double when);
struct qless_schedule schedule_read(const struct schedule *schedule);
/* Whether both have the same ticks. */
bool schedule_has_ticks_of(const struct schedule *schedule, const struct qless_schedule *other);

/* The first tick after a time. A time that is never reached if there is none. */
double schedule_next(const struct schedule *schedule, double after);
/* The tick of the next job as of `now`, if the tick at `due` has made no job yet. It is later than
 * `due` if ticks that nobody saw are left out, and later than `now` if all of them are. */
double schedule_catch_up(const struct schedule *schedule, double due, double now);
/* The last tick that is later than `after` and at most `until`; `after` if there is none. */
double schedule_last(const struct schedule *schedule, double after, double until);

#endif
