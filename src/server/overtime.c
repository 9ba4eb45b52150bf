#include "server/overtime.h"

#include "command/databases.h"
#include "server/environment.h"
#include "server/server_int.h"
#include "sys/clock.h"

/* Microseconds of a turn for ending runs. */
#define PORTIONS_US 1000

void overtime_init(struct server *s)
{
	s->overtime.next = INFINITY;
}

void overtime_look(struct server *s)
{
	s->overtime.next = -INFINITY;
}

void overtime_look_at(struct server *s, unsigned db)
{
	const struct qless *engine = databases_peek(s->env.databases, db);

	if (engine != NULL)
		s->overtime.next = fmin(s->overtime.next, qless_next_overtime(engine, NULL));
}

static double native_seconds(const struct server *s)
{
	struct server *own = (struct server *)(uintptr_t)s;

	return clock_seconds(steady_clock_peek_us(&own->clocks.native));
}

static bool may_run(const struct server *s)
{
	return !s->stop.is_begun && environment_may_change(s);
}

bool overtime_can_run(const struct server *s)
{
	return s->overtime.next <= native_seconds(s) && may_run(s);
}

/* End the runs of a database that are over. Returns when the next one is. */
static double run_database(struct server *s, unsigned db, int64_t until_us)
{
	const struct qless *engine = databases_peek(s->env.databases, db);
	struct operation op = { .kind = OPERATION_OVERTIME, .db = db };
	struct operation_outcome outcome;

	while (engine != NULL && qless_next_overtime(engine, &op.overtime) <= native_seconds(s) &&
	       clock_mono_us() < until_us) {
		op.now = s->env.now(s->env.arg);
		/* A damaged state may have runs that cannot be ended. */
		if (databases_run(s->env.databases, &op, &outcome) < 0 || !outcome.changed)
			return INFINITY;
	}
	return engine != NULL ? qless_next_overtime(engine, NULL) : INFINITY;
}

void overtime_run(struct server *s)
{
	unsigned count = databases_count(s->env.databases);
	int64_t until_us = clock_mono_us() + PORTIONS_US;
	double next = INFINITY, now = native_seconds(s);

	if (s->overtime.next <= now) {
		if (!may_run(s))
			return;
		for (unsigned db = 0; db < count; db++)
			next = fmin(next, run_database(s, db, until_us));
		s->overtime.next = next;
	}
	alarm_ring_in(s, (s->overtime.next - now) * 1e6);
}
