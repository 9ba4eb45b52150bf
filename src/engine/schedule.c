#include "engine/schedule.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/recur.h"
#include "util/buf.h"
#include "util/container.h"
#include "util/mem.h"

struct qless_str qless_missed_text(enum qless_missed missed)
{
	switch (missed) {
	case QLESS_MISSED_ONE:
		return STR("one");
	case QLESS_MISSED_SKIP:
		return STR("skip");
	case QLESS_MISSED_ALL:
		break;
	}
	return STR("all");
}

struct qless_str qless_overlap_text(enum qless_overlap overlap)
{
	return overlap == QLESS_OVERLAP_SKIP ? STR("skip") : STR("allow");
}

/* ---- checks ---- */

static int fail(struct qless *q, enum qless_operation operation, struct qless_str why)
{
	return engine_fail_text(q, operation, QLESS_WHY_SCHEDULE, "schedule", why);
}

static int check_words(struct qless *q, enum qless_operation operation,
		       const struct qless_schedule *schedule)
{
	if ((unsigned)schedule->missed > QLESS_MISSED_ALL)
		return fail(q, operation, STR("missed must be one, skip or all"));
	if ((unsigned)schedule->overlap > QLESS_OVERLAP_SKIP)
		return fail(q, operation, STR("overlap must be allow or skip"));
	return 0;
}

int schedule_check(struct qless *q, enum qless_operation operation,
		   const struct qless_schedule *schedule)
{
	struct buf why = BUF_INIT(BUF_NO_MAX);
	struct cron cron;
	struct zone zone;
	int rc = check_words(q, operation, schedule);

	if (rc == 0 && !zone_is_name(schedule->zone))
		rc = fail(q, operation, STR("tz must be the name of a zone"));
	if (rc == 0 && !cron_parse(schedule->cron, &cron, &why))
		rc = fail(q, operation, buf_str(&why));
	if (rc == 0 && !zone_parse(schedule->rule, &zone, &why))
		rc = fail(q, operation, buf_str(&why));
	buf_done(&why);
	return rc;
}

/* ---- memory ---- */

static char *put(char *to, struct qless_str text)
{
	memcpy(to, text.ptr, text.len);
	return to + text.len;
}

struct schedule *schedule_new(const struct qless_schedule *from, struct qless_recur *recur)
{
	size_t bytes = from->cron.len + from->zone.len + from->rule.len;
	struct schedule *schedule = mem_zalloc(sizeof *schedule + bytes);
	bool is_valid = cron_parse(from->cron, &schedule->cron, NULL) &&
			zone_parse(from->rule, &schedule->zone, NULL);

	assert(is_valid);
	schedule->missed = from->missed;
	schedule->overlap = from->overlap;
	schedule->cron_len = (uint16_t)from->cron.len;
	schedule->zone_len = (uint16_t)from->zone.len;
	schedule->rule_len = (uint16_t)from->rule.len;
	put(put(put(schedule->text, from->cron), from->zone), from->rule);
	schedule->recur = recur;
	heap_node_init(&schedule->tick);
	return schedule;
}

void schedule_free(struct qless *q, struct schedule *schedule)
{
	if (schedule != NULL && heap_has(&schedule->tick))
		heap_remove(&q->ticks, &schedule->tick);
	free(schedule);
}

void schedule_falls_due(struct qless *q, struct schedule *schedule, double when)
{
	if (heap_has(&schedule->tick))
		heap_rekey(&q->ticks, &schedule->tick, when);
	else
		heap_insert(&q->ticks, &schedule->tick, when);
}

double qless_next_tick(const struct qless *q, struct qless_str *ret_jid)
{
	const struct heap_node *node = heap_first(&q->ticks);

	if (node == NULL)
		return INFINITY;
	if (ret_jid != NULL)
		*ret_jid = recur_jid(container_of(node, const struct schedule, tick)->recur);
	return node->key;
}

struct qless_schedule schedule_read(const struct schedule *schedule)
{
	const char *zone = schedule->text + schedule->cron_len;

	return (struct qless_schedule){
		.cron = str_make(schedule->text, schedule->cron_len),
		.zone = str_make(zone, schedule->zone_len),
		.rule = str_make(zone + schedule->zone_len, schedule->rule_len),
		.missed = schedule->missed,
		.overlap = schedule->overlap,
	};
}

bool schedule_has_ticks_of(const struct schedule *schedule, const struct qless_schedule *other)
{
	struct qless_schedule own = schedule_read(schedule);

	return str_equal(own.cron, other->cron) && str_equal(own.rule, other->rule);
}

/* ---- ticks ---- */

static int64_t instant_of(double time)
{
	if (time < (double)ZONE_INSTANT_MIN)
		return ZONE_INSTANT_MIN - 1;
	if (time > (double)ZONE_INSTANT_MAX)
		return ZONE_INSTANT_MAX;
	return (int64_t)floor(time);
}

double schedule_next(const struct schedule *schedule, double after)
{
	int64_t tick;

	if (!cron_next(&schedule->cron, &schedule->zone, instant_of(after), &tick))
		return DBL_MAX;
	return (double)tick;
}

double schedule_last(const struct schedule *schedule, double after, double until)
{
	int64_t tick;

	if (!cron_last(&schedule->cron, &schedule->zone, instant_of(after), instant_of(until),
		       &tick))
		return after;
	return (double)tick;
}

double schedule_catch_up(const struct schedule *schedule, double due, double now)
{
	double last;

	if (due > now || schedule->missed == QLESS_MISSED_ALL)
		return due;
	last = schedule_last(schedule, due, now);
	if (schedule->missed == QLESS_MISSED_SKIP && now - last > QLESS_MISSED_SECONDS)
		return schedule_next(schedule, now);
	return last;
}
