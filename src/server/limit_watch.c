#include "server/limit_watch.h"

#include <math.h>

#include "command/databases.h"
#include "server/server_int.h"

/* Rules and limits that one operation deletes. That takes a fraction of a millisecond. */
#define PORTION 64
/* Microseconds of a turn for sweeps. */
#define SWEEP_US 250
/* Seconds before a sweep from which on the alarm is set. The next tick looks after later ones. */
#define ALARM_S 1.5

static double native_seconds(struct server *s)
{
	return clock_seconds(steady_clock_peek_us(&s->clocks.native));
}

static double next_sweep(struct server *s)
{
	double due = INFINITY;

	for (unsigned db = 0; db < databases_count(s->env.databases); db++) {
		const struct qless *engine = databases_peek(s->env.databases, db);

		if (engine != NULL)
			due = fmin(due, qless_next_limit_sweep(engine));
	}
	return due;
}

static void set_alarm(struct server *s)
{
	double left_s = s->limit_watch.due - native_seconds(s);

	if (left_s < ALARM_S)
		alarm_ring_in(s, left_s * 1e6);
}

void limit_watch_init(struct server *s)
{
	s->limit_watch.due = INFINITY;
}

void limit_watch_tick(struct server *s)
{
	s->limit_watch.due = s->loading ? INFINITY : next_sweep(s);
}

/* Sweeps a portion of a database. Returns the number of rules and limits that it deleted. */
static uint64_t sweep(struct server *s, unsigned db)
{
	struct operation op = { .kind = OPERATION_LIMIT_SWEEP, .db = db };
	struct operation_outcome outcome;

	op.now = s->env.now(s->env.arg);
	op.limit_sweep.max = PORTION;
	if (databases_run(s->env.databases, &op, &outcome) < 0)
		return 0;
	s->limit_watch.swept += outcome.count;
	return outcome.count;
}

/* Returns the number of rules and limits that were deleted in all databases. */
static uint64_t sweep_all(struct server *s, double now)
{
	uint64_t swept = 0;

	for (unsigned db = 0; db < databases_count(s->env.databases); db++) {
		const struct qless *engine = databases_peek(s->env.databases, db);

		if (engine != NULL && qless_next_limit_sweep(engine) <= now)
			swept += sweep(s, db);
	}
	return swept;
}

static bool may_run(const struct server *s)
{
	return !s->stop.is_begun && environment_may_change(s);
}

bool limit_watch_can_run(const struct server *s)
{
	struct server *own = (struct server *)(uintptr_t)s;

	return s->limit_watch.due <= native_seconds(own) && may_run(s);
}

void limit_watch_run(struct server *s)
{
	struct limit_watch *watch = &s->limit_watch;
	int64_t until_us;
	double now;

	now = native_seconds(s);
	if (watch->due <= now && may_run(s)) {
		until_us = clock_mono_us() + SWEEP_US;
		while (watch->due <= now && clock_mono_us() < until_us)
			/* A sweep that finds nothing waits for the next tick. */
			watch->due = sweep_all(s, now) != 0 ? next_sweep(s) : INFINITY;
	}
	set_alarm(s);
}
