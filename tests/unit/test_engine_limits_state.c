/*
 * With limits, too, the state follows from the calls alone: not from snapshots, and not from
 * questions in between.
 */
#include "engine/engine_int.h"

#include "limiting.h"
#include "operation/operation.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

#define STEPS 20000

struct drawer {
	uint64_t state;
};

static unsigned draw(struct drawer *d, unsigned below)
{
	d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(d->state >> 33) % below;
}

struct random_call {
	struct operation op;
	struct qless_str limits[3];
	char jid[16];
	char other[16];
	char names[3][16];
};

static struct qless_str draw_limit(struct drawer *d, char text[16], bool is_rule)
{
	static const char *const rules[] = { "a*", "a1*", "*", "queue:q0" };

	if (is_rule && draw(d, 3) == 0)
		snprintf(text, 16, "%s", rules[draw(d, 4)]);
	else
		snprintf(text, 16, "%c%u", "ab"[draw(d, 2)], draw(d, 12));
	return str_from(text);
}

static struct qless_str draw_queue(struct drawer *d)
{
	return draw(d, 3) == 0 ? STR("q1") : STR("q0");
}

static void draw_limits(struct drawer *d, struct random_call *c, struct qless_put *put)
{
	put->has_limits = draw(d, 6) != 0;
	put->limits = c->limits;
	put->limit_count = put->has_limits ? draw(d, 4) : 0;
	for (size_t i = 0; i < put->limit_count; i++)
		c->limits[i] = draw_limit(d, c->names[i], false);
}

static void draw_put(struct drawer *d, struct random_call *c)
{
	struct qless_put *put = &c->op.put;

	c->op.kind = OPERATION_PUT;
	*put = (struct qless_put){ .worker = STR("w0"),
				   .queue = draw_queue(d),
				   .jid = str_from(c->jid),
				   .klass = STR("k"),
				   .data = STR("{}"),
				   .delay = draw(d, 6) == 0 ? draw(d, 20) : 0,
				   .has_priority = draw(d, 2) == 0,
				   .priority = draw(d, 3) };
	if (draw(d, 4) == 0) {
		put->has_retries = true;
		put->retries = draw(d, 2);
	}
	draw_limits(d, c, put);
}

static void draw_rule(struct drawer *d, struct random_call *c)
{
	c->op.kind = OPERATION_LIMIT_SET;
	c->op.limit_set = (struct qless_limit_change){ .name = draw_limit(d, c->other, true),
						       .has_concurrency = draw(d, 2) == 0,
						       .concurrency = (int64_t)draw(d, 4),
						       .has_rate = draw(d, 2) == 0,
						       .rate = draw(d, 4),
						       .per = 1 + draw(d, 20),
						       .has_weight = draw(d, 3) == 0,
						       .weight = 1 + draw(d, 3),
						       .has_burst = draw(d, 3) == 0,
						       .burst = 1 + draw(d, 3),
						       .has_ttl = draw(d, 4) == 0,
						       .ttl = draw(d, 50) };
}

