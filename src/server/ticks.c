#include "server/ticks.h"

#include "command/databases.h"
#include "server/environment.h"
#include "server/server_int.h"
#include "sys/clock.h"

/* Jobs of a recurring job that are made at once. */
#define PORTION_JOBS 100
/* Microseconds of a turn for making jobs. */
#define PORTIONS_US 1000

void ticks_init(struct server *s)
{
	s->ticks.next = INFINITY;
}

void ticks_look(struct server *s)
{
	s->ticks.next = -INFINITY;
}

static double native_seconds(const struct server *s)
{
	struct server *own = (struct server *)(uintptr_t)s;

	return clock_seconds(steady_clock_peek_us(&own->clocks.native));
}

/* Without memory, ticks wait like the puts of clients, and count as missed later. */
static bool may_run(const struct server *s)
{
	return !s->stop.is_begun && environment_may_change(s) && !server_is_out_of_memory(s);
}

bool ticks_can_run(const struct server *s)
{
	return s->ticks.next <= native_seconds(s) && may_run(s);
}

/* Make the jobs that are due in a database. Returns when its next tick is due. */
static double run_database(struct server *s, unsigned db, int64_t until_us)
{
	const struct qless *engine = databases_peek(s->env.databases, db);
	struct operation op = { .kind = OPERATION_TICK, .db = db };
	struct operation_outcome outcome;

	op.tick.max = PORTION_JOBS;
	while (engine != NULL && qless_next_tick(engine, &op.tick.jid) <= native_seconds(s) &&
	       clock_mono_us() < until_us) {
		op.now = s->env.now(s->env.arg);
		/* A damaged state may have ticks that cannot be made. */
		if (databases_run(s->env.databases, &op, &outcome) < 0 || !outcome.changed)
			return INFINITY;
	}
	return engine != NULL ? qless_next_tick(engine, NULL) : INFINITY;
}

void ticks_run(struct server *s)
{
	unsigned count = databases_count(s->env.databases);
	int64_t until_us = clock_mono_us() + PORTIONS_US;
	double next = INFINITY, now = native_seconds(s);

	if (s->ticks.next <= now) {
		if (!may_run(s))
			return;
		for (unsigned db = 0; db < count; db++)
			next = fmin(next, run_database(s, db, until_us));
		s->ticks.next = next;
	}
	alarm_ring_in(s, (s->ticks.next - now) * 1e6);
}
