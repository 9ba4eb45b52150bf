#include "server/clock_watch.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "command/databases.h"
#include "server/persist.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/container.h"

/* Microseconds between the end of the log and the start, after which the log says so. */
#define LONG_PAUSE_US (86400 * INT64_C(1000000))

/* Bytes of a time as text, with room for the year 294247. */
#define TIME_BYTES 32

static const char *utc(int64_t us, char to[TIME_BYTES])
{
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(to, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(to, TIME_BYTES, "%lld", (long long)seconds);
	return to;
}

/* ---- steps ---- */

static void report(const struct clock_step *step)
{
	char from[TIME_BYTES], to[TIME_BYTES];
	double by_s = clock_seconds(step->to_us - step->from_us);

	utc(step->from_us, from);
	utc(step->to_us, to);
	switch (step->kind) {
	case CLOCK_NO_STEP:
		break;
	case CLOCK_STEP_SEEN:
		log_warning("the clock of this machine was set from %s to %s, by %+.0f seconds. "
			    "qlessd follows when it has kept its new time for %d seconds",
			    from, to, by_s, (int)(STEADY_CLOCK_CONFIRM_US / 1000000));
		break;
	case CLOCK_STEP_UNDONE:
		log_notice("the clock of this machine is right again. qlessd did not follow it");
		break;
	case CLOCK_STEP_DUE:
		log_warning(
			"the clock of this machine kept its new time, so qlessd follows it from "
			"%s to %s, by %+.0f seconds. Locks keep the time that was left",
			from, to, by_s);
		break;
	case CLOCK_SLEEP_DUE:
		log_notice(
			"this machine slept from %s to %s, for %.0f seconds. Locks keep the time "
			"that was left",
			from, to, by_s);
		break;
	}
}

/* Returns whether the state may change now. A step waits until it may. */
static bool may_change(struct server *s)
{
	return !s->loading && s->pause.mode == PAUSE_NONE && persist_refusal(s, 0) == NULL;
}

static void step_databases(struct server *s, int64_t from_us, int64_t to_us)
{
	s->clock_watch.steps++;
	databases_step_clock(s->env.databases, clock_seconds(to_us), clock_seconds(from_us));
	presence_step_clock(s, clock_seconds(from_us), clock_seconds(to_us));
}

void clock_watch_begin(struct server *s, int64_t newest_us)
{
	int64_t now_us = steady_clock_peek_us(&s->clocks.native);
	char newest[TIME_BYTES], now[TIME_BYTES];

	if (now_us - newest_us > LONG_PAUSE_US && newest_us != 0)
		log_warning(
			"the log ends at %s, %.1f days before the clock of this machine (%s). If "
			"the clock is wrong, stop qlessd and set it: all locks have expired",
			utc(newest_us, newest), clock_seconds(now_us - newest_us) / 86400,
			utc(now_us, now));
	if (newest_us - now_us <= STEADY_CLOCK_BACK_US || persist_refusal(s, 0) != NULL) {
		steady_clock_pass(&s->clocks.native, newest_us);
		return;
	}
	log_warning(
		"the log ends at %s, which is %.0f seconds after the clock of this machine (%s). "
		"qlessd follows the clock. If the clock is wrong, set it",
		utc(newest_us, newest), clock_seconds(newest_us - now_us), utc(now_us, now));
	step_databases(s, newest_us, now_us);
}

void clock_watch_tick(struct server *s)
{
	struct clock_step step = steady_clock_watch(&s->clocks.native);

	if (clock_step_is_due(&step)) {
		if (!may_change(s))
			return;
		step_databases(s, step.from_us, step.to_us);
		steady_clock_step(&s->clocks.native, &step);
	}
	report(&step);
}

double clock_watch_ahead_s(const struct server *s)
{
	return clock_seconds(steady_clock_peek_us(&s->clocks.native) - s->clocks.wall_us);
}

/* ---- the clocks of clients ---- */

static void warn_of_skew(struct server *s, struct client *c, double skew_s)
{
	/* This client was checked within the last hour. */
	if (c->skew_us != 0 && s->clocks.mono_us - c->skew_us < COMPLAINTS_SKEW_DISTANCE_US)
		return;
	c->skew_us = s->clocks.mono_us;
	if (!complaints_take_skew(&s->complaints, s->clocks.mono_us, c->peer))
		return;
	log_write(
		LOG_LEVEL_WARNING,
		LOG_FIELDS(LOG_INT("id", c->session.id), LOG_TEXT("addr", c->peer)),
		"the clock of a client differs from ours by %.6g seconds: its jobs become due and "
		"its locks expire by its own clock. Synchronize the clocks",
		skew_s);
}

const char *clock_watch_refusal(void *arg, struct session *session, double now)
{
	struct server *s = arg;
	const struct config *config = s->config;
	/* The clock of the turn is precise enough. */
	double own = clock_seconds(s->clocks.turn_us);
	double skew_s = fabs(now - own);

	if (skew_s > s->stats.max_clock_skew_s)
		s->stats.max_clock_skew_s = skew_s;
	if (config->clock_skew_warning_s != 0 && skew_s > (double)config->clock_skew_warning_s)
		warn_of_skew(s, container_of(session, struct client, session), skew_s);
	if (config->max_clock_skew_s == 0 || now - own <= (double)config->max_clock_skew_s)
		return NULL;
	s->clock_watch.refused++;
	snprintf(s->clock_watch.error, sizeof s->clock_watch.error,
		 "CLOCKSKEW the time %.17g is %.6g seconds ahead of the server's clock, which says "
		 "%.17g; max-clock-skew allows %lld. Synchronize the clocks",
		 now, skew_s, own, (long long)config->max_clock_skew_s);
	return s->clock_watch.error;
}