/* Draw a call that often succeeds. */
static void draw_call(struct drawer *d, double now, struct random_call *c)
{
	struct operation *op = &c->op;
	struct qless_str worker = draw(d, 2) == 0 ? STR("w0") : STR("w1");

	memset(c, 0, sizeof *c);
	op->now = now;
	snprintf(c->jid, sizeof c->jid, "j%u", draw(d, 60));
	switch (draw(d, 22)) {
	case 0:
		draw_rule(d, c);
		break;
	case 1:
		op->kind = OPERATION_LIMIT_DELETE;
		op->limit_name = draw_limit(d, c->other, true);
		break;
	case 2:
		op->kind = OPERATION_LIMIT_HOLD;
		op->limit_hold.name = draw_limit(d, c->other, false);
		op->limit_hold.seconds = draw(d, 20);
		break;
	case 3:
		op->kind = draw(d, 4) == 0 ? OPERATION_CONFIG_SET : OPERATION_LIMIT_SWEEP;
		if (op->kind == OPERATION_CONFIG_SET) {
			op->config.name = STR("q0-order");
			op->config.value = draw(d, 2) == 0 ? STR("fair") : STR("priority");
		} else {
			op->limit_sweep.max = draw(d, 5);
		}
		break;
	case 4:
		op->kind = OPERATION_CANCEL;
		c->limits[0] = str_from(c->jid);
		op->names.items = c->limits;
		op->names.count = 1;
		break;
	case 5:
		op->kind = OPERATION_FAIL;
		op->fail.jid = str_from(c->jid);
		op->fail.worker = worker;
		op->fail.group = STR("g");
		break;
	case 6:
		op->kind = OPERATION_UNFAIL;
		op->unfail.queue = draw_queue(d);
		op->unfail.group = STR("g");
		op->unfail.count = 3;
		break;
	case 7:
		op->kind = OPERATION_RETRY;
		op->retry.jid = str_from(c->jid);
		op->retry.queue = draw_queue(d);
		op->retry.worker = worker;
		break;
	case 8:
		op->kind = OPERATION_HEARTBEAT;
		op->heartbeat.jid = str_from(c->jid);
		op->heartbeat.worker = worker;
		break;
	case 9:
		op->kind = OPERATION_PRIORITY;
		op->priority.jid = str_from(c->jid);
		op->priority.priority = draw(d, 3);
		break;
	case 10:
		op->kind = OPERATION_TIMEOUT;
		c->limits[0] = str_from(c->jid);
		op->names.items = c->limits;
		op->names.count = 1;
		break;
	case 11:
		op->kind = draw(d, 9) == 0 ? OPERATION_STEP_CLOCK : OPERATION_WORKER_RELEASE;
		if (op->kind == OPERATION_STEP_CLOCK)
			op->step_clock.from = now + 20;
		else
			op->release = (struct qless_release){ worker, draw(d, 2) == 0, 2 };
		break;
	case 12:
	case 13:
	case 14:
		op->kind = OPERATION_COMPLETE;
		op->complete.jid = str_from(c->jid);
		op->complete.worker = worker;
		op->complete.queue = draw_queue(d);
		op->complete.data = STR("{}");
		break;
	case 15:
	case 16:
	case 17:
		op->kind = OPERATION_POP;
		op->pop.queue = draw_queue(d);
		op->pop.worker = worker;
		op->pop.count = 1 + draw(d, 4);
		break;
	default:
		draw_put(d, c);
	}
}

static void dump_to(struct qless *engine, struct buf *out)
{
	buf_clear(out);
	qless_dump(engine, append_dump, out);
	buf_append_char(out, '\0');
}

/* One engine runs all calls. The other one is loaded from its own snapshot now and then, and is
 * asked what it would hand out, which files its lanes in another way. */
static void snapshots_and_questions_never_change_what_follows(void)
{
	struct drawer d = { 11 };
	struct buf dump = BUF_INIT(BUF_NO_MAX), other_dump = BUF_INIT(BUF_NO_MAX);
	struct qless *other = qless_new(NULL);
	double now = 1000;

	set_option("heartbeat", "15");
	set_option("grace-period", "5");
	OK(qless_config_set(other, 0, STR("heartbeat"), STR("15")));
	OK(qless_config_set(other, 0, STR("grace-period"), STR("5")));
	set_option("q1-order", "fair");
	OK(qless_config_set(other, 0, STR("q1-order"), STR("fair")));
	for (int i = 0; i < STEPS; i++) {
		struct operation_outcome outcome, other_outcome;
		struct random_call call;
		struct qless *first = q;
		int rc;

		now += draw(&d, 10) == 0 ? -1 : draw(&d, 30) / 10.0;
		draw_call(&d, now, &call);
		rc = operation_run(q, &call.op, &outcome);
		TEST_ASSERT_EQUAL_INT(rc, operation_run(other, &call.op, &other_outcome));
		TEST_ASSERT_EQUAL(outcome.changed, other_outcome.changed);
		forget_events();
		qless_is_poppable(other, now + draw(&d, 5), STR("q0"));
		if (i % 50 != 0)
			continue;
		q = other;
		if (i % 200 == 0)
			reload();
		other = q;
		q = first;
		dump_to(q, &dump);
		dump_to(other, &other_dump);
		TEST_ASSERT_EQUAL_STRING(buf_data(&dump), buf_data(&other_dump));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(other, on_finding, NULL));
	}
	qless_free(other);
	buf_done(&dump);
	buf_done(&other_dump);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(snapshots_and_questions_never_change_what_follows);
	return UNIT_RESULT();
}
