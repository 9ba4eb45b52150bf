#include "server/sweep_watch.h"

#include "command/databases.h"
#include "server/server_int.h"

/* Microseconds of a turn for sweeps. */
#define SWEEP_US 250

static double native_seconds(struct server *s)
{
	return clock_seconds(steady_clock_peek_us(&s->clocks.native));
}

/* When the next job is to be deleted, and which. */
static double next_job(struct qless *engine, enum sweep kind, struct qless_str *ret_jid)
{
	if (kind == SWEEP_RETAINED)
		return qless_next_retained_sweep(engine, ret_jid);
	return qless_next_failed_sweep(engine, ret_jid);
}

/* Deletes a job. Returns false on failure. */
static bool sweep_job(struct server *s, unsigned db, enum sweep kind, struct qless_str jid)
{
	struct operation op = { .kind = OPERATION_JOB_DELETE, .db = db };
	struct buf copy = BUF_INIT(BUF_NO_MAX);
	struct operation_outcome outcome;
	struct qless_str name;
	int rc;

	/* The operation outlives the job. */
	buf_append_str(&copy, jid);
	name = buf_str(&copy);
	op.now = s->env.now(s->env.arg);
	op.names = (struct operation_names){ &name, 1 };
	rc = databases_run(s->env.databases, &op, &outcome);
	buf_done(&copy);
	if (rc < 0)
		return false;
	s->sweep_watch.swept[kind] += outcome.count;
	return outcome.count > 0;
}

/* Deletes the jobs of a database that are to be deleted. Returns whether some may be left. */
static bool sweep(struct server *s, unsigned db, enum sweep kind, int64_t until_us)
{
	struct qless *engine = databases_peek(s->env.databases, db);
	struct qless_str jid;

	if (engine == NULL)
		return false;
	do {
		if (next_job(engine, kind, &jid) > native_seconds(s))
			return false;
		/* A damaged state may have jobs that cannot be deleted. */
		if (jid.ptr != NULL && !sweep_job(s, db, kind, jid))
			return false;
	} while (clock_mono_us() < until_us);
	return true;
}

static bool may_run(const struct server *s)
{
	return !s->loading && !s->stop.is_begun && environment_may_change(s);
}

void sweep_watch_init(struct server *s)
{
	s->sweep_watch.is_due = false;
}

void sweep_watch_tick(struct server *s)
{
	double now = native_seconds(s);
	struct qless_str jid;

	for (unsigned db = 0; !s->loading && db < databases_count(s->env.databases); db++) {
		struct qless *engine = databases_peek(s->env.databases, db);

		for (enum sweep kind = 0; engine != NULL && kind < SWEEPS; kind++) {
			if (next_job(engine, kind, &jid) <= now)
				s->sweep_watch.is_due = true;
		}
	}
}

bool sweep_watch_can_run(const struct server *s)
{
	return s->sweep_watch.is_due && may_run(s);
}

void sweep_watch_run(struct server *s)
{
	int64_t until_us = clock_mono_us() + SWEEP_US;
	bool is_due = false;

	if (!sweep_watch_can_run(s))
		return;
	for (unsigned db = 0; db < databases_count(s->env.databases); db++) {
		for (enum sweep kind = 0; kind < SWEEPS; kind++)
			is_due |= sweep(s, db, kind, until_us);
	}
	s->sweep_watch.is_due = is_due;
}
