/*
 * The databases that recovery fills, and what is printed of them.
 */
#include "check/state.h"

#include <inttypes.h>
#include <stdio.h>

#include "command/endpoints.h"
#include "engine/view.h"

#define STATE_COUNT (QLESS_COMPLETE + 1)

/* Scripts and users change no jobs, so their operations are skipped. */
static int apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct check_state *s = arg;

	if (!operation_is_for_engine(op) && !operation_is_for_endpoint(op) &&
	    op->kind != OPERATION_FLUSH)
		return 0;
	return databases_apply(s->databases, op, ret_error);
}

void check_state_init(struct check_state *s)
{
	struct qless_hooks hooks = { 0 };

	s->databases = databases_new(CHECK_DATABASES_MAX, &hooks);
	replay_init(&s->replay, s->databases, apply, s);
}

void check_state_done(struct check_state *s)
{
	databases_free(s->databases);
	replay_done(&s->replay);
}

static struct qless *engine_of(void *arg, unsigned db)
{
	struct check_state *s = arg;

	return db < CHECK_DATABASES_MAX ? databases_get(s->databases, db)->engine : NULL;
}

static int apply_record(void *arg, const struct record *record, uint64_t *ret_count,
			struct buf *ret_error)
{
	struct check_state *s = arg;

	if (record->type == RECORD_COMMANDS)
		return replay_commands(&s->replay, record->payload, ret_count, ret_error);
	return replay_operations(&s->replay, record->payload, ret_count, ret_error);
}

struct recovery_target check_state_target(struct check_state *s)
{
	return (struct recovery_target){ .arg = s, .engine = engine_of, .apply = apply_record };
}

/* ---- printing ---- */

struct count {
	const struct qless *engine;
	uint64_t jobs[STATE_COUNT];
};

static void count_job(void *arg, struct qless_str jid)
{
	struct count *count = arg;
	struct qless_job_info info;

	qless_job_read(qless_get(count->engine, jid), &info);
	count->jobs[info.state]++;
}

static void print_counts(unsigned db, const struct qless *engine, size_t endpoints)
{
	struct count count = { .engine = engine };
	struct view_counts all;

	view_each(engine, VIEW_JOBS, count_job, &count);
	view_counts(engine, &all);
	printf("database %u: %" PRIu64 " jobs", db, all.jobs);
	for (int state = 0; state < STATE_COUNT; state++) {
		struct qless_str name = qless_state_text((enum qless_state)state);

		printf(", %" PRIu64 " %.*s", count.jobs[state], (int)name.len, name.ptr);
	}
	if (qless_limit_count(engine) != 0)
		printf(", %zu limits", qless_limit_count(engine));
	if (endpoints != 0)
		printf(", %zu endpoints", endpoints);
	putchar('\n');
}

static void print_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	printf("inconsistent: %.*s\n", (int)finding.len, finding.ptr);
}

size_t check_state_print(const struct databases *databases)
{
	size_t findings = 0;

	for (unsigned db = 0; db < databases_count(databases); db++) {
		const struct qless *engine = databases_peek(databases, db);

		if (engine == NULL)
			continue;
		print_counts(db, engine, endpoints_count(databases_endpoints(databases, db)));
		findings += qless_check(engine, print_finding, NULL);
	}
	return findings;
}
